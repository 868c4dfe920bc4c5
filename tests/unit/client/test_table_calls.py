"""Calls on a table: grouping by tablet, what is retried and what is not, tables that go and come."""

import pytest

from hbtable.client.client import Client
from hbtable.client.options import ClientOptions
from hbtable.client.table import Table
from hbtable.errors import (
    CostExceeded,
    InvalidRequest,
    LimitExceeded,
    LockLost,
    NoSuchFamily,
    OutcomeUnknown,
    OutOfSpace,
    StaleLocation,
    TableNotEnabled,
    TableNotFound,
    Unavailable,
)
from hbtable.metadata import layout
from hbtable.metadata.retry_policy import RetryPolicy
from hbtable.model.mutation import PUT, RowMutation
from hbtable.model.ranges import RowRange
from hbtable.model.read import EVERYTHING, ReadSpec, bytes_of
from hbtable.model.table import TableState
from hbtable.model.tablet import TabletRecord


def rows_of(cluster, table_id=16):
    return {row: cells[b"f:q"][1] for row, cells in cluster.rows.get(table_id, {}).items()}


def test_a_warm_call_is_one_call_to_one_server(cluster, client, put):
    _, tablets = cluster.put_table(b"t")
    table = client.table(b"t")
    table.mutate([put(b"a")])
    cluster.calls()
    reads = cluster.session.reads
    table.mutate([put(b"b")])
    table.read_rows([b"a"], EVERYTHING)
    table.increment(b"c", b"f", b"n", 1)
    assert cluster.calls() == [(name, tablets[0].tablet_id) for name in ("mutate", "read_rows", "increment")]
    assert cluster.session.reads == reads


def test_an_answer_out_of_several_tablets_holds_no_more_than_one_of_a_single_tablet(cluster, client, put):
    """Each tablet gets a share first; one whose rows need more is asked again, alone."""
    cluster.put_table(b"t", splits=(b"g", b"p"))
    table = client.table(b"t")
    rows = [b"a", b"h", b"z"]
    table.mutate([put(b"a", bytes(100)), put(b"h", b"1"), put(b"z", bytes(600))])
    size = sum(bytes_of(*row) for row in table.read_rows(rows, EVERYTHING))
    cluster.calls()
    assert [row for row, _ in table.read_rows(rows, ReadSpec(max_bytes=size))] == rows
    reads = [call for call in cluster.calls() if call[0] == "read_rows"]
    assert sorted(reads) == [("read_rows", 100), ("read_rows", 101), ("read_rows", 102), ("read_rows", 102)]
    with pytest.raises(LimitExceeded):
        table.read_rows(rows, ReadSpec(max_bytes=size - 1))


def test_a_part_of_a_read_that_costs_too_much_is_not_read_again(cluster, client, put, monkeypatch):
    cluster.put_table(b"t", splits=(b"g", b"p"))
    table, asked, read_rows = client.table(b"t"), [], Table.read_rows

    def costly(self, rows, spec):
        asked.append(rows)
        if rows == [b"h"]:
            raise CostExceeded("this request looked at 6 cells")
        return read_rows(self, rows, spec)

    monkeypatch.setattr(Table, "read_rows", costly)
    with pytest.raises(CostExceeded, match="6 cells"):
        table.read_rows([b"a", b"h", b"z"], EVERYTHING)
    assert asked.count([b"h"]) == 1


def test_a_batch_is_grouped_by_tablet_in_the_callers_order_per_row(cluster, client, put):
    cluster.put_table(b"t", splits=(b"g", b"p"))
    table = client.table(b"t")
    client.locator.tablets(16)
    cluster.calls()
    batch = [put(b"z", b"1"), put(b"a", b"1"), put(b"z", b"2"), put(b"h", b"1"), put(b"a", b"2"), put(b"a", b"3")]
    table.mutate(batch)
    assert rows_of(cluster) == {b"a": b"3", b"h": b"1", b"z": b"2"}
    assert sorted(call for call in cluster.calls() if call[0] == "mutate") == [
        ("mutate", 100),
        ("mutate", 101),
        ("mutate", 102),
    ]


def test_read_rows_answers_in_the_order_asked_with_repetitions(cluster, client, put):
    cluster.put_table(b"t", splits=(b"g", b"p"))
    table = client.table(b"t")
    table.mutate([put(row) for row in (b"a", b"h", b"z")])
    asked = [b"z", b"missing", b"a", b"z", b"h", b"a"]
    assert [row for row, _ in table.read_rows(asked, EVERYTHING)] == [b"z", b"a", b"z", b"h", b"a"]
    assert [row for row, _ in table.read_rows([b"a", b"a"], EVERYTHING)] == [b"a", b"a"]
    assert table.read_rows([], EVERYTHING) == []


def test_counters_appends_and_checks_reach_their_tablet(cluster, client):
    cluster.put_table(b"t", splits=(b"g",))
    table = client.table(b"t")
    assert table.increment(b"a", b"f", b"n", 5) == 5
    assert table.increment(b"a", b"f", b"n", -7) == -2
    assert [value for _, _, value in table.append(b"z", [(b"f", b"q", b"x"), (b"f", b"a", b"y")])] == [b"x", b"y"]
    change = RowMutation(b"z", [(PUT, b"f", b"q", 5, b"new")])
    assert not table.check_and_mutate(b"z", b"f", b"q", b"other", change)
    assert table.check_and_mutate(b"z", b"f", b"q", b"x", change)


def test_nothing_to_do_asks_nobody(client):
    table = client.table(b"missing")
    table.mutate([])
    assert table.read_rows([], EVERYTHING) == []


def test_a_moved_tablet_is_found_again_without_a_pause(cluster, client, put):
    _, tablets = cluster.put_table(b"t")
    table = client.table(b"t")
    table.mutate([put(b"a")])
    cluster.serve(tablets[0], "s1")
    began = cluster.runtime.now
    table.mutate([put(b"b")])
    assert cluster.runtime.now == began
    assert set(rows_of(cluster)) == {b"a", b"b"}


def test_a_tablet_that_split_meanwhile_divides_the_batch_again(cluster, client, put):
    _, tablets = cluster.put_table(b"t")
    table = client.table(b"t")
    table.mutate([put(b"a")])
    del cluster.servers["s0"].tablets[tablets[0].tablet_id]
    left = cluster.serve(TabletRecord(16, 300, RowRange(b"", b"m"), 1), "s1")
    del cluster.metadata[layout.key_of(left)]
    cluster.serve(TabletRecord(16, 301, RowRange(b"m", b""), 1, left=left), "s0")
    table.mutate([put(b"b"), put(b"x"), put(b"c")])
    assert set(rows_of(cluster)) == {b"a", b"b", b"c", b"x"}
    assert [row for row, _ in table.read_rows([b"x", b"b"], EVERYTHING)] == [b"x", b"b"]


def test_an_unavailable_tablet_is_waited_for(cluster, client, put):
    _, tablets = cluster.put_table(b"t")
    table = client.table(b"t")
    cluster.serve(tablets[0], "")
    cluster.runtime.spawn(lambda: (cluster.runtime.sleep(5), cluster.serve(tablets[0], "s1")))
    table.mutate([put(b"a")])
    assert 5 <= cluster.runtime.now < 7
    assert rows_of(cluster) == {b"a": b"v"}


def test_waiting_ends_at_the_deadline_with_a_message(cluster, put):
    _, tablets = cluster.put_table(b"t")
    options = ClientOptions(retry_policy=RetryPolicy(deadline_seconds=3))
    table = Client(cluster.runtime, cluster.session, cluster.transport, options).table(b"t")
    cluster.serve(tablets[0], "")
    with pytest.raises(Unavailable, match=r"table t gave no answer for row b'a' after \d+ tries in 3 seconds"):
        table.mutate([put(b"a")])
    assert 3 <= cluster.runtime.now < 5


@pytest.mark.parametrize(
    "error", [OutcomeUnknown("who knows"), OutOfSpace("full"), NoSuchFamily("x"), InvalidRequest("y")]
)
def test_what_may_have_been_applied_or_cannot_succeed_is_not_tried_again(cluster, client, put, error):
    cluster.put_table(b"t")
    table = client.table(b"t")
    table.mutate([put(b"a")])
    cluster.calls()

    def fail(method, tablet_id):
        if method != "scan" and tablet_id > 2:
            raise error

    for server in cluster.servers.values():
        server.before = fail
    with pytest.raises(type(error)) as caught:
        table.increment(b"a", b"f", b"n", 1)
    assert caught.value is error
    assert [call for call in cluster.calls() if call[0] == "increment"] == [("increment", 100)]


def test_a_family_that_a_tablet_does_not_know_yet_is_waited_for_and_one_that_there_is_not_is_not(cluster, client, put):
    cluster.put_table(b"t")
    table = client.table(b"t")
    refused = []

    def fail(method, tablet_id):
        if method in ("mutate", "check_and_mutate") and tablet_id > 2 and len(refused) % 3 < 2:
            refused.append(method)
            raise NoSuchFamily("f")
        if tablet_id > 2:
            refused.append("")

    for server in cluster.servers.values():
        server.before = fail
    table.mutate([put(b"a")])
    assert rows_of(cluster) == {b"a": b"v"}
    refused.clear()
    assert table.check_and_mutate(b"b", b"f", b"q", None, put(b"b"))
    refused.clear()
    with pytest.raises(NoSuchFamily):
        table.check_and_mutate(b"b", b"other", b"q", None, put(b"b"))
    assert refused == ["check_and_mutate"], "once"
    refused.clear()
    with pytest.raises(NoSuchFamily):
        table.mutate([RowMutation(b"a", [(PUT, b"other", b"q", 5, b"v")])])
    assert refused == ["mutate"], "once"


def test_a_server_that_lost_its_lock_leaves_a_write_unknown_and_a_read_repeated(cluster, client, put):
    _, tablets = cluster.put_table(b"t")
    table = client.table(b"t")
    table.mutate([put(b"a")])
    server = cluster.servers["s0"]

    def lost(method, tablet_id):
        if tablet_id == tablets[0].tablet_id:
            server.before = None
            cluster.serve(tablets[0], "s1")
            raise LockLost("s0 lost its lock")

    server.before = lost
    with pytest.raises(OutcomeUnknown, match="s0 lost its lock"):
        table.increment(b"a", b"f", b"n", 1)
    cluster.serve(tablets[0], "s0")
    server.before = lost
    table.read_rows([b"a"], EVERYTHING)
    server.before = lost
    cluster.serve(tablets[0], "s0")
    cluster.session.alive = False
    with pytest.raises(LockLost):
        table.read_rows([b"a"], EVERYTHING)


def test_a_missing_table_is_named(cluster, client, put):
    for call in (
        lambda table: table.mutate([put(b"a")]),
        lambda table: table.read_rows([b"a"], EVERYTHING),
        lambda table: table.increment(b"a", b"f", b"n", 1),
        lambda table: table.record(),
    ):
        with pytest.raises(TableNotFound) as caught:
            call(client.table(b"ns:nope"))
        assert str(caught.value) == "ns:nope"
    assert cluster.runtime.now == 0


def test_a_dropped_table_is_noticed_at_the_next_call(cluster, client, put):
    table, tablets = cluster.put_table(b"t")
    mine = client.table(b"t")
    mine.mutate([put(b"a")])
    cluster.drop_table(table, tablets)
    with pytest.raises(TableNotFound, match=r"^t$"):
        mine.mutate([put(b"a")])
    again, _ = cluster.put_table(b"t")
    mine.mutate([put(b"b")])
    assert rows_of(cluster, again.table_id) == {b"b": b"v"}


def test_a_table_dropped_and_created_anew_is_simply_used(cluster, client, put):
    table, tablets = cluster.put_table(b"t")
    mine = client.table(b"t")
    mine.mutate([put(b"a")])
    cluster.drop_table(table, tablets)
    again, _ = cluster.put_table(b"t")
    mine.mutate([put(b"b")])
    assert rows_of(cluster, again.table_id) == {b"b": b"v"}
    assert [row for row, _ in mine.read_rows([b"a", b"b"], EVERYTHING)] == [b"b"]


@pytest.mark.parametrize("state", [TableState.DISABLED, TableState.DISABLING])
def test_a_disabled_table_says_so_until_it_is_enabled(cluster, client, put, state):
    table, tablets = cluster.put_table(b"t")
    mine = client.table(b"t")
    mine.mutate([put(b"a")])
    cluster.set_state(table, tablets, state)
    for _ in range(2):
        with pytest.raises(TableNotEnabled) as caught:
            mine.mutate([put(b"a")])
        assert str(caught.value) == "t is disabled."
    cluster.set_state(table, tablets, TableState.ENABLED)
    mine.mutate([put(b"b")])
    assert set(rows_of(cluster)) == {b"a", b"b"}


def test_a_table_being_enabled_is_waited_for_and_one_being_made_is_not_there(cluster, client, put):
    table, tablets = cluster.put_table(b"t")
    cluster.set_state(table, tablets, TableState.ENABLING)
    cluster.runtime.spawn(lambda: (cluster.runtime.sleep(2), cluster.set_state(table, tablets, TableState.ENABLED)))
    client.table(b"t").mutate([put(b"a")])
    assert cluster.runtime.now >= 2
    cluster.put_table(b"u", state=TableState.CREATING)
    with pytest.raises(TableNotFound):
        client.table(b"u").mutate([put(b"a")])


def test_every_spelling_of_a_name_is_one_table_and_bad_names_are_refused(client):
    assert client.table(b"default:t") is client.table(b"t")
    assert client.table(b"ns:t") is not client.table(b"t")
    with pytest.raises(InvalidRequest, match="position 1"):
        client.table(b"a b")


def test_a_failing_group_does_not_stop_the_others(cluster, client, put):
    _, tablets = cluster.put_table(b"t", splits=(b"g", b"p"))
    table = client.table(b"t")

    def fail(method, tablet_id):
        if tablet_id == tablets[0].tablet_id:
            raise InvalidRequest("no")

    cluster.servers["s0"].before = fail
    with pytest.raises(InvalidRequest):
        table.mutate([put(b"a"), put(b"h"), put(b"z")])
    assert set(rows_of(cluster)) == {b"h", b"z"}


def test_groups_run_at_the_same_time_but_not_all_at_once(cluster, put):
    splits = tuple(bytes([letter]) for letter in b"bcdefghij")
    cluster.put_table(b"t", splits=splits)
    table = Client(cluster.runtime, cluster.session, cluster.transport, ClientOptions(parallel_calls=3)).table(b"t")
    running, most = [0], [0]

    def before(method, tablet_id):
        if method == "mutate":
            running[0] += 1
            most[0] = max(most[0], running[0])
            cluster.runtime.sleep(1)
            running[0] -= 1

    for server in cluster.servers.values():
        server.before = before
    table.mutate([put(bytes([letter])) for letter in b"abcdefghij"])
    assert most[0] == 3
    assert len(rows_of(cluster)) == 10


def test_locations_that_stay_stale_give_up_in_the_end(cluster, client, put):
    cluster.put_table(b"t")

    def stale(method, tablet_id):
        if tablet_id > 2:
            raise StaleLocation("not here")

    for server in cluster.servers.values():
        server.before = stale
    with pytest.raises(Unavailable, match="in 60 seconds: not here"):
        client.table(b"t").mutate([put(b"a")])


def test_a_tables_record_waits_for_metadata_as_long_as_its_rows_do(cluster, client):
    """A dead server that had METADATA keeps it for a session, ten seconds by default, and until it is recovered."""
    record, _ = cluster.put_table(b"t")

    def away(method, tablet_id):
        if tablet_id <= 2 and cluster.runtime.now < 25:
            raise StaleLocation("it is gone")

    for server in cluster.servers.values():
        server.before = away
    assert client.table(b"t").record() == record
    assert 25 <= cluster.runtime.now < 40


def test_a_tables_record_is_given_up_in_the_end(cluster, client):
    cluster.put_table(b"t")

    def away(method, tablet_id):
        if tablet_id <= 2:
            raise StaleLocation("it is gone")

    for server in cluster.servers.values():
        server.before = away
    with pytest.raises(Unavailable, match=r"the record of table t could not be read after \d+ tries in 60 seconds: "):
        client.table(b"t").record()
    assert 60 <= cluster.runtime.now < 80


def test_a_range_is_deleted_tablet_after_tablet(cluster, client, put):
    cluster.put_table(b"t", splits=(b"g", b"p"))
    table = client.table(b"t")
    table.mutate([put(row) for row in (b"a", b"e", b"g", b"h", b"z")])
    cluster.calls()
    table.delete_range(RowRange(b"c", b"z"))
    assert list(rows_of(cluster)) == [b"a", b"z"]
    assert sorted(cluster.calls()) == [("delete_range", 100), ("delete_range", 101), ("delete_range", 102)]
    table.delete_range(RowRange(b"p", b""), 5)
    assert list(rows_of(cluster)) == [b"a"]
    table.delete_range(RowRange())
    assert rows_of(cluster) == {}
    cluster.calls()
    table.delete_range(RowRange(b"c", b"g"))
    assert cluster.calls() == [("delete_range", 100)]


@pytest.mark.parametrize("error", [Unavailable("busy"), InvalidRequest("it is read only"), LockLost("the end")])
def test_a_range_of_which_a_part_was_deleted_is_no_error_that_says_none_was(cluster, put, error):
    options = ClientOptions(retry_policy=RetryPolicy(deadline_seconds=0.5))
    client = Client(cluster.runtime, cluster.session, cluster.transport, options)
    cluster.put_table(b"t", splits=(b"g",))
    table = client.table(b"t")
    table.mutate([put(row) for row in (b"a", b"k")])

    def fail(method, tablet_id):
        if method == "delete_range" and tablet_id == refused:
            raise error

    for server in cluster.servers.values():
        server.before = fail
    refused = 100
    with pytest.raises(OutcomeUnknown if isinstance(error, LockLost) else type(error)):
        table.delete_range(RowRange())
    assert list(rows_of(cluster)) == [b"a", b"k"]
    refused = 101
    with pytest.raises(OutcomeUnknown):
        table.delete_range(RowRange())
    assert list(rows_of(cluster)) == [b"k"]


def test_a_range_of_nothing_and_one_of_what_is_no_row_are_refused(cluster, client):
    cluster.put_table(b"t")
    table = client.table(b"t")
    for rows in ((b"b", b"a"), (b"b", b"b"), ("a", b"b"), (b"a", None)):
        with pytest.raises(InvalidRequest):
            table.delete_range(RowRange(*rows))
    assert cluster.calls() == []


def test_whoever_passes_calls_on_is_told_which_tablet_to_ask_until_one_answers(cluster, client, put):
    _, tablets = cluster.put_table(b"t")
    table = client.table(b"t")
    table.mutate([put(b"a")])
    asked = []

    def ask(record):
        asked.append(record.owner)
        cluster.transport.tablet_service(record.owner).read_rows(record.tablet_id, [b"a"], EVERYTHING)
        return b"answer"

    assert table.ask_owner(b"a", table.cached_tablet(b"a"), ask, False) == b"answer"
    cluster.serve(tablets[0], "s1")
    assert table.ask_owner(b"a", table.cached_tablet(b"a"), ask, True) == b"answer"
    assert asked == ["s0", "s0", "s1"]
    cluster.serve(tablets[0], "")
    cluster.runtime.spawn(lambda: (cluster.runtime.sleep(5), cluster.serve(tablets[0], "s0")))
    assert table.ask_owner(b"a", table.cached_tablet(b"a"), ask, True) == b"answer"
    assert 5 <= cluster.runtime.now < 7


@pytest.mark.parametrize(
    ("error", "write", "told"),
    [
        (OutcomeUnknown("who knows"), True, OutcomeUnknown),
        (OutOfSpace("full"), True, OutOfSpace),
        (NoSuchFamily("x"), True, NoSuchFamily),
        (LockLost("s0 lost its lock"), True, OutcomeUnknown),
        (Unavailable("busy"), False, Unavailable),
    ],
)
def test_calls_that_are_passed_on_end_as_others_do(cluster, client, put, error, write, told):
    cluster.put_table(b"t")
    table = client.table(b"t")
    table.mutate([put(b"a")])
    tries = []

    def ask(record):
        tries.append(record)
        raise error

    with pytest.raises(told, match=str(error)):
        table.ask_owner(b"a", table.cached_tablet(b"a"), ask, write)
    assert (len(tries) > 1) is (told is Unavailable)
