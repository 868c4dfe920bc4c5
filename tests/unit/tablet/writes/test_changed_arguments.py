"""Arguments of increments, appends and checks that change in memory between the client and the log record."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from hbtable.errors import MemoryDamaged
from hbtable.model.call_checksums import checksum_of_append, checksum_of_condition, checksum_of_increment
from hbtable.model.mutation import DELETE_COLUMN, PUT, MadeChecksum, RowMutation, checksum_of
from hbtable.rpc.codec.calls import METHODS, read_head
from hbtable.rpc.thrift_transport import CheckedTabletService
from hbtable.tablet.tablet import Tablet
from hbtable.tablet.writes import made_puts, read_modify_write
from hbtable.thrift.message import MessageReader
from tests.harness.tablet_bench import Bench, everything, put

INCREMENT = (b"r", b"f", b"n", 5)
VALUES = [(b"f", b"q", b"+suffix"), (b"g", b"q", b"+other")]
APPEND = (b"r", VALUES, 0)
CONDITION = (b"r", b"f", b"q", b"old")


def no_pause() -> None:
    """Nothing else runs."""


def of_append(row: bytes, values: list[tuple[bytes, bytes, bytes]], ttl_millis: int) -> int:
    return checksum_of_append(row, values, ttl_millis, no_pause)


CHANGED: list[tuple[str, tuple[Any, ...], Callable[..., int], list[tuple[Any, ...]]]] = [
    (
        "increment",
        INCREMENT,
        checksum_of_increment,
        [(b"s", b"f", b"n", 5), (b"r", b"g", b"n", 5), (b"r", b"f", b"m", 5), (b"r", b"f", b"n", 4)],
    ),
    (
        "append",
        APPEND,
        of_append,
        [
            (b"s", VALUES, 0),
            (b"r", [(b"g", b"q", b"+suffix"), VALUES[1]], 0),
            (b"r", [(b"f", b"r", b"+suffix"), VALUES[1]], 0),
            (b"r", [VALUES[0], (b"g", b"q", b"+othes")], 0),
            (b"r", VALUES, 1),
        ],
    ),
]


def at_tablet(tablet: Tablet, method: str, arguments: tuple[Any, ...]) -> object:
    """Carried there as between two processes."""

    def carry(_: object, sent: tuple[Any, ...]) -> object:
        frame = METHODS[method].request(1, ("server", *sent), no_pause)
        read = METHODS[method].read_arguments(MessageReader(frame[4:]), read_head(frame[4:])[3])
        return getattr(tablet, method)(*read[2:])

    return getattr(CheckedTabletService(carry), method)(20, *arguments)


@pytest.mark.parametrize(("method", "right", "checksum", "wrong"), CHANGED, ids=["increment", "append"])
def test_a_change_of_any_argument_is_refused(method, right, checksum, wrong) -> None:
    bench = Bench()

    def main() -> None:
        tablet = bench.open()
        sum_of_right = checksum(*right)
        assert sum_of_right
        for changed in wrong:
            with pytest.raises(MemoryDamaged, match="changed in memory on its way to the tablet"):
                at_tablet(tablet, method, (*changed, sum_of_right))
        assert everything(tablet) == []
        at_tablet(tablet, method, (*right, sum_of_right))
        first = everything(tablet)
        assert first
        at_tablet(tablet, method, (*wrong[0], 0))  # from a version that takes none

    bench.run(main)


def test_a_check_of_something_else_than_was_asked_for_is_refused() -> None:
    bench = Bench()

    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"r", b"f:q", b"old"), put(b"r", b"g:q", b"old"), put(b"r", b"f:p", b"old")])
        before = everything(tablet)
        mutation, sum_of_right = put(b"r", b"f:q", b"new"), checksum_of_condition(*CONDITION)
        for changed in ((b"g", b"q", b"old"), (b"f", b"p", b"old"), (b"f", b"q", b"ole"), (b"f", b"q", None)):
            with pytest.raises(MemoryDamaged):
                at_tablet(tablet, "check_and_mutate", (b"r", *changed, mutation, sum_of_right))
        assert everything(tablet) == before
        assert at_tablet(tablet, "check_and_mutate", (*CONDITION, mutation, sum_of_right))

    bench.run(main)


@pytest.mark.parametrize("method", ["increment", "append", "check_and_mutate"])
def test_what_changes_while_the_call_waits_for_its_row_is_refused(method: str) -> None:
    bench = Bench()
    values = [(b"f", b"q", b"suffix")]
    mutation = put(b"r", b"f:q", b"new")

    def change() -> None:
        values[0] = (b"f", b"q", b"suffiy")
        mutation.operations[0] = (*mutation.operations[0][:4], b"nex")

    calls: dict[str, Callable[[Tablet], object]] = {
        "increment": lambda tablet: tablet.increment(b"r", b"f", b"n", 4, checksum_of_increment(*INCREMENT)),
        "append": lambda tablet: tablet.append(b"r", values, 0, of_append(b"r", values, 0)),
        "check_and_mutate": lambda tablet: tablet.check_and_mutate(b"r", b"f", b"q", None, mutation),
    }

    def main() -> None:
        tablet = bench.open()
        tablet._state.row_locks.acquire(b"r")
        errors = []

        def client() -> None:
            try:
                calls[method](tablet)
            except MemoryDamaged as error:
                errors.append(error)

        task = bench.runtime.spawn(client)
        while not tablet._state.row_locks.held[b"r"]:
            bench.runtime.sleep(0)
        change()
        tablet._state.row_locks.release(b"r")
        task.join()
        assert errors
        assert everything(tablet) == []

    bench.run(main)


@pytest.mark.parametrize("method", ["increment", "append", "check_and_mutate"])
def test_what_was_made_of_a_call_is_refused_when_it_changes_at_the_gate(method: str, monkeypatch) -> None:
    bench = Bench()
    made: list[RowMutation] = []

    class Seen(RowMutation):
        """Of which the test knows."""

        __slots__ = ()

        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **named)
            made.append(self)

    for module in (read_modify_write, made_puts):
        monkeypatch.setattr(module, "RowMutation", Seen)
    calls: dict[str, Callable[[Tablet], object]] = {
        "increment": lambda tablet: tablet.increment(b"r", b"f", b"n", 1),
        "append": lambda tablet: tablet.append(b"r", VALUES),
        "check_and_mutate": lambda tablet: tablet.check_and_mutate(b"r", b"f", b"a", b"", Seen(b"r", [*OPERATIONS])),
    }

    def main() -> None:
        tablet = bench.open()
        tablet._state.gate.freeze()
        errors = []

        def client() -> None:
            try:
                calls[method](tablet)
            except MemoryDamaged as error:
                errors.append(error)

        task = bench.runtime.spawn(client)
        while not made:
            bench.runtime.sleep(0)
        made[-1].operations[-1] = (*made[-1].operations[-1][:4], b"changed")
        tablet._state.gate.thaw()
        task.join()
        assert errors
        assert everything(tablet) == []

    bench.run(main)


OPERATIONS = [(PUT, b"f", b"q", 7, b"1"), (DELETE_COLUMN, b"f", b"r", 8, b""), (PUT, b"g", b"", 9, b"x" * 2000)]


def test_a_checksum_made_operation_by_operation_is_that_of_the_mutation() -> None:
    for count in range(1, 4):
        made = MadeChecksum(b"r")
        for operation in OPERATIONS[:count]:
            made.add(operation)
        assert made.value() == checksum_of(RowMutation(b"r", OPERATIONS[:count]))


def test_an_append_of_very_many_columns_pauses_and_has_the_same_checksum() -> None:
    chance = random.Random(1)
    values = [(b"f", b"%d" % n, chance.randbytes(3)) for n in range(2500)]
    pauses: list[int] = []
    assert checksum_of_append(b"r", values, 3, lambda: pauses.append(1)) == of_append(b"r", values, 3)
    assert len(pauses) == 2


@pytest.mark.parametrize("wrong", [None, 7, "text"])
def test_arguments_of_wrong_types_have_none(wrong: Any) -> None:
    assert checksum_of_increment(wrong, b"f", b"q", 1) == 0
    assert checksum_of_increment(b"r", b"f", b"q", wrong if wrong != 7 else "1") == 0
    assert checksum_of_condition(b"r", b"f", wrong, b"") == 0
    assert of_append(b"r", wrong, 0) == 0
    assert of_append(b"r", [wrong], 0) == 0


def test_the_planted_bug_is_found(monkeypatch) -> None:
    """The arguments are believed."""
    for module in (read_modify_write, made_puts):
        monkeypatch.setattr(module, "check_as_sent", lambda row, sent, found: None)
    for method in ("increment", "append"):
        with pytest.raises((AssertionError, pytest.fail.Exception)):
            test_what_changes_while_the_call_waits_for_its_row_is_refused(method)
    for one in CHANGED:
        with pytest.raises(pytest.fail.Exception):
            test_a_change_of_any_argument_is_refused(*one)
