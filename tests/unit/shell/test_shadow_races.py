"""When a difference between two servers says nothing: what overlapped, what is lacking, what compactions decide."""

import pytest

from hbtable.shell.shadow import races as module
from hbtable.shell.shadow.calls import Cells, Kind, Touch
from hbtable.shell.shadow.races import COMPACTION, FORGOTTEN, LACKS, MILLISECOND, ORDER, Races, ReadSpan, Write

ROW = Cells(b"t", b"r", frozenset((b"f:a",)))
WHOLE = Cells(b"t", b"r")
PUT = Touch(Kind.WRITE, (b"t",), (ROW,), puts=True)
DELETE = Touch(Kind.WRITE, (b"t",), (WHOLE,), deletes=True)


class Clock:
    """Seconds, as told."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class History:
    """Writes at the times that a test gives."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.races = Races(self.clock, lambda: 1000)

    def begin(self, at: float, touch: Touch = PUT) -> Write:
        self.clock.now = at
        return self.races.begin(touch)

    def end(self, write: Write, at: float, secondary: tuple[float, float]) -> None:
        self.clock.now = at
        self.races.acknowledged(write)
        self.clock.now = secondary[0]
        self.races.begins_at_secondary(write)
        self.clock.now = secondary[1]
        self.races.ended_at_secondary(write)

    def write(self, primary: tuple[float, float], secondary: tuple[float, float], touch: Touch = PUT) -> Write:
        write = self.begin(primary[0], touch)
        self.end(write, primary[1], secondary)
        return write

    def reason(self, *span: float, column: bytes | None = b"f:a", **more: bool) -> str:
        return self.races.reason(b"t", b"r", column, ReadSpan(*span), **more)


@pytest.mark.parametrize(
    ("span", "reason"),
    [
        ((3, 4, 5, 6), ""),  # behind it on both
        ((0, 1, 0, 1), ""),  # before it on both
        ((1.5, 4, 5, 6), ORDER),
        ((3, 4, 2.5, 6), ORDER),
        ((0, 1, 5, 6), ORDER),  # before it on one, behind it on the other
        ((0, 1.5, 0, 1), ORDER),
    ],
)
def test_a_read_beside_a_write(span: tuple[float, ...], reason: str) -> None:
    history = History()
    history.write((1, 2), (2, 3))
    assert history.reason(*span) == reason


def test_a_write_that_is_under_way_is_a_race_for_reads() -> None:
    history = History()
    history.begin(1)
    assert history.reason(2, 3, 4, 5) == ORDER


def test_writes_of_other_columns_are_no_race() -> None:
    history = History()
    history.write((1, 2), (2, 3))
    assert history.reason(1, 2, 2, 3, column=b"f:b") == ""
    assert history.reason(1, 2, 2, 3, column=b"f:") == ORDER
    assert history.reason(1, 2, 2, 3, column=None) == ORDER


def test_two_writes_that_overlapped_leave_their_row_in_doubt_until_a_put_that_nobody_raced() -> None:
    history = History()
    first, second = history.begin(1), history.begin(1.5, DELETE)
    history.end(first, 2, (2, 3))
    history.end(second, 2.5, (3, 4))
    assert history.reason(10, 11, 10, 11) == ORDER
    history.write((20, 21), (21, 22))
    assert history.reason(30, 31, 30, 31) == ""
    assert history.reason(10, 11, 10, 11) == ORDER  # a read before that put
    assert history.reason(30, 31, 30, 31, column=b"f:b") == ORDER  # which the delete had, too
    assert history.reason(30, 31, 30, 31, by_versions=True) == MILLISECOND  # older versions stay in doubt
    history.races.doubt([WHOLE], LACKS)
    assert history.reason(40, 41, 40, 41) == LACKS


def test_a_put_that_was_raced_settles_nothing() -> None:
    history = History()
    history.races.doubt([ROW], LACKS)
    first = history.begin(1)
    history.write((1.5, 3), (3, 4))
    assert history.reason(10, 11, 10, 11) == LACKS
    history.end(first, 5, (5, 6))
    assert history.reason(10, 11, 10, 11) == LACKS


def test_increments_may_overlap() -> None:
    history = History()
    touch = PUT._replace(adds=True, puts=False)
    first, second = history.begin(1, touch), history.begin(1, touch)
    history.end(first, 2, (2, 3))
    history.end(second, 2, (2, 3))
    assert history.reason(10, 11, 10, 11) == ""


def test_a_put_in_the_millisecond_of_a_delete_and_the_pause_that_the_secondary_makes() -> None:
    history = History()
    history.write((1, 2), (2, 3), DELETE)
    history.write((2.0005, 2.5), (3, 4))
    assert history.reason(10, 11, 10, 11) == MILLISECOND
    history = History()
    history.write((1, 2), (2, 3), DELETE)
    put = history.begin(2.5)
    history.clock.now = 3.0001
    assert history.races.pause(put) == pytest.approx(0.001)


def test_a_put_behind_a_delete_and_reads_before_a_time() -> None:
    history = History()
    history.write((1, 2), (2, 3), DELETE)
    history.write((4, 5), (5, 6), PUT._replace(times=(7,), puts=False))
    assert history.reason(10, 11, 10, 11) == COMPACTION
    history = History()
    history.write((1, 2), (2, 3))
    assert history.reason(10, 11, 10, 11, before_a_time=True) == ""
    history.write((20, 21), (21, 22))
    assert history.reason(10, 11, 10, 11, before_a_time=True) == ""
    assert history.reason(30, 31, 30, 31, before_a_time=True) == COMPACTION


def test_a_put_settles_nothing_where_a_time_to_come_hides_it() -> None:
    history = History()
    history.write((1, 2), (2, 3), PUT._replace(times=(5000,), puts=False))
    history.races.doubt([ROW], LACKS)
    history.write((20, 21), (21, 22))
    assert history.reason(30, 31, 30, 31) == LACKS


def test_what_the_secondary_lacks_is_in_doubt_and_what_nobody_has_is_not() -> None:
    for reason in (LACKS, ""):
        history = History()
        write = history.begin(1)
        history.races.drop(write, reason)
        assert history.reason(2, 3, 2, 3) == reason


def test_a_table_that_is_made_races_the_list_of_tables_and_its_own_calls() -> None:
    history = History()
    history.write((1, 2), (2, 3), Touch(Kind.SCHEMA, (b"t",)))
    span = ReadSpan(1.5, 4, 5, 6)
    assert history.races.reason(b"", None, None, span) == ORDER
    assert history.races.reason(b"t", b"r", None, span) == ORDER
    assert history.races.reason(b"other", b"r", None, span) == ""


def test_old_writes_are_forgotten_unless_a_scan_that_is_older_may_be_asked_about() -> None:
    history = History()
    scan = object()
    history.races.reading(scan, 0.5)
    history.write((1, 2), (2, 3))
    for number in range(1001):
        history.write((10 + number, 10.2 + number), (10.3 + number, 10.5 + number), PUT._replace(rows=()))
    assert history.reason(0.5, 1.5, 3, 4) == ORDER
    history.races.read(scan)
    for number in range(1001):
        history.write((2000 + number, 2000.2 + number), (2000.3 + number, 2000.5 + number), PUT._replace(rows=()))
    assert history.reason(0.5, 1.5, 3, 4) == ""


def test_the_pause_is_of_the_delete_whatever_was_put_between() -> None:
    history = History()
    history.write((1, 2), (2, 3), DELETE)
    history.write((2.9, 2.9995), (3.0001, 3.0002))
    put = history.begin(3)
    history.clock.now = 3.0004
    assert history.races.pause(put) == pytest.approx(0.0007)
    history.clock.now = 3.002
    assert history.races.pause(put) == 0


def test_a_write_of_a_hot_row_looks_at_few_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also while a scan that nobody closes has all of them remembered."""
    looked: list[object] = []
    true = module._meet
    monkeypatch.setattr(module, "_meet", lambda one, other: looked.append(one) or true(one, other))
    history = History()
    history.races.reading(object(), 0.5)
    slow = history.begin(1)
    for number in range(3000):
        at = 2 + number * 0.01
        history.write((at, at + 0.001), (at + 0.002, at + 0.003))
    history.end(slow, 50, (50, 51))
    assert len(looked) < 10_000


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Writes are remembered of a row, and of all."""
    monkeypatch.setattr(module, "_OF_A_ROW", 10)
    monkeypatch.setattr(module, "_REMEMBERED", 100)
    monkeypatch.setattr(module, "_PRUNE_EACH", 20)


@pytest.mark.usefixtures("few")
def test_of_a_hot_row_the_last_writes_are_remembered_and_the_others_said_to_be_forgotten() -> None:
    history = History()
    history.races.reading(object(), 0.5)
    other = Cells(b"t", b"other", ROW.columns)
    history.write((1, 2), (2, 3), PUT._replace(rows=(other,)))
    for number in range(10, 60):
        history.write((number, number + 0.2), (number + 0.3, number + 0.5))
    assert history.reason(1, 2, 2, 3) == FORGOTTEN
    assert history.reason(49, 49.1, 49.6, 49.7) == FORGOTTEN
    assert history.reason(49.25, 49.28, 49.6, 49.7) == ""
    assert history.reason(52.25, 52.9, 52.6, 53.2) == ""
    assert history.reason(52.1, 52.9, 52.6, 53.2) == ORDER
    assert history.races.reason(b"t", b"other", b"f:a", ReadSpan(1, 2, 2, 3)) == ORDER


@pytest.mark.usefixtures("few")
def test_a_write_beside_forgotten_ones_leaves_its_row_in_doubt() -> None:
    history = History()
    slow = history.begin(9)
    for number in range(10, 40):
        history.write((number, number + 0.2), (number + 0.3, number + 0.5), PUT._replace(rows=(WHOLE,)))
    history.write((50, 51), (51, 52))
    assert history.reason(60, 61, 60, 61) == ORDER  # `slow` may come at any time
    history.end(slow, 70, (71, 72))
    assert history.reason(80, 81, 80, 81) == ORDER
    history.write((90, 91), (91, 92))
    assert history.reason(95, 96, 95, 96) == ""


@pytest.mark.usefixtures("few")
def test_a_hot_row_that_rests_is_as_any_other() -> None:
    history = History()
    for number in range(10, 60):
        history.write((number, number + 0.2), (number + 0.3, number + 0.5))
    elsewhere = PUT._replace(rows=(Cells(b"t", b"other"),))
    for number in range(100, 130):
        history.write((number, number + 0.2), (number + 0.3, number + 0.5), elsewhere)
    assert history.reason(1, 2, 2, 3) == ""  # nobody is left who could ask this
    assert not history.races._forgotten_of_row.keys() - {(b"t", b"other")}


@pytest.mark.usefixtures("few")
def test_with_more_writes_than_are_remembered_later_reads_are_judged_as_before() -> None:
    history = History()
    history.races.reading(object(), 0.5)
    for number in range(10, 300):
        rows = (Cells(b"t", b"r%d" % number),)
        history.write((number, number + 0.2), (number + 0.3, number + 0.5), PUT._replace(rows=rows))
    beside = ReadSpan(298, 300, 298, 300)
    assert history.races.reason(b"t", b"r298", None, beside) == ORDER
    assert history.races.reason(b"t", b"elsewhere", None, beside) == ""
    assert history.races.reason(b"t", b"r10", None, ReadSpan(10.1, 300, 10.1, 300)) == FORGOTTEN


@pytest.mark.usefixtures("few")
def test_a_batch_that_names_its_row_often_is_one_write() -> None:
    history = History()
    rows = [Cells(b"t", b"r", frozenset((b"f:%d" % number,))) for number in range(20)]
    batch = PUT._replace(rows=(ROW, Cells(b"t", b"other"), *rows))
    history.write((1, 2), (2, 3), batch)
    assert history.reason(1, 2, 2, 3) == ORDER
    assert history.reason(1, 2, 2, 3, column=b"f:19") == ORDER
    assert history.reason(1, 2, 2, 3, column=b"f:20") == ""
    assert history.reason(3, 4, 4, 5) == ""
    dropped = history.begin(6, batch)
    history.clock.now = 7
    history.races.acknowledged(dropped)
    history.races.drop(dropped, "")
    assert history.reason(6.5, 8, 8, 9) == ""
