"""Which of the root tablet's two records is an old one: the start and `hbtable check` answer alike."""

import pytest

from hbtable.metadata.root_copy import is_older, was_put_back, with_flushes_of
from hbtable.model.ranges import RowRange
from hbtable.model.tablet import NO_LOG, LogRef, SSTableRef, TabletRecord


def record(generation: int, owner: str = "", last_sequence: int = 0) -> TabletRecord:
    files = (("f", (SSTableRef("a", 1, 1, 0, last_sequence, 1),)),) if last_sequence else ()
    return TabletRecord(0, 1, RowRange(), 1, owner, generation, files)


@pytest.mark.parametrize(
    ("root", "copy", "put_back"),
    [
        (record(3, "s"), record(3, "s"), False),
        (record(3, "s"), record(4), False),  # it is being given up
        (record(3), record(4, "s"), False),  # it is being taken
        (record(3), record(4), True),
        (record(3, "s"), record(5, "s"), True),
        (record(3, "s", 5), record(4, "s", 9), True),  # a change of owners flushes nothing
        (record(4, "s"), record(3, "s"), False),
    ],
)
def test_a_copy_is_one_change_ahead_at_most(root: TabletRecord, copy: TabletRecord, put_back: bool) -> None:
    assert was_put_back(root, copy) is put_back
    assert is_older(root, copy) is (copy.generation > root.generation)


def flushed(generation: int, owner: str, first_needed: int, *files: str) -> TabletRecord:
    refs = tuple(SSTableRef(path, 1, 1, 0, first_needed - 1, 1) for path in files)
    return TabletRecord(
        0, 1, RowRange(), 1, owner, generation, (("f", refs),), (LogRef(owner or NO_LOG, first_needed),)
    )


@pytest.mark.parametrize(
    ("root", "copy", "newest"),
    [
        (flushed(2, "s", 9, "a"), flushed(2, "s", 9, "a"), flushed(2, "s", 9, "a")),
        (flushed(2, "s", 9, "a"), flushed(2, "s", 20, "b"), flushed(2, "s", 20, "b")),
        (flushed(2, "s", 9, "a"), flushed(2, "s", 20), flushed(2, "s", 20)),  # it left no file: all was deleted
        (flushed(2, "s", 9, "a"), flushed(2, "", 20, "b"), flushed(2, "s", 20, "b")),  # given up, or not quite
        (flushed(2, "", 9, "a"), flushed(2, "", 20, "b"), flushed(2, "", 20, "b")),
        (flushed(2, "s", 20, "b"), flushed(2, "s", 9, "a"), flushed(2, "s", 20, "b")),  # the copy is the old one
        (flushed(2, "s", 9, "a"), flushed(3, "t", 20, "b"), flushed(2, "s", 9, "a")),  # was_put_back() tells
    ],
)
def test_flushes_that_the_copy_alone_tells_of_are_taken_over(
    root: TabletRecord, copy: TabletRecord, newest: TabletRecord
) -> None:
    assert with_flushes_of(copy, root) == newest
