"""Increments and appends among the changes of a row: what they add to, and what cells come of them."""

from collections.abc import Callable
from typing import Any

import pytest

from hbtable.errors import InvalidRequest, LimitExceeded, MemoryDamaged, NotACounter
from hbtable.model.additions import APPEND, INCREMENT
from hbtable.model.cell import SERVER_TIME
from hbtable.model.condition import ALWAYS
from hbtable.model.mutation import DELETE_COLUMN, DELETE_VERSION, PUT, Operation, RowMutation, checksum_of
from hbtable.model.ranges import RowRange
from hbtable.model.read import EVERYTHING, ReadSpec
from hbtable.runtime.request_budget import counted_request
from hbtable.tablet.tablet import Tablet
from hbtable.tablet.writes import made_puts
from tests.harness.tablet_bench import Bench, put, values

NOTHING = ReadSpec({})


def number(value: int) -> bytes:
    return value.to_bytes(8, "big", signed=True)


def adding(column: bytes, amount: int) -> Operation:
    family, _, qualifier = column.partition(b":")
    return INCREMENT, family, qualifier, SERVER_TIME, number(amount)


def appending(column: bytes, suffix: bytes) -> Operation:
    family, _, qualifier = column.partition(b":")
    return APPEND, family, qualifier, SERVER_TIME, suffix


def change(tablet: Tablet, *operations: Operation, ttl_millis: int = 0) -> None:
    mutation = RowMutation(b"r", list(operations), ttl_millis=ttl_millis)
    mutation.checksum = checksum_of(mutation)
    assert tablet.mutate_if(b"r", NOTHING, ALWAYS, None, mutation)


def in_bench(main: Callable[[Bench, Tablet], None]) -> None:
    bench = Bench()
    bench.run(lambda: main(bench, bench.open()))


@pytest.mark.parametrize("flushed", [False, True])
def test_they_are_puts_in_the_log_and_the_files(flushed: bool) -> None:
    def main(bench: Bench, tablet: Tablet) -> None:
        for _ in range(3):
            change(tablet, adding(b"f:n", 2), appending(b"g:a", b"x"), (PUT, b"f", b"p", SERVER_TIME, b"1"))
        if flushed:
            tablet.flush()
        bench.crash()
        assert values(bench.open(), b"r") == {b"f:n": number(6), b"g:a": b"xxx", b"f:p": b"1"}

    in_bench(main)


@pytest.mark.parametrize("flushed", [False, True])
def test_an_old_cells_own_time_to_live_goes_on_unless_the_change_has_one(flushed: bool) -> None:
    def main(bench: Bench, tablet: Tablet) -> None:
        first = RowMutation(b"r", [(PUT, b"f", b"n", SERVER_TIME, number(1)), (PUT, b"f", b"a", SERVER_TIME, b"x")])
        first.ttl_millis = 10_000
        tablet.mutate([first, put(b"r", b"f:b", b"immortal")])
        if flushed:
            tablet.flush()
        bench.runtime.sleep(8)
        # The newest version's delete is made one of a time, and the one that masks nothing goes: lifetimes go along.
        deletes: list[Operation] = [
            (DELETE_VERSION, b"g", b"none", SERVER_TIME, b""), (DELETE_VERSION, b"f", b"b", SERVER_TIME, b"")
        ]  # fmt: skip
        change(tablet, *deletes, (PUT, b"f", b"p", SERVER_TIME, b"stays"), adding(b"f:n", 1), appending(b"f:a", b"y"))
        bench.runtime.sleep(8)
        assert values(tablet, b"r") == {b"f:n": number(2), b"f:a": b"xy", b"f:p": b"stays"}
        change(tablet, adding(b"f:n", 1), appending(b"f:p", b"!"), ttl_millis=60_000)
        bench.runtime.sleep(8)
        assert values(tablet, b"r") == {b"f:n": number(3), b"f:p": b"stays!"}
        bench.runtime.sleep(60)
        assert values(tablet, b"r") == {b"f:p": b"stays"}, "the version below, which has no end"

    in_bench(main)


def test_what_is_added_to_a_cell_of_the_future_is_newer() -> None:
    def main(bench: Bench, tablet: Tablet) -> None:
        ahead = bench.runtime.wall_millis() + 1_000_000
        tablet.mutate([put(b"r", b"f:n", number(5), ahead), put(b"r", b"f:c", b"v", ahead + 7)])
        change(tablet, adding(b"f:n", 1), appending(b"g:a", b"x"))
        counter = ReadSpec({b"f": frozenset((b"c",))})
        mutation = RowMutation(
            b"r", [adding(b"f:n", 1), appending(b"f:c2", b"x"), (PUT, b"g", b"p", SERVER_TIME, b"1")]
        )
        assert tablet.mutate_if(b"r", counter, "=", b"v", mutation)
        ((_, cells),) = tablet.read_rows([b"r"], EVERYTHING)
        found = {column: (time, value) for column, time, value in cells}
        assert found[b"f:n"] == (ahead + 2, number(7))
        assert found[b"f:c2"] == (ahead + 7, b"x"), "not before the compared cell"
        assert found[b"g:p"] == (ahead + 7, b"1")
        assert found[b"g:a"][0] < ahead

    in_bench(main)


@pytest.mark.parametrize(
    ("operation", "error", "message"),
    [
        ((INCREMENT, b"f", b"n", 5, number(1)), InvalidRequest, "give it none"),
        ((INCREMENT, b"f", b"n", SERVER_TIME, b"1"), InvalidRequest, "has 1 bytes: a counter has 8"),
        ((APPEND, b"f", b"n", SERVER_TIME, "text"), InvalidRequest, "the value .* has to be bytes"),
        ((APPEND, b"f", None, SERVER_TIME, b"1"), InvalidRequest, "the qualifier .* has to be bytes"),
        (adding(b"f:text", 1), NotACounter, "^Field is not a long, it's 4 bytes wide: column b'f:text' of row b'r'"),
    ],
)
def test_what_cannot_be_added_changes_nothing(operation: Any, error: type[Exception], message: str) -> None:
    def main(bench: Bench, tablet: Tablet) -> None:
        tablet.mutate([put(b"r", b"f:text", b"text")])
        mutation = RowMutation(b"r", [(PUT, b"f", b"p", SERVER_TIME, b"1"), operation])
        with pytest.raises(error, match=message):
            tablet.mutate_if(b"r", NOTHING, ALWAYS, None, mutation)
        with pytest.raises(error, match=message):
            tablet.check_and_mutate(b"r", b"f", b"none", None, mutation)
        with pytest.raises(InvalidRequest):
            tablet.mutate([mutation])
        assert values(tablet, b"r") == {b"f:text": b"text"}

    in_bench(main)


def test_who_asks_for_the_new_cells_gets_all_of_them_or_nothing_is_changed() -> None:
    def main(bench: Bench, tablet: Tablet) -> None:
        first = put(b"r", b"f:n", number(2**63 - 1))
        first.ttl_millis = 10_000
        tablet.mutate([first, put(b"r", b"f:text", b"text"), put(b"r", b"g:a", b"x")])
        operations = [adding(b"f:n", 1), appending(b"g:a", b"y"), adding(b"g:new", 0)]
        cells = tablet.add_to_columns(RowMutation(b"r", operations))
        assert [(column, value) for column, _, value in cells] == [
            (b"f:n", number(-(2**63))), (b"g:a", b"xy"), (b"g:new", number(0)),
        ]  # fmt: skip
        before = tablet.read_rows([b"r"], EVERYTHING)
        assert {*cells} <= {*before[0][1]}
        refused: list[tuple[list[Operation], type[Exception], str]] = [
            ([*operations, adding(b"f:text", 1)], NotACounter, "Field is not a long, it's 4 bytes wide"),
            ([*operations, adding(b"g:new", 1)], InvalidRequest, "names it once more"),
            ([*operations, adding(b"none:q", 1)], InvalidRequest, "none"),
            ([*operations, (PUT, b"f", b"p", SERVER_TIME, b"1")], InvalidRequest, "increments and appends alone"),
            ([], InvalidRequest, "increments and appends alone"),
        ]
        for wrong, error, message in refused:
            with pytest.raises(error, match=message):
                tablet.add_to_columns(RowMutation(b"r", wrong))
        sent = checksum_of(RowMutation(b"r", [adding(b"g:new", 3)]))
        with pytest.raises(MemoryDamaged):
            tablet.add_to_columns(RowMutation(b"r", [adding(b"g:new", 1)], checksum=sent))
        assert tablet.read_rows([b"r"], EVERYTHING) == before
        bench.runtime.sleep(11)
        assert b"f:n" not in values(tablet, b"r"), "it has the old cell's time to live"

    in_bench(main)


@pytest.mark.parametrize("durability", ["os", "sync"])
def test_several_clients_count_in_two_columns_at_once(durability: str) -> None:
    bench = Bench(0, durability)

    def main() -> None:
        tablet = bench.open()
        answers: list[tuple[bytes, ...]] = []

        def client() -> None:
            for _ in range(20):
                cells = tablet.add_to_columns(RowMutation(b"r", [adding(b"f:n", 1), adding(b"g:m", 1)]))
                answers.append(tuple(value for _, _, value in cells))
                bench.runtime.sleep(0)

        tasks = [bench.runtime.spawn(client) for _ in range(5)]
        for task in tasks:
            task.join()
        assert sorted(answers) == [(number(n), number(n)) for n in range(1, 101)]
        tablet.delete_range(RowRange(b"", b""), SERVER_TIME)
        assert [value for _, _, value in tablet.add_to_columns(RowMutation(b"r", [adding(b"f:n", 7)]))] == [number(7)]

    bench.run(main)


def test_a_change_that_is_always_made_reads_nothing_first() -> None:
    def main(bench: Bench, tablet: Tablet) -> None:
        for spec in (EVERYTHING, ReadSpec({b"f": None}), ReadSpec({}, filter=b"KeyOnlyFilter()")):
            with pytest.raises(InvalidRequest, match="reads nothing first"):
                tablet.mutate_if(b"r", spec, ALWAYS, None, put(b"r", b"f:a", b"1"))
        with pytest.raises(InvalidRequest, match="about no value"):
            tablet.mutate_if(b"r", NOTHING, ALWAYS, b"1", put(b"r", b"f:a", b"1"))
        assert tablet.read_rows([b"r"], EVERYTHING) == []

    in_bench(main)


def test_the_old_values_count_as_bytes_read_and_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(made_puts, "ANSWER_BYTES", 1000)

    def main(bench: Bench, tablet: Tablet) -> None:
        with counted_request() as budget:
            change(tablet, appending(b"f:a", b"x" * 600), adding(b"f:n", 1))
            assert budget.compared_bytes == 0
            change(tablet, appending(b"f:a", b"x"), adding(b"f:n", 1))
            assert budget.compared_bytes == 608
            with pytest.raises(LimitExceeded, match="more than 1000 bytes"):
                change(tablet, appending(b"f:b", b"x" * 400), appending(b"f:a", b"x"), adding(b"f:n", 1))
        assert values(tablet, b"r") == {b"f:a": b"x" * 601, b"f:n": number(2)}

    in_bench(main)


def test_an_amount_that_changed_in_memory_is_not_added() -> None:
    def main(bench: Bench, tablet: Tablet) -> None:
        mutation = RowMutation(b"r", [adding(b"f:n", 1)])
        mutation.checksum = checksum_of(RowMutation(b"r", [adding(b"f:n", 3)]))
        with pytest.raises(MemoryDamaged):
            tablet.mutate_if(b"r", NOTHING, ALWAYS, None, mutation)
        assert tablet.read_rows([b"r"], EVERYTHING) == []

    in_bench(main)


def test_very_many_of_them_let_others_run() -> None:
    def main(bench: Bench, tablet: Tablet) -> None:
        columns = [b"f:%05d" % place for place in range(6000)]
        change(tablet, *(adding(column, 1) for column in columns))
        change(
            tablet, *(adding(column, 1) for column in columns[1:]), (DELETE_COLUMN, b"f", b"00000", SERVER_TIME, b"")
        )
        assert values(tablet, b"r") == dict.fromkeys(columns[1:], number(2))

    in_bench(main)
