"""Ranges of a tablet's rows are deleted under everything that runs beside it, and the histories of its rows tell of
each way to be wrong (harness/range_delete_races.py)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from hbtable.model.tablet import SSTableRef
from hbtable.tablet import range_deleting, recovery
from hbtable.tablet.compactions import compaction
from hbtable.tablet.compactions.writing import CompactionWriter
from hbtable.tablet.range_deleting import RangeDeleter
from hbtable.tablet.state import TabletState
from hbtable.tablet.writes.gate import Gate
from hbtable.tablet.writes.row_locks import RowLocks
from hbtable.tablet.writes.writing import TabletWriter
from tests.harness.fresh_seed import fresh_seed, slice_of
from tests.harness.range_delete_races import violations

SEEDS = 15
FRESH = 300
ENOUGH = 100
"""Seeds within which a bug must be found: it takes five at most."""


@pytest.mark.slow
def test_every_row_has_an_order() -> None:
    for seed in range(SEEDS):
        assert not violations(seed), seed


@pytest.mark.verify
def test_every_row_has_an_order_with_seeds_that_no_run_has_seen() -> None:
    first = fresh_seed()
    for seed in range(first, first + slice_of(FRESH)):
        assert not violations(seed), seed


Plant = Callable[[pytest.MonkeyPatch], None]


def compactions_go_on(patches: pytest.MonkeyPatch) -> None:
    """One that read its inputs before the delete brings the rows back."""
    patches.setattr(compaction, "deleted_since", lambda record, inputs, has_their_times=True: ())


def compactions_read_everything(patches: pytest.MonkeyPatch) -> None:
    """What was deleted as a range is written anew, and nothing says any more that it was deleted."""
    make_here = CompactionWriter._make_here

    def with_everything(self: CompactionWriter, sources: Any, *arguments: Any) -> Any:
        scans = [file.scan for file in sources.files]
        for file in sources.files:
            file.scan = file.reader.scan
        try:
            return make_here(self, sources, *arguments)
        finally:
            for file, scan in zip(sources.files, scans, strict=True):
                file.scan = scan

    patches.setattr(CompactionWriter, "_make_here", with_everything)


def reads_are_believed(patches: pytest.MonkeyPatch) -> None:
    """A counter goes on from what it was before its row was deleted."""
    patches.setattr(TabletWriter, "_check_as_read", lambda self, ranges_deleted: None)


def memtables_are_forgotten(patches: pytest.MonkeyPatch) -> None:
    """The second minor compaction is left out: the range is not deleted from what was written since the first."""
    delete = RangeDeleter.delete

    class Once:
        def __init__(self, compactor: Any) -> None:
            self.flush = compactor.flush

        def __getattribute__(self, name: str) -> Any:
            found = object.__getattribute__(self, name)
            self.flush = lambda: None
            return found

    def with_one_flush(self: RangeDeleter, *arguments: Any) -> None:
        compactor, self._compactor = self._compactor, Once(self._compactor)  # type: ignore[assignment]
        try:
            delete(self, *arguments)
        finally:
            self._compactor = compactor

    patches.setattr(RangeDeleter, "delete", with_one_flush)


def writers_go_on(patches: pytest.MonkeyPatch) -> None:
    patches.setattr(Gate, "hold", lambda self: None)


def what_is_on_its_way_is_forgotten(patches: pytest.MonkeyPatch) -> None:
    patches.setattr(RowLocks, "wait_until_idle", lambda self: None)


def children_forget(patches: pytest.MonkeyPatch) -> None:
    """A split's children read all of their parent's files."""
    adopt = recovery.adopt

    def forgetful(state: TabletState, parent: TabletState) -> None:
        adopt(state, parent)
        files = [file.ref for stack in state.version.stacks for file in stack.files if file.ref.deleted]
        state.install(state.version.with_refs({ref.path: replace(ref, deleted=()) for ref in files}))

    patches.setattr(recovery, "adopt", forgetful)


def starts_forget(patches: pytest.MonkeyPatch) -> None:
    opened = recovery._open

    def forgetful(state: TabletState, key: str, ref: SSTableRef, in_memory: bool) -> Any:
        return opened(state, key, replace(ref, deleted=()), in_memory)

    patches.setattr(recovery, "_open", forgetful)


def the_last_delete_counts(patches: pytest.MonkeyPatch) -> None:
    """Each range takes the place of those before it."""
    patches.setattr(range_deleting, "with_range", lambda ranges, added: (added,))


@pytest.mark.parametrize(
    "plant",
    [
        compactions_go_on,
        compactions_read_everything,
        reads_are_believed,
        memtables_are_forgotten,
        writers_go_on,
        what_is_on_its_way_is_forgotten,
        children_forget,
        starts_forget,
        the_last_delete_counts,
    ],
)
def test_a_planted_bug_is_found(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    assert any(violations(seed) for seed in range(ENOUGH))
