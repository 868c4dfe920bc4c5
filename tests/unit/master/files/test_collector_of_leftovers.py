"""What writes that were cut off leave behind on a shared file system goes by age, as two clocks have it."""

import pytest

from hbtable.commitlog.recovery.fencing import marker_path
from hbtable.errors import LockLost
from hbtable.fs.interface import HDFS, LOCAL, FileStatus
from hbtable.fs.memory import MemoryFileSystem
from hbtable.master.files.collector import Collector, CollectorOptions
from hbtable.master.servers.server_reports import ServerReports
from hbtable.model.ranges import RowRange
from hbtable.model.tablet import TabletRecord
from hbtable.testing.simulated.runtime import SimulatedRuntime

AGE = 1000.0
OPTIONS = CollectorOptions(marker_seconds=AGE, leftover_seconds=AGE)


class Shared:
    """A memory file system of another kind, whose clock is `ahead_millis` ahead of this machine's."""

    def __init__(self, memory: MemoryFileSystem, log_kind: str = HDFS) -> None:
        self.memory = memory
        self.log_kind = log_kind
        self.ahead_millis = 0
        self.jumped_millis = 0
        """What is new is stamped with a time so far ahead of what was there."""
        self.probed = 0
        self.folders_deleted: list[str] = []

    def delete_folder(self, folder: str) -> None:
        self.folders_deleted.append(folder)
        self.memory.delete_folder(folder)

    def __getattr__(self, name: str) -> object:
        return getattr(self.memory, name)

    def status(self, path: str) -> FileStatus:
        status = self._by_its_clock(self.memory.status(path))
        if not path.startswith("probes/"):
            return status
        self.probed += 1
        return status._replace(modified_millis=status.modified_millis + self.jumped_millis)

    def list_files(self, folder: str) -> list[FileStatus]:
        return [self._by_its_clock(status) for status in self.memory.list_files(folder)]

    def _by_its_clock(self, status: FileStatus) -> FileStatus:
        return status._replace(modified_millis=status.modified_millis + self.ahead_millis)


class EmptyCatalog:
    def all_tablet_rows(self) -> list[object]:
        return []

    def tables(self) -> list[object]:
        return []


class World:
    def __init__(self, log_kind: str = HDFS) -> None:
        self.runtime = SimulatedRuntime(1)
        self.fs = Shared(MemoryFileSystem(self.runtime), log_kind)

    def collect(self) -> str:
        collector = Collector(self.runtime, self.fs, EmptyCatalog(), None, lambda: None, OPTIONS)  # type: ignore[arg-type]
        return collector.collect(lambda: ServerReports({}, frozenset(), {}))[0]

    def put(self, *paths: str) -> None:
        for path in paths:
            self.fs.memory.write_file(path, b"half a fi")

    def there(self) -> list[str]:
        return [status.path for status in self.fs.memory.list_files("")]


def in_world(test, log_kind: str = HDFS) -> None:
    world = World(log_kind)
    world.runtime.run(lambda: test(world))


def test_what_was_cut_off_goes_after_a_while() -> None:
    def test(world: World) -> None:
        world.put("unfinished/1", "probes/2", "front-door/h-1/scanners", "metadata/root-tablet")
        world.runtime.sleep(AGE - 60)
        world.put("unfinished/3")
        assert world.collect() == ""
        world.runtime.sleep(61)
        assert "3 left-over files" in world.collect()
        assert world.there() == ["metadata/root-tablet", "unfinished/3"]

    in_world(test)


def test_nothing_is_written_to_ask_for_the_time_while_nothing_is_old() -> None:
    def test(world: World) -> None:
        world.put("unfinished/1", marker_path("00000001-a"))
        world.collect()
        assert world.fs.probed == 0

    in_world(test)


def test_a_master_whose_clock_is_ahead_takes_nothing_that_is_new() -> None:
    def test(world: World) -> None:
        world.fs.ahead_millis = -int(2 * AGE * 1000)
        world.put("unfinished/1", marker_path("00000001-a"))
        assert world.collect() == ""
        assert world.there() == [marker_path("00000001-a"), "unfinished/1"]
        world.runtime.sleep(AGE + 1)
        world.collect()
        assert world.there() == []

    in_world(test)


def test_a_master_whose_clock_is_behind_waits() -> None:
    def test(world: World) -> None:
        world.put("unfinished/1")
        world.runtime.sleep(AGE + 1)
        world.fs.ahead_millis = int(AGE * 1000)
        world.collect()
        assert world.there() == ["unfinished/1"]

    in_world(test)


def test_a_file_system_whose_clock_just_jumped_loses_nothing_that_is_new() -> None:
    def test(world: World) -> None:
        world.put("unfinished/1")
        world.runtime.sleep(AGE + 1)
        world.put("unfinished/2")
        world.fs.jumped_millis = int(10 * AGE * 1000)
        world.collect()
        assert world.there() == ["unfinished/2"]

    in_world(test)


def test_a_data_folder_of_one_machine_is_left_alone() -> None:
    def test(world: World) -> None:
        world.put("unfinished/1", "front-door/scanners")
        world.runtime.sleep(2 * AGE)
        world.collect()
        assert world.there() == ["front-door/scanners", "unfinished/1"]

    in_world(test, LOCAL)


class CatalogOfOneLeftOver(EmptyCatalog):
    def __init__(self) -> None:
        self.rows = [TabletRecord(16, 22, RowRange(), 0)]

    def all_tablet_rows(self) -> list[object]:
        return list(self.rows)

    def delete_tablet(self, record: TabletRecord) -> None:
        self.rows.remove(record)


def test_a_master_whose_lease_ran_out_during_its_scans_takes_no_row_for_a_left_over() -> None:
    """Its successor may have written the row, and be about to write the name row that points at it."""

    def test(world: World) -> None:
        catalog, valid = CatalogOfOneLeftOver(), [False]

        def check() -> None:
            if not valid[0]:
                raise LockLost("the master lost its lock")

        collector = Collector(world.runtime, world.fs, catalog, None, check, OPTIONS)  # type: ignore[arg-type]
        with pytest.raises(LockLost):
            collector.collect(lambda: ServerReports({}, frozenset(), {}))
        assert catalog.rows
        valid[0] = True
        collector.collect(lambda: ServerReports({}, frozenset(), {}))
        assert not catalog.rows

    in_world(test)


def test_the_trash_goes_with_its_folders() -> None:
    deleted: list[str] = []

    def test(world: World) -> None:
        world.fs.delete_folder = deleted.append  # type: ignore[attr-defined]
        now = world.runtime.wall_millis()
        world.put(f"trash/{now}/sstables/00000010/a.sst", f"trash/{now}/sstables/00000010/b.sst", "trash/mine/c")
        world.runtime.sleep(61)
        world.put(f"trash/{now + 61_000}/sstables/00000010/d.sst")
        assert "2 files left the trash" in world.collect()
        assert deleted == [f"trash/{now}"]

    in_world(test)


@pytest.mark.parametrize("log_kind", [HDFS, LOCAL])
def test_the_folder_of_a_dropped_table_goes_with_its_last_file_unless_it_holds_a_file_of_others(log_kind: str) -> None:
    def test(world: World) -> None:
        world.put(
            "sstables/00000010/1.sst", "sstables/00000010/2.sst", "sstables/00000011/3.sst", "sstables/00000011/note"
        )
        world.collect()
        assert world.fs.folders_deleted == ["sstables/00000010"]
        assert [path for path in world.there() if path.startswith("sstables")] == ["sstables/00000011/note"]

    in_world(test, log_kind)
