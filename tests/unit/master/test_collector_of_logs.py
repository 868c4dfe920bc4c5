"""On a shared file system a log is fenced before it is deleted, and its marker outlives it."""

from hbtable.commitlog.fencing import marker_path
from hbtable.commitlog.manifest import manifest_path
from hbtable.fs.interface import HDFS
from hbtable.fs.memory import MemoryFileSystem
from hbtable.master.census import Census
from hbtable.master.collector import Collector, CollectorOptions
from hbtable.runtime.simulated import SimulatedRuntime

NAME = "00000001-gone"


class Shared:
    """A memory file system as one of kind hdfs, which notes what was there when a folder was deleted."""

    log_kind = HDFS

    def __init__(self, memory: MemoryFileSystem) -> None:
        self.memory = memory
        self.at_delete: list[tuple[bool, bool]] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self.memory, name)

    def delete_folder(self, folder: str) -> None:
        exists = self.memory.exists
        self.at_delete.append((exists(marker_path(NAME)), exists(manifest_path(folder))))
        self.memory.delete_folder(folder)


class EmptyCatalog:
    def all_tablet_rows(self) -> list[object]:
        return []

    def tables(self) -> list[object]:
        return []


def test_a_log_is_fenced_deleted_and_its_marker_goes_much_later() -> None:
    runtime = SimulatedRuntime(1)
    fs = Shared(MemoryFileSystem(runtime))
    options = CollectorOptions(marker_seconds=1000.0)
    nobody = Census({}, frozenset(), {}, [])

    def collect() -> list[str]:
        collector = Collector(runtime, fs, EmptyCatalog(), None, lambda: None, options)  # type: ignore[arg-type]
        return collector.collect(lambda: nobody)[1]

    def main() -> None:
        fs.memory.write_file(f"logs/{NAME}/0000000001.log", b"nobody needs this")
        assert collect() == [NAME]
        assert fs.at_delete == [(True, True)]
        assert fs.memory.list_files("logs") == []
        assert collect() == []
        assert fs.memory.exists(marker_path(NAME))
        runtime.sleep(1001)
        assert collect() == []
        assert not fs.memory.exists(marker_path(NAME))

    runtime.run(main)
