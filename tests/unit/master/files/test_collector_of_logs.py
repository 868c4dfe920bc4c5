"""On a shared file system a log is fenced before it is deleted, and its marker outlives it."""

from hbtable.commitlog.recovery.fencing import fence, marker_path
from hbtable.commitlog.recovery.manifest import manifest_path
from hbtable.fs.interface import HDFS
from hbtable.fs.memory import MemoryFileSystem
from hbtable.master.files.collector import Collector, CollectorOptions
from hbtable.master.servers.server_reports import ServerReports
from hbtable.model.ranges import RowRange
from hbtable.model.tablet import LogRef, TabletRecord
from hbtable.testing.simulated.runtime import SimulatedRuntime

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


class SomeCatalog:
    """Names the log's tablet from scan number `named_from` on."""

    def __init__(self, named_from: float = float("inf")) -> None:
        self.named_from = named_from
        self.scans = 0

    def all_tablet_rows(self) -> list[TabletRecord]:
        self.scans += 1
        record = TabletRecord(16, 22, RowRange(), 0, NAME, 3, logs=(LogRef(NAME, 1),))
        return [record] if self.scans >= self.named_from else []

    def tables(self) -> list[object]:
        return []


def test_a_log_is_fenced_deleted_and_its_marker_goes_much_later() -> None:
    runtime = SimulatedRuntime(1)
    fs = Shared(MemoryFileSystem(runtime))
    options = CollectorOptions(marker_seconds=1000.0)
    nobody = ServerReports({}, frozenset(), {})

    def collect() -> list[str]:
        collector = Collector(runtime, fs, SomeCatalog(), None, lambda: None, options)  # type: ignore[arg-type]
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


def test_the_log_of_a_server_that_is_starting_is_left_alone() -> None:
    runtime = SimulatedRuntime(1)
    fs = Shared(MemoryFileSystem(runtime))
    reports = ServerReports({}, frozenset(), {}, frozenset({NAME}))

    def main() -> None:
        fs.memory.write_file(f"logs/{NAME}/0000000001.log", b"just begun")
        collector = Collector(runtime, fs, SomeCatalog(), None, lambda: None, CollectorOptions())  # type: ignore[arg-type]
        assert collector.collect(lambda: reports)[:2] == ("", [])
        assert not fs.memory.exists(marker_path(NAME))

    runtime.run(main)


def test_a_log_whose_server_got_tablets_meanwhile_is_fenced_and_stays() -> None:
    """It began after the list of servers. What it acknowledged until the fence is recovered from its log."""
    runtime = SimulatedRuntime(1)
    fs = Shared(MemoryFileSystem(runtime))
    nobody = ServerReports({}, frozenset(), {})

    def main() -> None:
        path = f"logs/{NAME}/0000000001.log"
        fs.memory.write_file(path, b"acknowledged")
        catalog = SomeCatalog(named_from=3)
        collector = Collector(runtime, fs, catalog, None, lambda: None, CollectorOptions())  # type: ignore[arg-type]
        assert collector.collect(lambda: nobody)[1] == []
        assert fs.memory.exists(path)
        assert fs.memory.exists(marker_path(NAME))
        manifest = fence(runtime, fs, NAME)  # type: ignore[arg-type]
        assert [file.name for file in manifest.files] == ["0000000001.log"]

    runtime.run(main)


def test_a_log_that_is_named_after_it_was_deleted_is_empty_whatever_its_server_still_wrote() -> None:
    runtime = SimulatedRuntime(1)
    fs = Shared(MemoryFileSystem(runtime))
    nobody = ServerReports({}, frozenset(), {})

    def main() -> None:
        fs.memory.write_file(f"logs/{NAME}/0000000001.log", b"the first file of a server that starts")
        collector = Collector(runtime, fs, SomeCatalog(), None, lambda: None, CollectorOptions())  # type: ignore[arg-type]
        assert collector.collect(lambda: nobody)[1] == [NAME]
        fs.memory.write_file(f"logs/{NAME}/0000000002.log", b"its second, which it cannot acknowledge")
        assert fence(runtime, fs, NAME).files == ()  # type: ignore[arg-type]

    runtime.run(main)
