"""What has to be written on a full disk must not keep files from going, which make the room for it."""

from hbtable.errors import OutOfSpace
from hbtable.fs.memory import MemoryFileSystem
from hbtable.master.files.collector import Collector, CollectorOptions
from hbtable.master.servers.server_reports import ServerReports
from hbtable.model.ranges import RowRange
from hbtable.model.tablet import TabletRecord
from hbtable.testing.simulated.runtime import SimulatedRuntime

LEFT_OVER = TabletRecord(20, 30, RowRange(b"", b""), 1)
GARBAGE = "sstables/00000011/00000001-aaaaaaaa-000001.sst"


class FullCatalog:
    """A row of a table without a name row, which there is no room to delete while the garbage is there."""

    def __init__(self, fs: MemoryFileSystem) -> None:
        self._fs = fs
        self.rows = [LEFT_OVER]

    def all_tablet_rows(self) -> list[TabletRecord]:
        return list(self.rows)

    def tables(self) -> list[object]:
        return []

    def delete_tablet(self, record: TabletRecord) -> None:
        if self._fs.exists(GARBAGE):
            raise OutOfSpace("no room left for the log")
        self.rows.remove(record)


def test_files_go_though_there_is_no_room_to_delete_a_row() -> None:
    runtime = SimulatedRuntime(1)
    fs = MemoryFileSystem(runtime)

    def main() -> None:
        catalog = FullCatalog(fs)
        collector = Collector(runtime, fs, catalog, None, lambda: None, CollectorOptions())  # type: ignore[arg-type]
        fs.write_file(GARBAGE, bytes(1000))
        for _ in range(2):
            collector.collect(lambda: ServerReports({}, frozenset(), {}), out_of_space=True)
        assert (fs.exists(GARBAGE), catalog.rows) == (False, [])

    runtime.run(main)
