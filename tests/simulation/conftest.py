"""One machine under simulation: starts, power losses, and what must be there afterwards."""

import random
from collections.abc import Callable
from typing import TypeVar

import pytest

from hbtable.commitlog.options import LogOptions
from hbtable.fs.memory import MemoryFileSystem
from hbtable.launch.embedded_cluster import EmbeddedCluster, EmbeddedOptions
from hbtable.master.files.collector import CollectorOptions
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import PUT, RowMutation
from hbtable.model.read import ScanRequest
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.tablet.options import TabletOptions
from hbtable.tabletserver.maintenance_plan import MaintenanceOptions
from hbtable.tabletserver.role import TabletServerOptions
from hbtable.testing.memory_lockservice import MemoryLockService
from hbtable.testing.simulated.runtime import SimulatedRuntime

T = TypeVar("T")

SMALL = EmbeddedOptions(
    server=TabletServerOptions(
        block_cache_bytes=1 << 20,
        log=LogOptions(segment_bytes=64 << 10),
        tablet=TabletOptions(memtable_bytes=48 << 10, worker_bytes=16 << 10),
        maintenance=MaintenanceOptions(total_memtable_bytes=256 << 10, log_bytes=256 << 10, split_bytes=0),
    ),
    collector=CollectorOptions(trash_seconds=60.0),
)
"""Everything so small that a few thousand cells flush, roll the log and compact."""

VALUE = b"v" * 100

Body = Callable[[EmbeddedCluster], T]


class Machine:
    """Its disk and its lock service survive from one life() to the next."""

    def __init__(self, seed: int, options: EmbeddedOptions = SMALL) -> None:
        self.seed = seed
        self.options = options
        self.runtime = SimulatedRuntime(seed)
        self.fs = MemoryFileSystem(self.runtime)
        self.lock_service = MemoryLockService(self.runtime)
        self._lives = 0
        self._chance = random.Random(f"machine {seed}")

    def life(self, body: Body[T], clean: bool = True) -> T:
        """Starts, runs `body`, stops cleanly or loses its power. Returns what `body` did."""

        def main() -> T:
            cluster = EmbeddedCluster(self.runtime, self.fs, self.lock_service, self.options)
            cluster.start()
            result = body(cluster)
            if clean:
                cluster.stop()
            return result

        result = self.runtime.run(main)
        self.power_loss() if not clean else self._next_life()
        return result

    def crash_during(self, body: Body[object], seconds: float) -> None:
        """Loses its power so long after the start of a life, wherever it is then."""

        def main() -> None:
            cluster = EmbeddedCluster(self.runtime, self.fs, self.lock_service, self.options)
            cluster.start()
            body(cluster)

        self.runtime.spawn(main, name="main")
        self.runtime.run_for(seconds)
        self.power_loss()

    def power_loss(self) -> None:
        crashed = self.fs
        self.fs = crashed.crash_clone(self._chance)
        crashed.disk.crashed = True
        self.runtime.crash()
        self._next_life()

    def _next_life(self) -> None:
        self._lives += 1
        self.runtime = self.runtime.another_process(f"life {self._lives}")
        self.fs.runtime = self.runtime
        self.lock_service = self.lock_service.restarted(self.runtime)

    # ------------------------------------------------------------ what bodies use

    @staticmethod
    def schema(name: bytes = b"t", *families: bytes) -> TableSchema:
        return TableSchema(name, {family: FamilySchema(family) for family in families or (b"f",)})

    @staticmethod
    def put(row: bytes, value: bytes, family: bytes = b"f") -> RowMutation:
        return RowMutation(row, [(PUT, family, b"q", SERVER_TIME, value)])

    @classmethod
    def write(cls, cluster: EmbeddedCluster, rows: range, value: bytes = VALUE, name: bytes = b"t") -> None:
        table = cluster.client.table(name)
        for first in range(rows.start, rows.stop, 50):
            table.mutate([cls.put(b"row%06d" % n, value) for n in range(first, min(first + 50, rows.stop))])

    @staticmethod
    def contents(cluster: EmbeddedCluster, name: bytes = b"t") -> dict[bytes, bytes]:
        """row -> newest value of its first column, read by a scan."""
        found: dict[bytes, bytes] = {}
        request: ScanRequest | None = ScanRequest()
        table = cluster.client.table(name)
        while request is not None:
            page = table.scan_page(request)
            for row, cells in page.rows:
                assert row not in found, f"row {row!r} came twice"
                found[row] = cells[0][2]
            request = None if page.next is None else ScanRequest(position=page.next)
        return found

    @staticmethod
    def expected(rows: range, value: bytes = VALUE) -> dict[bytes, bytes]:
        return {b"row%06d" % n: value for n in rows}


@pytest.fixture
def machine() -> Machine:
    return Machine(seed=1)


@pytest.fixture
def machine_of() -> Callable[[int], Machine]:
    """A machine with this seed."""
    return Machine
