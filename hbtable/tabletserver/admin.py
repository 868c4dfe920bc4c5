"""What the master, and a shell through the client, ask of a tablet server (rpc.services.TabletAdmin).

Each call of a master carries the epoch of its lock. A smaller one than the highest seen comes from a master that was
deposed without noticing (bug class 10): it is refused, and with LockLost it learns that it must stop.
"""

from collections.abc import Callable

from hbtable.commitlog.runs import Run
from hbtable.errors import LockLost
from hbtable.model.schema import TableSchema
from hbtable.model.status import TabletStatus
from hbtable.model.tablet import TabletRecord
from hbtable.tabletserver.residence import Residence
from hbtable.tabletserver.split import Splitter


class Administration:
    """Implements rpc.services.TabletAdmin. `files_in_flight`: of all tablets of this server. `sort_part`: of the log of
    an incarnation (commitlog.sorting). `check` is Suspension.refuse."""

    def __init__(
        self,
        residence: Residence,
        splitter: Splitter,
        files_in_flight: set[str],
        check: Callable[[], None],
        sort_part: Callable[[str, bytes], Run],
    ) -> None:
        self._residence = residence
        self._splitter = splitter
        self._files_in_flight = files_in_flight
        self._check_lock = check
        self._sort_part = sort_part
        self._epoch = 0

    def load_tablet(self, epoch: int, record: TabletRecord, schema: TableSchema) -> None:
        self._check(epoch)
        self._residence.load(record, schema)

    def unload_tablet(self, epoch: int, tablet_id: int) -> None:
        self._check(epoch)
        self._residence.unload(tablet_id)

    def update_schema(self, epoch: int, table_id: int, schema: TableSchema) -> None:
        self._check(epoch)
        self._residence.update_schema(table_id, schema)

    def flush(self, tablet_id: int) -> None:
        self._check_lock()
        self._residence.served(tablet_id).flush()

    def compact(self, tablet_id: int, major: bool) -> None:
        self._check_lock()
        self._residence.served(tablet_id).compact(major)

    def split(self, tablet_id: int, split_row: bytes | None) -> bool:
        self._check_lock()
        return self._splitter.split(tablet_id, split_row)

    def sort_log_part(self, epoch: int, incarnation: str, part: bytes) -> Run:
        self._check(epoch)
        return self._sort_part(incarnation, part)

    def tablets(self) -> list[TabletStatus]:
        return [tablet.status() for tablet in self._residence.tablets.values()]

    def files_in_flight(self) -> set[str]:
        return set(self._files_in_flight)

    def _check(self, epoch: int) -> None:
        self._check_lock()
        if epoch < self._epoch:
            raise LockLost(f"a master of epoch {epoch} was succeeded by one of epoch {self._epoch}: it must stop")
        self._epoch = epoch
