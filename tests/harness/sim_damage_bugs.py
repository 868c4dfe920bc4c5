"""Bugs of the kinds that the simulation of damage (sim_damaged.py) has to find, each put in the place of a right part
while a seed runs.

    passing over    an SSTable that cannot be opened is taken for none
    closing         an SSTable that cannot be opened closes its whole tablet, to writes, too
    nameless        whoever is refused is not told which file it is
    forgiving       what a log lost is passed over
    no mark         nobody looks at the mark of a log, which tells of a lost end
    old root        the root tablet's record is believed, however old it is
    flushed root    the root tablet's record is believed, though its owner flushed since
    old files       files that were put back below a newer lock service are believed
    new counters    a lost counter begins again, and nobody looks at the numbers in use
    clocks          a tablet's time begins with what the wall clock says
    any clock       a server starts with whatever clock it finds
    one group       SSTables of an earlier grouping of the families are forgotten
    unmarked        that a tablet is withheld is not read from its record
    ownerless       files of withheld tablets are taken for garbage
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

from hbtable.commitlog.recovery import reading
from hbtable.commitlog.recovery.gaps import Gap
from hbtable.encoding import tablet_record
from hbtable.errors import Corruption, DataDamaged
from hbtable.master import bootstrap, master
from hbtable.master.files.garbage import MetadataScan
from hbtable.master.new_ids import NewIds
from hbtable.metadata import catalog
from hbtable.metadata.id_allocator import IdAllocator
from hbtable.metadata.numbers_in_use import NumbersInUse
from hbtable.model.tablet import TabletRecord
from hbtable.tablet import recovery
from hbtable.tablet.damage import Damage, DamagedFiles
from hbtable.tablet.writes.clock import TabletClock
from hbtable.tabletserver import role
from tests.harness.sim_damaged import run_damaged_seed
from tests.harness.sim_schedule import Outcome
from tests.harness.sim_withheld import WITHHELD

_decode_row, _everyone = tablet_record.decode_row, MetadataScan.everyone
_open, _open_files, _install_files = recovery._open, recovery._open_files, recovery._install_files


def _open_some(state: Any) -> None:
    _open_files(state)
    for stack in state.version.stacks:
        stack.files = tuple(file for file in stack.files if not isinstance(file.reader, recovery.UnreadableFile))


def _open_all_or_none(state: Any, key: Any, ref: Any, in_memory: bool) -> Any:
    file = _open(state, key, ref, in_memory)
    if isinstance(file.reader, recovery.UnreadableFile):
        raise file.reader.error()
    return file


def _forget_earlier_groups(state: Any, files: Any) -> None:
    known = {stack.key for stack in state.version.stacks}
    _install_files(state, {key: some for key, some in files.items() if key in known})


def _nameless(self: Damage, tablet_id: int, table: str) -> DataDamaged:
    return DataDamaged("a file", 0, f"something of tablet {tablet_id} of table {table} is damaged", *self.rows)


def _raise(self: DamagedFiles, error: Corruption) -> Corruption:
    return error


def _forgives(self: Gap, tablet_id: int, first_needed: int, behind_the_mark: bool = True) -> bool:
    return False


def _unmarked(data: bytes, path: str) -> Any:
    found = _decode_row(data, path)
    return replace(found, withheld_millis=0) if isinstance(found, TabletRecord) else found


def _who_serve(self: MetadataScan) -> list[Any]:
    return [record for record in _everyone(self) if not record.withheld_millis]


def _believe(runtime: Any, fs: Any, wall_millis: Any, max_skew_seconds: float) -> None:
    """Whatever it says."""


@dataclass(frozen=True)
class DamageBug:
    """`kinds` of damage that its story needs, and what has to happen before it; `patches`: (where, name, what stands
    there)."""

    kinds: tuple[str, ...]
    patches: tuple[tuple[Any, str, Any], ...]
    chores: tuple[str, ...] = ()
    counted: bool = False


DAMAGE_BUGS = {
    "passing over": DamageBug(("sstable cut", "sstable lost"), ((recovery, "_open_files", _open_some),)),
    "closing": DamageBug(("sstable lost",), ((recovery, "_open", _open_all_or_none),)),
    "nameless": DamageBug(("sstable flipped", "sstable lost"), ((Damage, "error", _nameless),)),
    "forgiving": DamageBug(("log end lost",), ((Gap, "may_have_lost", _forgives),)),
    "no mark": DamageBug(
        ("log end lost",),
        ((reading, "read_high_water", lambda fs, folder, tell=None: None),),
    ),
    "old root": DamageBug(("locks older", "root older"), ((bootstrap, "refuse_old_root", lambda fs, root: None),)),
    "flushed root": DamageBug(
        ("root older",),
        ((catalog, "with_flushes_of", lambda copy, root: root),),
    ),
    "old files": DamageBug(
        ("files older",), ((bootstrap, "refuse_older_files", lambda session, fs: None),), counted=True
    ),
    "new counters": DamageBug(
        ("counter lost",),
        (
            (NewIds, "_known", lambda self: NumbersInUse()),
            (NewIds, "table", lambda self: self._tables.next()),
            (IdAllocator, "raise_to", lambda self, least: False),
        ),
    ),
    "clocks": DamageBug(("clocks behind",), ((TabletClock, "restore", lambda self, highest: None),)),
    "any clock": DamageBug(
        ("clocks ahead",),
        ((role, "refuse_other_time", _believe), (master, "refuse_other_time", _believe)),
    ),
    "unmarked": DamageBug((WITHHELD,), ((tablet_record, "decode_row", _unmarked),)),
    "ownerless": DamageBug((WITHHELD,), ((MetadataScan, "everyone", _who_serve),)),
    "one group": DamageBug((), ((recovery, "_install_files", _forget_earlier_groups),), ("regroup",)),
}


@contextmanager
def _planted(bug: DamageBug) -> Iterator[None]:
    with ExitStack() as stack:
        for where, name, wrong in bug.patches:
            stack.enter_context(patch.object(where, name, wrong))
        yield


def run_damaged_with(name: str, seed: int, on: bool = True) -> Outcome:
    """A seed with this bug switched on, or with the same damage without it."""
    bug = DAMAGE_BUGS[name]
    with _planted(bug) if on else nullcontext():
        return run_damaged_seed(seed, kinds=bug.kinds, chores=bug.chores, counted=bug.counted)
