"""Gives back what earlier starts on a full disk took, before the present one takes anything: any number of them may
have died on the way.

    delete    files that nobody names: what a flush of METADATA left that was cut off
    flush     METADATA, its root last: it is small, and its changes are most of what those starts wrote
    merge     its files, when there are several
    empty     the logs in which nothing is needed any more (servers/needless_logs.py)
    delete    what these steps replaced

Each step needs less room than the next start's METADATA rows take, and leaves nothing but files that the first step of
the next start deletes. User tablets come after it: their rows are what takes the room.
"""

import logging
from collections.abc import Callable
from typing import Final, final

from hbtable.errors import HbtableError, LockLost
from hbtable.fs.interface import FileSystem
from hbtable.master.files.garbage import MetadataScan
from hbtable.master.servers.needless_logs import empty_needless_logs
from hbtable.master.servers.server_reports import ServerReports
from hbtable.metadata.catalog import Catalog
from hbtable.model.tablet import METADATA_TABLE_ID, ROOT_TABLET_ID, TabletRecord
from hbtable.rpc.transport import Transport
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches

log = logging.getLogger(__name__)

_MERGED_FILES: Final = 3
"""So many SSTables of one METADATA tablet become one."""


@final
class FullDiskStart:
    """Gives back once, while `out_of_space`. `collect` is one garbage collection. `expire`: False when a server lives
    after all."""

    def __init__(
        self,
        runtime: Runtime,
        fs: FileSystem,
        catalog: Catalog,
        transport: Transport,
        collect: Callable[[], object],
        expire: Callable[[str], bool],
    ) -> None:
        self._runtime = runtime
        self._fs = fs
        self._catalog = catalog
        self._transport = transport
        self._collect = collect
        self._expire = expire
        self._done = False
        self.emptied: set[str] = set()
        """Logs in which nothing is needed: the next record of a tablet does not name them."""

    @switches
    def give_back(self, reports: ServerReports, out_of_space: bool) -> None:
        """METADATA is served, and no user tablet yet. What fails is left to the next start. *Switches* for long."""
        if self._done:
            return
        self._done = True
        if not out_of_space:
            return
        for step in (self._collect, self._flush, lambda: self._empty(reports), self._collect):
            try:
                step()
            except LockLost:
                raise
            except HbtableError as error:
                log.warning(
                    "the disk is full, and this start could not give back all that earlier ones took: %s", error
                )

    @switches
    def _flush(self) -> None:
        tablets = self._catalog.tablet_rows(METADATA_TABLE_ID)
        for tablet in sorted(tablets, key=lambda tablet: tablet.tablet_id == ROOT_TABLET_ID):
            admin = self._transport.tablet_admin(tablet.owner)
            admin.flush(tablet.tablet_id)
            if _has_many_files(admin.served_record(tablet.tablet_id)):
                admin.compact(tablet.tablet_id, True)
        admin.flush(ROOT_TABLET_ID)  # the merges changed it

    @switches
    def _empty(self, reports: ServerReports) -> None:
        scan = MetadataScan(tuple(self._catalog.all_tablet_rows()))
        living = reports.living | reports.starting
        self.emptied |= empty_needless_logs(self._fs, scan, self._expire, living, lambda: self._runtime.sleep(0))


def _has_many_files(record: TabletRecord) -> bool:
    return any(len(files) >= _MERGED_FILES for _, files in record.files)
