"""What becomes of two records when their tablets are merged; then every way in which a merge can be interrupted.

The second half runs the steps over a METADATA in a dict. Each change of a row may be the last thing a master does:
applied, not applied, or applied at any later moment, when another master has long gone on.
"""

import itertools
from contextlib import nullcontext
from dataclasses import replace

import pytest

from hbtable.errors import Conflict, InvalidRequest, OutcomeUnknown, Unavailable
from hbtable.master.servers.server_reports import ServerReports
from hbtable.master.tablets import merging
from hbtable.master.tablets.assignment import ClusterSnapshot, plan
from hbtable.master.tablets.merges import GONE_MILLIS, Merges
from hbtable.master.tablets.ownership import assigned
from hbtable.master.tablets.server_load import ServerLoad
from hbtable.metadata.tiling import verify_tiling
from hbtable.model.range_delete import MAX_RECORD_BYTES, RangeDelete, record_bytes
from hbtable.model.ranges import RowRange
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.model.table import TableRecord, TableState
from hbtable.model.tablet import NO_LOG, GoneTablet, LogRef, SSTableRef, TabletRecord
from hbtable.tabletserver.split import split_records


def file(name, first=1, last=5):
    return SSTableRef(name, 100, 7, first, last, 3)


LEFT = TabletRecord(
    16, 20, RowRange(b"", b"m"), 1000, "", 7, (("f", (file("l1"), file("l2", 6, 9))),), (LogRef(NO_LOG, 10),)
)
RIGHT = TabletRecord(
    16, 30, RowRange(b"m", b""), 1000, "", 3, (("f", (file("r1", 4, 70),)), ("g", (file("r2"),))), (LogRef(NO_LOG, 71),)
)


# ---------------------------------------------------------------- records


def test_the_merged_record():
    marked = merging.marked(LEFT, RIGHT, 99)
    record = merging.merged(marked, RIGHT, 500)
    assert record.range == RowRange(b"", b"")
    assert (record.tablet_id, record.owner) == (99, "")
    assert record.created_millis == 1001, "a name of its own, whatever the clock says"
    assert record.files == (("f", (file("l1"), file("r1", 4, 70), file("l2", 6, 9))), ("g", (file("r2"),)))
    assert record.logs == (LogRef(NO_LOG, 71),)
    assert record.generation == 8
    assert assigned(record, "s").logs == (LogRef("s", 71),)


def test_a_withheld_tablet_is_not_merged():
    withheld = replace(RIGHT, withheld_millis=5)
    with pytest.raises(InvalidRequest, match="tablet 30 is withheld, and a withheld tablet is not merged"):
        merging.neighbours([LEFT, withheld], [20, 30])
    assert merging.neighbours([LEFT, RIGHT], [20, 30]) == [LEFT, RIGHT]
    assert merging.is_at_rest(RIGHT)
    assert not merging.is_at_rest(withheld)


def test_sequences_go_on_above_both_even_if_a_redo_point_is_lower_than_a_file():
    marked = merging.marked(replace(LEFT, logs=()), RIGHT, 99)
    assert merging.merged(marked, replace(RIGHT, logs=()), 0).logs == (LogRef(NO_LOG, 71),)
    low = replace(RIGHT, logs=(LogRef(NO_LOG, 2),))
    assert merging.merged(marked, low, 0).logs == (LogRef(NO_LOG, 71),)


def test_only_what_is_at_rest_may_be_merged():
    assert merging.is_at_rest(LEFT)
    assert merging.is_at_rest(replace(LEFT, logs=()))
    assert not merging.is_at_rest(replace(LEFT, owner="s1"))
    assert not merging.is_at_rest(replace(LEFT, logs=(LogRef("s1", 4),))), "its last owner died: a log has more of it"
    assert not merging.is_at_rest(replace(LEFT, left=RIGHT))
    assert not merging.is_at_rest(replace(LEFT, absorbs=b"c"))


def test_neighbours_in_any_order_and_nothing_else():
    tablets = [
        TabletRecord(16, number, RowRange(start, stop), 0)
        for number, start, stop in ((5, b"", b"b"), (2, b"b", b"c"), (9, b"c", b"d"), (1, b"d", b""))
    ]
    assert merging.neighbours(tablets, [9, 2]) == tablets[1:3]
    for wrong in ([5, 9], [5, 5], [5], [], [5, 77], [5, 2, 1]):
        with pytest.raises(InvalidRequest):
            merging.neighbours(tablets, wrong)


def test_a_mark_that_was_taken_back_is_not_believed_when_it_comes_again():
    marked = merging.marked(LEFT, RIGHT, 99)
    back = merging.undone(marked)
    assert back.merges_into is None
    assert back.generation > LEFT.generation


def test_nobody_gets_a_tablet_that_is_half_way():
    marked = merging.marked(LEFT, RIGHT, 99)
    halves = [marked, merging.merged(marked, RIGHT, 0)]
    servers = {"s1": ServerLoad(frozenset())}
    assert plan(ClusterSnapshot(halves, servers)) == []
    assert len(plan(ClusterSnapshot([LEFT, replace(halves[1], absorbs=None)], servers))) == 2


# ---------------------------------------------------------------- interruptions


class Crash(Exception):
    pass


class Metadata:
    """Rows by their end, changed by comparison, and the ids that were given out."""

    def __init__(self):
        self.rows = {b"m": LEFT, b"": RIGHT}
        self.ids = itertools.count(100)
        self.now = 10_000

    def change(self, stop, expected, new):
        if self.rows.get(stop) != expected:
            raise Conflict("changed")
        if new is None:
            del self.rows[stop]
        else:
            self.rows[stop] = new


class View:
    """A master's way to METADATA. `before(number)` is called before each of its changes, with a call that does it."""

    def __init__(self, metadata, before=lambda number, change: change()):
        self.metadata = metadata
        self.before = before
        self.numbers = itertools.count()

    def read_table(self, name):
        return TableRecord(16, TableState.ENABLED, TableSchema(name, {b"f": FamilySchema(b"f")}))

    def tablet_rows(self):
        rows = sorted(self.metadata.rows.items(), key=lambda pair: pair[0] or b"\xff")
        return [row for _, row in rows if isinstance(row, TabletRecord)]

    def read_tablet(self, table_id, stop):
        row = self.metadata.rows.get(stop)
        return row if isinstance(row, TabletRecord) else None

    def replace_tablet(self, expected, record):
        assert expected.range.stop == record.range.stop
        self.before(next(self.numbers), lambda: self.metadata.change(expected.range.stop, expected, record))

    def retire_tablet(self, expected, gone):
        self.before(next(self.numbers), lambda: self.metadata.change(expected.range.stop, expected, gone))

    def forget_gone(self, gone):
        self.metadata.change(gone.range.stop, gone, None)


class Idle:
    """Nothing has to be unloaded, and nothing is loaded. `compacted`, `vacated`: what was asked for."""

    def __init__(self):
        self.compacted = []
        self.vacated = []

    def compact(self, record):
        self.compacted.append(record)

    def vacate(self, record, living, table, patience_seconds):
        self.vacated.append(record)

    def note(self, record, what, server, why): ...


NOBODY = ServerReports({}, frozenset(), {})


def merges_of(view, placement=None):
    return Merges(
        view,
        placement or Idle(),
        lambda: NOBODY,
        lambda name: nullcontext(),
        lambda table_id: view.tablet_rows(),
        lambda record: "",
        lambda: next(view.metadata.ids),
        lambda: view.metadata.now,
        lambda: None,
    )


def merge(view):
    try:
        merges_of(view).merge(b"t", [LEFT.tablet_id, RIGHT.tablet_id])
    except (OutcomeUnknown, Unavailable, InvalidRequest):  # no server takes it; or another master was faster
        pass


def settle(view):
    """What a master's cycle does until nothing is half-way."""
    for _ in range(10):
        unsettled = [row for row in view.tablet_rows() if row.is_merging()]
        if not unsettled:
            return
        for row in unsettled:
            try:
                merges_of(view).settle(row)
            except Conflict:
                continue
    raise AssertionError("it does not come to rest")


def serve(metadata, server, rows=(b"m", b""), split=True):
    """Every tablet, or those that end at `rows`, is owned, and its owner wrote a file; a merged one may be split
    at once, at the row of the old border."""
    for row in View(metadata).tablet_rows():
        assert not row.is_merging()
        if row.owner or row.range.stop not in rows:
            continue
        owned = assigned(row, server)
        written = (*owned.files, ("w", (file(f"written to {row.tablet_id}", 1000, 1000),)))
        owned = replace(owned, files=tuple(sorted(written)), logs=(LogRef(server, 1001),))
        if split and row.range == RowRange(b"", b""):
            left, right = split_records(owned, b"m", next(metadata.ids), next(metadata.ids), metadata.now)
            metadata.rows[b""] = replace(right, left=None)
            put_if_absent(metadata, left)
        else:
            metadata.rows[row.range.stop] = owned


def put_if_absent(metadata, record):
    """As Catalog.put_tablet_if_absent does it."""
    found = metadata.rows.get(record.range.stop)
    if found is None or (isinstance(found, GoneTablet) and record.generation >= found.generation):
        metadata.rows[record.range.stop] = record
        return True
    return False


def check(metadata, written):
    """Tiled, nobody twice, and each side has its files, those that were written since the merge included."""
    rows = View(metadata).tablet_rows()
    verify_tiling(rows)
    assert all(row.owner and not row.is_merging() for row in rows)
    for side, names in ((b"a", {"l1", "l2"}), (b"z", {"r1", "r2"})):
        (tablet,) = (row for row in rows if row.range.holds(side))
        assert names <= {ref.path for _, refs in tablet.files for ref in refs}
    named = {ref.path for row in rows for _, refs in row.files for ref in refs}
    assert written <= named


def written_to(metadata):
    return {
        ref.path
        for row in View(metadata).tablet_rows()
        for _, refs in row.files
        for ref in refs
        if ref.path.startswith("written")
    }


STEPS = 4


def test_a_merge_without_interruption_takes_four_changes_and_leaves_a_trace_for_a_day():
    metadata = Metadata()
    view = View(metadata)
    merge(view)
    assert next(view.numbers) == STEPS
    (merged,) = view.tablet_rows()
    assert merged.range == RowRange(b"", b"")
    assert not merged.is_merging()
    trace = metadata.rows[b"m"]
    assert not put_if_absent(metadata, LEFT), "a slow split repair does not bring the old tablet back"
    merges_of(view).forget_old([trace])
    assert metadata.rows[b"m"] == trace
    metadata.now += GONE_MILLIS
    merges_of(view).forget_old([trace])
    assert b"m" not in metadata.rows


def test_tablets_whose_deleted_ranges_one_record_has_no_room_for_are_compacted_or_left_as_they_are():
    """The commit was refused by METADATA, once they were out of service."""
    long = tuple(RangeDelete(row * 16_000, row * 16_000 + b"z", 5) for row in (b"b", b"d", b"p", b"r"))
    metadata = Metadata()
    for stop, record in (b"m", LEFT), (b"", RIGHT):
        refs = tuple(replace(file(f"{stop!r} {number}"), deleted=long) for number in range(15))
        metadata.rows[stop] = replace(record, files=(("f", refs),))
    before, placement = dict(metadata.rows), Idle()
    assert record_bytes([long]) * 15 < MAX_RECORD_BYTES, "each of them alone has room"
    with pytest.raises(Unavailable, match="nothing was merged: ranges of rows"):
        merges_of(View(metadata), placement).merge(b"t", [LEFT.tablet_id, RIGHT.tablet_id])
    assert placement.compacted == list(before.values()), "as it helped nothing here"
    assert placement.vacated == [], "they were out of service for a merge that could not be"
    assert metadata.rows == before


def test_ranges_that_were_deleted_while_the_tablets_were_unloaded_count_too():
    metadata = Metadata()
    long = tuple(RangeDelete(row * 16_000, row * 16_000 + b"z", 5) for row in (b"p", b"r"))
    refs = tuple(replace(file(str(number)), deleted=long) for number in range(60))

    class Deleting(Idle):
        def vacate(self, record, living, table, patience_seconds):
            super().vacate(record, living, table, patience_seconds)
            if record == RIGHT:
                metadata.rows[b""] = replace(RIGHT, files=(("f", refs),))

    placement = Deleting()
    with pytest.raises(Unavailable, match="nothing was merged: ranges of rows"):
        merges_of(View(metadata), placement).merge(b"t", [LEFT.tablet_id, RIGHT.tablet_id])
    assert placement.vacated == [LEFT, RIGHT]
    assert metadata.rows[b"m"] == LEFT


def test_what_may_be_merged_already_is_not_said_to_be_untouched():
    """Else a client would try again, and be told that there are no such tablets."""
    metadata = Metadata()
    with pytest.raises(OutcomeUnknown, match="no tablet server can take tablet 100"):
        merges_of(View(metadata)).merge(b"t", [LEFT.tablet_id, RIGHT.tablet_id])
    metadata = Metadata()
    metadata.rows[b""] = replace(RIGHT, owner="s1")
    with pytest.raises(Unavailable):
        merges_of(View(metadata)).merge(b"t", [LEFT.tablet_id, RIGHT.tablet_id])
    assert metadata.rows[b"m"] == LEFT


@pytest.mark.parametrize("applied", [False, True])
@pytest.mark.parametrize("step", range(STEPS))
def test_a_master_that_dies_at_a_change(step, applied):
    metadata = Metadata()

    def before(number, change):
        if number == step:
            if applied:
                change()
            raise Crash
        change()

    with pytest.raises(Crash):
        merge(View(metadata, before))
    settle(View(metadata))
    serve(metadata, "s1")
    check(metadata, written_to(metadata))


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("served", [(b"m", b""), (b"m",), (b"",), ()])
@pytest.mark.parametrize("late", range(5))
@pytest.mark.parametrize("step", range(STEPS))
def test_a_change_of_a_dead_master_that_arrives_late(step, late, served, split):
    """Its next master settles; before its change number `late`, or when it has placed the tablets that end at `served`,
    the old one's arrives."""
    metadata = Metadata()
    under_way = []

    def before(number, change):
        if number == step:
            under_way.append(change)
            raise Crash
        change()

    def arrive():
        while under_way:
            try:
                under_way.pop()()
            except Conflict:
                continue

    def before_mine(number, change):
        if number == late:
            arrive()
        change()

    with pytest.raises(Crash):
        merge(View(metadata, before))
    mine = View(metadata, before_mine)
    settle(mine)
    serve(metadata, "s1", served, split)
    written = written_to(metadata)
    arrive()
    settle(mine)
    serve(metadata, "s2", split=split)
    check(metadata, written)


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("step", range(STEPS))
@pytest.mark.parametrize("pause", range(8))
def test_two_masters_at_once(step, pause, again, split):
    """The first one sleeps before a change, while the second settles, up to its own change number `pause` or to the
    end, and serves; then the first goes on where it was. `again`: the second begins the same merge anew."""
    metadata = Metadata()
    written = set()

    def second_stops(number, change):
        if number == pause:
            raise Crash
        change()

    def second():
        view = View(metadata, second_stops)
        try:
            settle(view)
            if again:
                merge(view)
            serve(metadata, "s1", split=split)
        except Crash:
            pass
        written.update(written_to(metadata))

    def before(number, change):
        if number == step:
            second()
        change()

    merge(View(metadata, before))
    settle(View(metadata))
    serve(metadata, "s2", split=split)
    check(metadata, written)
