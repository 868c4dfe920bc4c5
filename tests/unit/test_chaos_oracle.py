"""What `make chaos` holds against a table: wrong cells, rows and numbers are told, a right table is not."""

import struct
import threading
from collections import Counter

from tests.campaigns.chaos.links import BATCH, COLUMN, Found, Lists, Writer, violations
from tests.campaigns.chaos.rows import Owner, Raiser, counted_wrongly
from tests.campaigns.chaos.run import Plan

LISTS = Lists(7)
WRITTEN = 3 * BATCH


def writer(number: int = 0) -> Writer:
    one = Writer(LISTS, number, [], threading.Event(), 0.0)
    one.acknowledged = WRITTEN
    return one


def found(numbers: range | list[int], of: int = 0) -> Found:
    part = Found()
    for number in numbers:
        part.add(LISTS, LISTS.row(of, number), {COLUMN: LISTS.value(of, number)})
    return part


def test_a_whole_table_is_right_with_and_without_the_batch_that_nobody_answered() -> None:
    assert violations(LISTS, [writer()], found(range(WRITTEN))) == []
    assert violations(LISTS, [writer()], found(range(WRITTEN + BATCH))) == []


def test_lost_cells_are_told_with_their_rows() -> None:
    [told] = violations(LISTS, [writer()], found([n for n in range(WRITTEN) if n not in (5, WRITTEN - 1)]))
    assert told.startswith("2 acknowledged cells of writer 0 are lost")
    assert repr(LISTS.row(0, 5)) in told


def test_cells_that_nobody_has_written_yet_are_told() -> None:
    [told] = violations(LISTS, [writer()], found([*range(WRITTEN), WRITTEN + BATCH]))
    assert told == "1 cells of writer 0 are there before they were written"


def test_a_cell_of_another_row_and_one_of_nobody_are_told() -> None:
    part = found(range(WRITTEN))
    part.add(LISTS, LISTS.row(0, 1), {COLUMN: LISTS.value(0, 2)})
    part.add(LISTS, b"row", {COLUMN: b"x"})
    told = violations(LISTS, [writer()], part)
    assert "holds another row's cell" in told[0]
    assert "holds what nobody wrote" in told[1]


def test_cells_that_are_in_two_tablets_or_scanned_twice_are_told() -> None:
    whole = found(range(WRITTEN))
    whole.join(found(range(10)))
    assert violations(LISTS, [writer()], whole) == ["10 cells of writer 0 are in two tablets"]
    assert "was scanned twice" in found([0, 0]).wrong[0]


def test_parts_are_joined_whichever_is_longer() -> None:
    whole = found(range(10))
    whole.join(found(range(10, WRITTEN)))
    whole.join(found(range(WRITTEN), of=1))
    assert violations(LISTS, [writer(), writer(1)], whole) == []
    assert "writers that there are not: [1]" in violations(LISTS, [writer()], whole)[0]


def owner() -> Owner:
    one = Owner(0, 7, [], threading.Event())
    one.promises.expected = {b"a0-0-1": {b"f:v": b"new"}}
    return one


def test_a_stale_lost_or_resurrected_row_is_told() -> None:
    assert owner().verify({b"a0-0-1": {b"f:v": b"new"}}) == []
    assert owner().verify({b"a0-0-1": {b"f:v": b"old"}})
    assert owner().verify({})
    assert owner().verify({b"a0-0-1": {b"f:v": b"new"}, b"a0-0-2": {b"f:v": b"back"}})


def test_a_change_in_doubt_leaves_two_states_and_no_third() -> None:
    for state, is_right in ((b"new", True), (b"newer", True), (b"other", False)):
        one = owner()
        one.doubtful = {b"a0-0-1": {b"f:v": b"newer"}}
        assert (one.verify({b"a0-0-1": {b"f:v": state}}) == []) is is_right


def test_a_number_is_between_what_was_acknowledged_and_what_was_tried() -> None:
    one, other = (Raiser(number, 7, [], threading.Event()) for number in range(2))
    one.raised, other.raised, other.doubtful = Counter({b"00": 3}), Counter({b"00": 4}), Counter({b"00": 1})
    for number, is_right in ((6, False), (7, True), (8, True), (9, False)):
        table = {b"00": {b"f:n": struct.pack(">q", number)}}
        assert (counted_wrongly([one, other], table) == []) is is_right
    assert counted_wrongly([one, other], {b"00": {b"f:n": struct.pack(">q", 7)}, b"32": {b"f:n": struct.pack(">q", 1)}})


def test_a_run_ends_when_all_is_reached_and_where_that_takes_too_long() -> None:
    plan = Plan(1, seconds=10, faults=3, cells=100, most_seconds=60)
    assert plan.is_over(3, 100, 10)
    assert not any(plan.is_over(*found) for found in ((2, 100, 10), (3, 99, 10), (3, 100, 9), (0, 0, 59)))
    assert plan.is_over(3, 99, 60), "a slow machine had written no ten million cells after half an hour, and went on"
    assert plan.missed(3, 100) == ""
    assert plan.missed(2, 99) == "the time was over after 2 of 3 faults and 99 of 100 cells"
