"""A tablet server's calls for the master, and for a shell through the client (rpc.services.TabletAdmin).

Each call of a master carries the epoch of its lock. A smaller one than the highest seen comes from a master that was
deposed without noticing (bug class 10): it is refused, and with LockLost it learns that it must stop. A greater one is
believed only if the lock service knows of it: else whoever reaches this port could shut out all masters to come.
"""

from collections.abc import Callable, Collection, Mapping
from itertools import chain
from typing import Final

from hbtable.commitlog.recovery.sorted_runs import SortedRun
from hbtable.errors import LockLost, SwitchedOff, Unavailable
from hbtable.model.schema import TableSchema
from hbtable.model.status import EVERY_TABLE, CacheEviction, ServedChanges, TabletStatus
from hbtable.model.tablet import TabletRecord
from hbtable.model.usage import FamilyUsage
from hbtable.quotas.settings import SpacePolicy
from hbtable.quotas.space import refused
from hbtable.rpc.services import TabletAdmin
from hbtable.runtime.interface import Runtime
from hbtable.runtime.slices import in_slices
from hbtable.sstable.cache import BlockCache
from hbtable.switches import switches
from hbtable.tablet.shared import COMPACTIONS_OFF, SharedState
from hbtable.tablet.tablet import Tablet
from hbtable.tabletserver.family_usage import family_usage
from hbtable.tabletserver.online_tablets import OnlineTablets
from hbtable.tabletserver.requested_compactions import RequestedCompactions
from hbtable.tabletserver.served_tablets import served_tablet
from hbtable.tabletserver.split import Splitter

_MANY_TABLETS: Final = 500
"""Of which an answer is made in a stretch of its own."""


class TabletServerAdmin(TabletAdmin):
    """Carries out the calls of TabletAdmin. `sort_range` sorts a range of the log of an incarnation
    (commitlog.sorting). `check` is Suspension.refuse. `master_epoch`: the epoch of the master's lock, 0 without a
    master. `merging` is Maintenance.merging, `roll_log` CommitLog.roll, `task_deaths` Deaths.ever."""

    def __init__(
        self,
        runtime: Runtime,
        online_tablets: OnlineTablets,
        splitter: Splitter,
        shared: SharedState,
        check: Callable[[], None],
        sort_range: Callable[[str, bytes], SortedRun],
        cache: BlockCache,
        merging: Callable[[], Collection[int]],
        roll_log: Callable[[], None],
        master_epoch: Callable[[], int],
        task_deaths: Callable[[], list[str]],
    ) -> None:
        self._runtime = runtime
        self._online_tablets = online_tablets
        self._splitter = splitter
        self._shared = shared
        self._check_lock = check
        self._sort_range = sort_range
        self._cache = cache
        self._merging = merging
        self._roll_log = roll_log
        self._master_epoch = master_epoch
        self._task_deaths = task_deaths
        self._asked = RequestedCompactions()
        self._epoch = 0

    @switches
    def load_tablet(self, epoch: int, record: TabletRecord, schema: TableSchema) -> None:
        self._check(epoch)
        self._online_tablets.load(record, schema)

    @switches
    def unload_tablet(self, epoch: int, tablet_id: int) -> None:
        self._check(epoch)
        self._online_tablets.unload(tablet_id, "the master asked for it")

    @switches
    def update_schema(self, epoch: int, table_id: int, schema: TableSchema) -> None:
        self._check(epoch)
        self._online_tablets.update_schema(table_id, schema)

    @switches
    def flush(self, tablet_id: int) -> None:
        self._check_lock()
        self._online_tablets.served(tablet_id).flush()

    @switches
    def compact(self, tablet_id: int, major: bool, family: bytes = b"") -> None:
        self._check_lock()
        if not self._shared.compactions_on:
            raise SwitchedOff(f"nothing was compacted: {COMPACTIONS_OFF}")
        tablet = self._online_tablets.served(tablet_id)
        if not self._shared.may_compact(tablet.schema.name):
            raise refused(SpacePolicy.NO_WRITES_COMPACTIONS, "Compactions")
        self._asked.run(tablet, major, family)

    @switches
    def roll_log(self) -> None:
        self._check_lock()
        self._roll_log()

    def switch_compactions(self, on: bool) -> bool:
        before, self._shared.compactions_on = self._shared.compactions_on, on
        self._shared.attention()
        return before

    @switches
    def split(self, tablet_id: int, split_row: bytes | None) -> bool:
        self._check_lock()
        return self._splitter.split(tablet_id, split_row)

    @switches
    def sort_log_part(self, epoch: int, dead_incarnation: str, part: bytes) -> SortedRun:
        self._check(epoch)
        return self._sort_range(dead_incarnation, part)

    @switches
    def tablets(self, table_id: int = EVERY_TABLE) -> list[TabletStatus]:
        """*Switches* among many. What is served when it ends, and nothing that was split or unloaded on the way."""
        merging = self._merging()
        found = {
            tablet: self._status(tablet, merging) for tablet in in_slices(self._runtime, self._tablets_of(table_id))
        }
        return [found.get(tablet) or self._status(tablet, merging) for tablet in self._tablets_of(table_id)]

    @switches
    def served_changes(self, since: int) -> ServedChanges:
        """*Switches* among many. As of when it ends."""
        tablets = self._online_tablets.tablets
        told = in_slices(self._runtime, tablets.to_tell(since))  # thousands, where a table was made just now
        before = {tablet: served_tablet(tablet) for tablet in told}
        if len(before) > _MANY_TABLETS:
            self._runtime.sleep(0)
        return tablets.changes_since(since, before)

    @switches
    def family_usage(self, table: bytes = b"") -> list[Mapping[str, str]]:
        """*Switches* among many."""
        return [one.texts() for one in self.accounts(table)]

    @switches
    def accounts(self, table: bytes = b"") -> list[FamilyUsage]:
        """As family_usage(). *Switches* among many."""
        served = self._online_tablets.tablets.values()
        wanted = [tablet for tablet in served if table in (b"", tablet.schema.name)]
        return family_usage(self._runtime, wanted, self._cache)

    def served_record(self, tablet_id: int) -> TabletRecord:
        return self._online_tablets.served(tablet_id).record

    def _tablets_of(self, table_id: int) -> list[Tablet]:
        served = self._online_tablets.tablets.values()
        return [tablet for tablet in served if table_id in (EVERY_TABLE, tablet.record.table_id)]

    def _status(self, tablet: Tablet, merging: Collection[int]) -> TabletStatus:
        tablet_id, asked = tablet.record.tablet_id, self._asked
        is_merging = tablet_id in merging or asked.is_merging(tablet_id)
        return tablet.status()._replace(merging=is_merging, major=asked.is_major(tablet_id))

    def files_in_flight(self) -> set[str]:
        return set(self._shared.files_in_flight)

    def clear_block_cache(self, table_id: int) -> CacheEviction:
        blocks = len(self._cache)
        for tablet in self._online_tablets.tablets.values():
            if tablet.record.table_id == table_id:
                for ref in chain.from_iterable(refs for _, refs in tablet.record.files):
                    self._cache.drop_file(ref.path)
        return CacheEviction(blocks - len(self._cache), self._cache.capacity_bytes)

    def task_deaths(self) -> list[str]:
        return self._task_deaths()

    def ping(self) -> None:
        """Answers also while the server is suspended, or stops: it can be reached."""

    @switches
    def _check(self, epoch: int) -> None:
        """*Switches* the first time that a master calls."""
        self._check_lock()
        if epoch < 1:  # or a server that has just started, and heard of no master yet, would take it
            raise LockLost(f"a master of epoch {epoch} never had the lock: it must stop")
        if epoch > self._epoch:
            self._learn(epoch)
        if epoch < self._epoch:
            raise LockLost(f"a master of epoch {epoch} was succeeded by one of epoch {self._epoch}: it must stop")

    @switches
    def _learn(self, epoch: int) -> None:
        """Unavailable, and not LockLost, for one that is not known: the lock service's server that this process asks
        may be behind the one by which the master got its lock."""
        known = self._master_epoch()
        self._check_lock()
        if known < epoch:
            raise Unavailable(f"the lock service knows of no master of epoch {epoch}, only of {known}; try again")
        self._epoch = max(self._epoch, known)
