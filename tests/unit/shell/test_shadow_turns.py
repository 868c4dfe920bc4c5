"""The order in which calls are repeated: of each row as turns were taken, in whatever order threads come by."""

import random
import threading

import pytest

from hbtable.shell.shadow.calls import Cells, Kind, Touch
from hbtable.shell.shadow.turns import Turn, Turns

NEVER = threading.Event().is_set


def touch(kind: Kind, table: bytes = b"t", *rows: bytes) -> Touch:
    return Touch(kind, (table,), tuple(Cells(table, row) for row in rows))


def may_begin(turns: Turns, turn: Turn) -> bool:
    return turns.wait(turn, lambda: True)


def test_calls_of_one_row_wait_for_each_other_and_others_do_not() -> None:
    turns = Turns()
    first, second = turns.take(touch(Kind.WRITE, b"t", b"a", b"b")), turns.take(touch(Kind.READ, b"t", b"b", b"c"))
    third, other = turns.take(touch(Kind.WRITE, b"t", b"c")), turns.take(touch(Kind.WRITE, b"t", b"d"))
    begun = [may_begin(turns, turn) for turn in (first, second, third, other)]
    assert begun == [True, False, False, True]
    turns.end(first)
    assert [may_begin(turns, turn) for turn in (second, third)] == [True, False]
    turns.end(second)
    turns.end(second)  # again does nothing
    assert may_begin(turns, third)


def test_a_scan_waits_for_what_was_before_it_and_a_change_of_the_table_for_all() -> None:
    turns = Turns()
    write, scan = turns.take(touch(Kind.WRITE, b"t", b"a")), turns.take(touch(Kind.OPEN))
    later, change = turns.take(touch(Kind.WRITE, b"t", b"b")), turns.take(touch(Kind.SCHEMA))
    last, names = turns.take(touch(Kind.READ, b"t", b"z")), turns.take(Touch(Kind.ASK))
    elsewhere = turns.take(touch(Kind.WRITE, b"u", b"a"))
    assert may_begin(turns, elsewhere)
    assert not may_begin(turns, scan)
    assert may_begin(turns, later)
    turns.end(write)
    assert may_begin(turns, scan)
    assert not may_begin(turns, change)
    turns.end(scan)
    turns.end(later)
    assert may_begin(turns, change)
    assert not may_begin(turns, last)
    assert not may_begin(turns, names)
    turns.end(change)
    assert may_begin(turns, last)
    assert may_begin(turns, names)


@pytest.mark.parametrize("seed", range(5))
def test_threads_that_come_in_any_order_never_block_each_other(seed: int) -> None:
    chance = random.Random(seed)
    turns = Turns()
    kinds = [Kind.WRITE] * 6 + [Kind.READ] * 3 + [Kind.OPEN, Kind.SCHEMA]
    taken = [
        (turns.take(touch(chance.choice(kinds), chance.choice([b"t", b"u"]), *chance.sample([b"a", b"b", b"c"], 2))))
        for _ in range(200)
    ]
    began: list[Turn] = []

    def work(own: list[Turn]) -> None:
        for turn in own:  # a connection's in its order
            assert turns.wait(turn, NEVER)
            began.append(turn)
            turns.end(turn)

    of_threads: list[list[Turn]] = [[] for _ in range(6)]
    for turn in taken:
        chance.choice(of_threads).append(turn)
    threads = [threading.Thread(target=work, args=(own,)) for own in of_threads]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(began) == len(taken)
    for row in {row for turn in taken for row in turn.rows}:
        numbers = [turn.number for turn in began if row in turn.rows]
        assert numbers == sorted(numbers)
