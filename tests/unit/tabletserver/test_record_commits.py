"""Commits of a tablet's record: who else may have changed the row, and what follows."""

from dataclasses import replace

import pytest

from hbtable.errors import Conflict
from hbtable.model.ranges import RowRange
from hbtable.model.tablet import LogRef, SSTableRef, TabletRecord
from hbtable.tabletserver.commits import RecordCommits
from hbtable.tabletserver.split import split_records

OLD = TabletRecord(16, 22, RowRange(b"m", b""), 0, "s", 3, logs=(LogRef("s", 1),))
NEW = replace(OLD, logs=(LogRef("s", 9),))
LEFT = replace(OLD, tablet_id=21, range=RowRange(b"", b"m"))


class Rows:
    """The catalog as far as commits need it: rows by end."""

    def __init__(self, *records):
        self.rows = {record.range.stop: record for record in records}
        self.written = 0

    def replace_tablet(self, expected, record):
        if self.rows.get(record.range.stop) != expected:
            raise Conflict("another one")
        self.rows[record.range.stop] = record
        self.written += 1

    def read_tablet(self, table_id, end_row):
        return self.rows.get(end_row)


def commits_over(rows):
    lost = []
    return RecordCommits(rows, lost.append), lost


def test_a_commit_replaces_the_row():
    rows = Rows(OLD)
    commits, lost = commits_over(rows)
    commits.commit(OLD, NEW)
    assert (rows.rows[b""], lost) == (NEW, [])


def test_a_commit_that_was_applied_already_is_fine():
    commits, lost = commits_over(Rows(NEW))
    commits.commit(OLD, NEW)
    assert lost == []


def test_a_split_repair_of_someone_else_does_not_disturb():
    rows = Rows(OLD)  # the embedded left child was cleared behind our back
    commits, lost = commits_over(rows)
    commits.commit(replace(OLD, left=LEFT), replace(NEW, left=LEFT))
    assert (rows.rows[b""], lost) == (NEW, [])


@pytest.mark.parametrize("ours", [None, LEFT])
@pytest.mark.parametrize("theirs", [None, LEFT])
def test_a_change_that_changes_nothing_is_written(ours, theirs):
    """It settles what was refused before: that is behind it in METADATA's log, and never comes back."""
    rows = Rows(replace(OLD, left=theirs))
    commits, lost = commits_over(rows)
    commits.commit(replace(OLD, left=ours), replace(OLD, left=ours))
    assert (rows.written, rows.rows[b""], lost) == (1, replace(OLD, left=theirs), [])


def test_an_embedded_child_that_we_do_not_know_stays():
    rows = Rows(replace(OLD, left=LEFT))
    commits, _ = commits_over(rows)
    commits.commit(OLD, NEW)
    assert rows.rows[b""] == replace(NEW, left=LEFT)


@pytest.mark.parametrize("row", [replace(OLD, owner="other", generation=4), None])
def test_another_owner_is_noticed(row):
    rows = Rows(*([row] if row else []))
    commits, lost = commits_over(rows)
    with pytest.raises(Conflict):
        commits.commit(OLD, NEW)
    assert lost == [OLD]


def test_a_left_child_waits_until_its_row_stands():
    rows = Rows()
    commits, _ = commits_over(rows)
    commits.before(21, lambda: rows.rows.setdefault(b"m", LEFT))
    changed = replace(LEFT, logs=())
    commits.commit(LEFT, changed)
    assert rows.rows[b"m"] == changed


def test_a_left_child_that_is_split_waits_for_its_row_as_well():
    rows = Rows()
    commits, lost = commits_over(rows)
    commits.before(21, lambda: rows.rows.setdefault(b"m", LEFT))
    _, right = split_records(LEFT, b"d", 30, 31, 77)
    commits.commit(LEFT, right)
    assert (rows.rows[b"m"], lost) == (right, [])


def test_children_share_the_files_and_go_on_with_the_sequence():
    files = (("f", (SSTableRef("x", 1, 0, 1, 8, 1),)),)
    parent = replace(OLD, range=RowRange(b"a", b"z"), files=files)
    left, right = split_records(parent, b"m", 30, 31, 77)
    assert (left.range, right.range) == (RowRange(b"a", b"m"), RowRange(b"m", b"z"))
    assert left.files == right.files == files
    assert left.logs == right.logs == (LogRef("s", 1),)
    assert (left.tablet_id, right.tablet_id, right.left, left.left) == (30, 31, left, None)
    assert left.owner == right.owner == "s"


def test_a_second_split_is_committed_after_the_first_one_was_finished():
    rows = Rows(replace(OLD, left=LEFT))
    rows.put_tablet_if_absent = lambda record: rows.rows.setdefault(record.range.stop, record)
    commits, _ = commits_over(rows)
    next_left, next_right = split_records(OLD, b"t", 30, 31, 77)
    commits.commit(OLD, next_right)
    assert rows.rows == {b"": next_right, b"m": LEFT}
    assert next_right.left == next_left
