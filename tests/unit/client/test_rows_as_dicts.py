"""The layer for people: happybase's names and meanings over a table."""

import pytest

from hbtable.errors import InvalidRequest, ServerLost, TableNotFound


@pytest.fixture
def rows(cluster, client):
    cluster.put_table(b"t", splits=(b"g", b"p"), families=(b"f", b"g"))
    return client.rows(b"t")


def test_put_and_read_a_row(rows):
    rows.put(b"a", {b"f:q": b"1", b"f:": b"2", b"g:x:y": b"3"}, timestamp=7)
    assert rows.row(b"a") == {b"f:": b"2", b"f:q": b"1", b"g:x:y": b"3"}
    assert rows.get(b"a", [b"f:q"], include_timestamp=True) == {b"f:q": (b"1", 7)}
    assert rows.row(b"a", [b"f:"]) == {b"f:": b"2"}
    assert rows.row(b"a", [b"f", b"g:x:y"]) == rows.row(b"a")
    assert rows.row(b"a", timestamp=7) == {}
    assert rows.row(b"a", timestamp=8) != {}
    assert rows.row(b"missing") == {}
    rows.put(b"a", {})


def test_many_rows_and_versions(rows):
    rows.put(b"a", {b"f:q": b"1"}, timestamp=7)
    rows.put(b"z", {b"f:q": b"2"}, timestamp=8)
    assert rows.rows([b"z", b"m", b"a"]) == [(b"z", {b"f:q": b"2"}), (b"a", {b"f:q": b"1"})]
    assert rows.cells(b"a", b"f:q") == [b"1"]
    assert rows.cells(b"a", b"f:q", versions=3, include_timestamp=True) == [(b"1", 7)]
    assert rows.cells(b"x", b"f:q") == []
    with pytest.raises(InvalidRequest):
        rows.cells(b"a", b"f:q", versions=0)


def test_delete_columns_families_and_whole_rows(rows):
    everything = {b"f:a": b"1", b"f:b": b"2", b"g:c": b"3"}
    rows.put(b"a", everything)
    rows.delete(b"a", [b"f:a"])
    assert rows.row(b"a") == {b"f:b": b"2", b"g:c": b"3"}
    rows.delete(b"a", [b"f"])
    assert rows.row(b"a") == {b"g:c": b"3"}
    rows.put(b"a", everything)
    rows.delete(b"a")
    assert rows.row(b"a") == {}


def test_scan_forward_backward_by_prefix_and_limited(rows):
    for row in (b"a", b"b", b"g", b"h1", b"h2", b"z"):
        rows.put(row, {b"f:q": row})
    names = lambda **arguments: [row for row, _ in rows.scan(**arguments)]  # noqa: E731
    assert names() == [b"a", b"b", b"g", b"h1", b"h2", b"z"]
    assert names(batch_size=1, limit=4) == [b"a", b"b", b"g", b"h1"]
    assert names(row_start=b"b", row_stop=b"h2") == [b"b", b"g", b"h1"]
    assert names(row_start=b"b", row_stop=b"b") == [b"b"]
    assert names(row_start=b"h2", row_stop=b"b", reverse=True) == [b"h2", b"h1", b"g"]
    assert names(row_start=b"g", row_stop=b"g", reverse=True) == [b"g"]
    assert names(reverse=True, batch_size=2) == [b"z", b"h2", b"h1", b"g", b"b", b"a"]
    assert names(row_prefix=b"h") == [b"h1", b"h2"]
    assert names(row_prefix=b"h", reverse=True) == [b"h2", b"h1"]
    assert names(filter=b"Page 2") == [b"a", b"b"]
    assert list(rows.scan(limit=1, columns=[b"g"])) == []
    with pytest.raises(TypeError):
        rows.scan(row_prefix=b"h", row_start=b"a")
    with pytest.raises(ValueError, match="batch_size"):
        rows.scan(batch_size=0)


def test_a_batch_is_sent_at_the_end_in_the_callers_order(rows, cluster):
    with rows.batch() as batch:
        batch.put(b"a", {b"f:q": b"1"})
        batch.delete(b"a", [b"f:q"])
        batch.put(b"a", {b"f:q": b"2"})
        batch.put(b"z", {b"f:q": b"3"}, wal=False)
        assert rows.row(b"a") == {}
    assert rows.row(b"a") == {b"f:q": b"2"}
    assert rows.row(b"z") == {b"f:q": b"3"}
    with rows.batch() as batch:
        batch.delete(b"a")
    assert rows.row(b"a") == {}


def test_what_another_task_adds_while_a_batch_is_sent_is_sent_next(rows, cluster):
    batch = rows.batch()
    mutate = rows.table.mutate

    def meanwhile(mutations) -> None:
        batch._mutate = mutate
        batch.put(b"a", {b"f:q": b"2"})
        batch.put(b"b", {b"f:q": b"2"})
        mutate(mutations)

    batch._mutate = meanwhile
    batch.put(b"a", {b"f:q": b"1"})
    batch.send()
    assert rows.row(b"a") == {b"f:q": b"1"}
    batch.send()
    assert rows.row(b"a") == {b"f:q": b"2"}
    assert rows.row(b"b") == {b"f:q": b"2"}


def test_what_could_not_be_sent_goes_before_what_came_meanwhile(rows):
    batch = rows.batch(batch_size=3)
    mutate = rows.table.mutate

    def fails(mutations) -> None:
        batch._mutate = mutate
        batch.put(b"a", {b"f:q": b"2"})
        raise ServerLost("no answer")

    batch._mutate = fails
    batch.put(b"a", {b"f:q": b"1"})
    with pytest.raises(ServerLost):
        batch.send()
    batch.put(b"b", {b"f:q": b"3"})
    assert rows.row(b"a") == {b"f:q": b"2"}, "three cells are a full batch"


def test_a_batch_is_sent_when_it_is_full(rows):
    batch = rows.batch(batch_size=2, timestamp=9)
    batch.put(b"a", {b"f:q": b"1"})
    assert rows.row(b"a") == {}
    batch.put(b"b", {b"f:q": b"1"})
    assert rows.row(b"a", include_timestamp=True) == {b"f:q": (b"1", 9)}
    with pytest.raises(ValueError, match="batch_size"):
        rows.batch(batch_size=0)
    with pytest.raises(TypeError):
        rows.batch(batch_size=1, transaction=True)


def test_an_error_inside_the_block_sends_nothing_of_a_transaction(rows):
    def broken(transaction):
        with rows.batch(transaction=transaction) as batch:
            batch.put(b"a", {b"f:q": b"1"})
            raise KeyError

    for transaction in (True, False):
        with pytest.raises(KeyError):
            broken(transaction)
        assert bool(rows.row(b"a")) is not transaction


def test_text_stands_for_its_utf8(rows):
    rows.put("ä", {"f:ö": "ü"})
    assert rows.row("ä".encode()) == {"f:ö".encode(): "ü".encode()}
    for wrong in (5, None, bytearray(b"a")):
        with pytest.raises(TypeError, match="has to be bytes, or text"):
            rows.put(b"a", {b"f:q": wrong})
    with pytest.raises(ValueError, match="half of a surrogate pair"):
        rows.row("\ud800")


def test_counters_appends_and_checks(rows):
    assert rows.counter_get(b"c", b"f:n") == 0
    assert rows.counter_inc(b"c", b"f:n") == 1
    rows.counter_set(b"c", b"f:n", -5)
    assert rows.counter_dec(b"c", b"f:n", 2) == -7
    assert rows.append(b"a", {b"f:q": b"x"}) == {b"f:q": b"x"}
    assert rows.append(b"a", {b"f:q": b"y"}) == {b"f:q": b"xy"}
    assert not rows.check_and_put(b"a", b"f:q", None, {b"f:q": b"z"})
    assert rows.check_and_put(b"a", b"f:q", b"xy", {b"f:q": b"z"})


def test_a_column_without_a_qualifier_is_refused_where_one_is_needed(rows, client):
    with pytest.raises(InvalidRequest, match="needs a ':'"):
        rows.put(b"a", {b"f": b"1"})
    with pytest.raises(InvalidRequest, match="needs a ':'"):
        rows.counter_inc(b"a", b"f")
    assert sorted(rows.schema().families) == [b"f", b"g"]
    assert repr(rows) == "<hbtable table t>"
    with pytest.raises(TableNotFound):
        client.rows(b"missing").schema()
