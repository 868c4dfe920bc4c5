"""A data folder in memory, the lock service of one machine in it, over several lives, beside a model of its rows."""

import random
from collections.abc import Callable
from typing import TypeVar

from hbtable.fs.memory import MemoryFileSystem
from hbtable.fs.memory_disk import MemoryContent, MemoryDisk
from hbtable.launch.embedded_cluster import EmbeddedCluster
from hbtable.lockservice.local import LocalLockService
from hbtable.metadata.tiling import verify_tiling
from hbtable.repair.checking import Check
from hbtable.testing.simulated.runtime import SimulatedRuntime
from tests.simulation.conftest import SMALL, Machine

T = TypeVar("T")

FOLDER = "lockservice"
Model = dict[bytes, dict[bytes, bytes]]
"""By table: its rows."""


class Store:
    """A data folder in memory with the lock service of one machine, which lies in it."""

    def __init__(self, fs: MemoryFileSystem | None = None, seed: int = 1) -> None:
        self.runtime = SimulatedRuntime(seed)
        self.fs = fs or MemoryFileSystem(self.runtime)
        self.fs.runtime = self.runtime

    def life(self, body: Callable[[EmbeddedCluster], T], clean: bool = True) -> T:
        def main() -> T:
            cluster = EmbeddedCluster(self.runtime, self.fs, LocalLockService(self.fs, self.runtime), SMALL)
            cluster.start()
            result = body(cluster)
            if clean:
                cluster.stop()
            return result

        try:
            return self.runtime.run(main)
        finally:
            if not clean:
                self.fs = self.fs.crash_clone(random.Random("store"))
            self.runtime.crash()
            self.runtime = self.runtime.another_process("next life")
            self.fs.runtime = self.runtime

    def files(self) -> dict[str, bytes]:
        return self.runtime.run(
            lambda: {status.path: self.fs.read_file(status.path) for status in self.fs.list_files(FOLDER)}
        )

    def copy(self) -> "Store":
        disk = MemoryDisk()
        for path, file in self.fs.disk.files.items():
            disk.files[path] = MemoryContent(bytes(file.content), len(file.content), file.modified_millis)
        return Store(MemoryFileSystem(self.runtime, disk))

    def damage(self) -> list[str]:
        """What `hbtable check` finds, which changes nothing."""
        looked_at = self.copy()
        check = Check(looked_at.runtime, looked_at.fs)
        looked_at.runtime.run(check.run)
        return [finding.message() for finding in check.findings]


def add_table(cluster: EmbeddedCluster, model: Model, name: bytes, split_rows: list[bytes]) -> None:
    cluster.client.admin.create_table(Machine.schema(name), split_rows)
    Machine.write(cluster, range(30), name, name)
    model[name] = Machine.expected(range(30), name)


def check_model(cluster: EmbeddedCluster, model: Model) -> None:
    seen: dict[int, bytes] = {}
    catalog = cluster.client.catalog
    assert {record.schema.name for record in catalog.tables()} == set(model)
    for record in catalog.tables():
        rows = catalog.tablet_rows(record.table_id)
        verify_tiling(rows)
        for row in rows:
            assert row.tablet_id not in seen, f"{record.schema.name!r} shares a tablet with {seen[row.tablet_id]!r}"
            seen[row.tablet_id] = record.schema.name
        assert Machine.contents(cluster, record.schema.name) == model[record.schema.name]
