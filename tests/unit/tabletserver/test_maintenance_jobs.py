"""Maintenance does each job once: what it planned while another one ran is looked at anew when that ends."""

from math import inf
from types import SimpleNamespace
from typing import Any

from hbtable.errors import Unavailable
from hbtable.metrics.registry import Registry
from hbtable.tablet.shared import SharedState
from hbtable.tabletserver.maintenance import Maintenance
from hbtable.tabletserver.maintenance_plan import MaintenanceOptions
from hbtable.testing.simulated.runtime import SimulatedRuntime

MIB = 1 << 20


class JobsOfTablet:
    """A tablet as maintenance sees it, whose jobs take seconds; they stand in `done` with the bytes they began with."""

    damaged = ()
    dead_cells_met = 0
    needs_old_logs = False
    memtable_age_seconds = 0.0

    def __init__(self, runtime: SimulatedRuntime, tablet_id: int, memtable_bytes: int = 0, file_bytes: int = 0) -> None:
        self.runtime = runtime
        self.record = SimpleNamespace(tablet_id=tablet_id, table_id=5)
        self.schema = SimpleNamespace(name=b"t")
        self.written, self.frozen, self.files = memtable_bytes, 0, file_bytes
        self.merge = "half of it are delete markers" if file_bytes else ""
        self.done: list[tuple[str, int]] = []

    @property
    def memtable_bytes(self) -> int:
        return self.written + self.frozen

    def sstable_bytes(self) -> int:
        return self.files

    def needs_flush(self) -> str:
        return ""

    def needs_compaction(self, _split_bytes: int | None = None) -> str:
        return self.merge

    def write_pressure(self) -> float:
        return 0.0

    def needs_major(self) -> str:
        return ""

    def needs_split(self, limit_bytes: int) -> bool:
        return self.files > limit_bytes

    def stamp_at_rest(self) -> tuple[object, ...]:
        return self.written, self.frozen, self.files

    def flush_is_due(self, _age_seconds: float) -> float:
        return inf

    def flush(self) -> None:
        self.done.append(("flush", self.written))
        self.frozen, self.written = self.written, 0
        for _ in range(10):
            self.runtime.sleep(0.1)
            self.written += MIB // 10
        self.frozen = 0

    def compact(self, _major: bool, split_bytes: int | None = None) -> None:
        self.done.append(("compact", self.files))
        self.runtime.sleep(2)
        self.files, self.merge = 30 * MIB, ""
        self.record = SimpleNamespace(tablet_id=self.record.tablet_id, table_id=5)


def test_no_job_is_done_again_and_nothing_is_split_that_a_compaction_made_small() -> None:
    runtime = SimulatedRuntime(1)
    splits: list[int] = []

    def main() -> tuple[JobsOfTablet, JobsOfTablet]:
        written = JobsOfTablet(runtime, 1, memtable_bytes=64 * MIB)
        large = JobsOfTablet(runtime, 2, file_bytes=300 * MIB)
        tablets: Any = {1: written, 2: large}
        commit_log: Any = SimpleNamespace(tablets_of_oldest_segment=list, size_bytes=0)
        session: Any = SimpleNamespace(valid=lambda: True, over=lambda: False)
        shared = SharedState(runtime, "server", Registry(), 256 * MIB)

        def split(tablet_id: int, _row: bytes | None, _why: str) -> bool:
            splits.append(tablet_id)
            return True

        options = MaintenanceOptions()
        maintenance = Maintenance(runtime, tablets, commit_log, shared, split, session, options, 64 * MIB)
        maintenance.start()
        runtime.sleep(8)
        maintenance.stop()
        maintenance.join()
        return written, large

    written, large = runtime.run(main)
    assert written.done == [("flush", 64 * MIB)]
    assert large.done == [("compact", 300 * MIB)]
    assert splits == []


class Failing(JobsOfTablet):
    def compact(self, _major: bool, split_bytes: int | None = None) -> None:
        raise Unavailable("METADATA is away")


def test_nothing_is_remembered_of_tablets_that_have_left() -> None:
    """Thousands come and go while a server lives."""
    runtime = SimulatedRuntime(2)

    def main() -> None:
        tablets: Any = {1: Failing(runtime, 1, file_bytes=30 * MIB), 2: JobsOfTablet(runtime, 2, file_bytes=300 * MIB)}
        tablets[2].merge = ""
        commit_log: Any = SimpleNamespace(tablets_of_oldest_segment=list, size_bytes=0)
        session: Any = SimpleNamespace(valid=lambda: True, over=lambda: False)
        shared = SharedState(runtime, "server", Registry(), 256 * MIB)

        def split(_tablet_id: int, _row: bytes | None, _why: str) -> bool:
            return False  # it is one row

        options = MaintenanceOptions()
        maintenance = Maintenance(runtime, tablets, commit_log, shared, split, session, options, 64 * MIB)
        maintenance.start()
        runtime.sleep(2)
        assert {tablet_id for tablet_id, _ in maintenance._not_before} == {1}
        assert maintenance._unsplittable.keys() == {2}
        tablets.clear()
        runtime.sleep(2)
        assert not maintenance._not_before
        assert not maintenance._unsplittable
        maintenance.stop()
        maintenance.join()

    runtime.run(main)
