"""A simulated machine whose disk can be full, and what its client was told."""

import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Final

from hbtable.errors import HbtableError, OutOfSpace
from hbtable.fs.ballast import BallastOptions
from hbtable.fs.memory import MemoryFileSystem
from hbtable.fs.memory_disk import MemoryDisk
from hbtable.launch.embedded_cluster import EmbeddedCluster, EmbeddedOptions
from hbtable.lockservice.local import LocalLockService
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import DELETE_FAMILY, PUT, RowMutation
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.testing.faulty_fs import FaultPlan, FaultyFileSystem
from hbtable.testing.simulated.runtime import SimulatedRuntime
from hbtable.testing.simulated.scheduler import SimulatedCrash
from tests.campaigns.simulation import read_everything, small_options

TABLE: Final = b"journal"
BALLAST_BYTES: Final = 384 << 10
"""The least that may be set."""


class _LargeDisk:
    """Room on a disk whose size does not change, while that of the simulated one is how a test fills it."""

    def __init__(self, memory: MemoryFileSystem) -> None:
        self._memory = memory
        self.free_bytes, self.reserve, self.shrink = memory.free_bytes, memory.reserve, memory.shrink

    @property
    def when_full(self) -> Callable[[], None]:
        return self._memory.when_full

    @when_full.setter
    def when_full(self, told: Callable[[], None]) -> None:
        self._memory.when_full = told

    def total_bytes(self) -> int:
        return 1 << 40


class Machine:
    """One simulated machine; `acknowledged` and `refused` are what its client was told of each row."""

    def __init__(
        self, seed: int, disk: MemoryDisk | None = None, flushes: bool = True, ballast_bytes: int = BALLAST_BYTES
    ) -> None:
        """Not `flushes`: everything stays in memory and in the log."""
        self.seed = seed
        self.flushes = flushes
        self.ballast_bytes = ballast_bytes
        self.random = random.Random(seed)
        self.runtime = SimulatedRuntime(seed)
        self.plan = FaultPlan()
        self.memory = MemoryFileSystem(self.runtime, disk)
        self.fs = FaultyFileSystem(self.memory, self.plan, self.runtime)
        self.cluster: EmbeddedCluster
        self.acknowledged: dict[bytes, bytes] = {}
        self.refused: dict[bytes, bytes] = {}
        self.errors: list[HbtableError] = []
        self._number = 0
        self._medium: MemoryFileSystem | None = None
        """After a death: as the next life finds it."""

    def run(self, body: Callable[["Machine"], None], dies_after: float | None = None) -> None:
        """`dies_after` so many seconds, if it is still running then."""

        def die(seconds: float) -> None:
            self.runtime.sleep(seconds)
            self._medium = self.memory.crash_clone(self.random)
            self.runtime.crash()

        def main() -> None:
            if dies_after is not None:
                self.runtime.spawn(die, dies_after)
            options = replace(
                small_options() if self.flushes else EmbeddedOptions(), disk=BallastOptions(self.ballast_bytes)
            )
            lock_service = LocalLockService(self.fs, self.runtime)
            self.cluster = EmbeddedCluster(self.runtime, self.fs, lock_service, options, room=_LargeDisk(self.memory))
            self.cluster.start()
            if TABLE not in self.cluster.client.admin.table_names():
                families = {b"f": FamilySchema(b"f", max_versions=1)}
                self.cluster.client.admin.create_table(TableSchema(TABLE, families))
            body(self)

        with suppress(SimulatedCrash):
            self.runtime.run(main)

    def power_loss(self, still_full: bool = False) -> "Machine":
        """The next life, where nothing fails, with plenty of room or none."""
        survivor = self._medium or self.memory.crash_clone(self.random)
        self.runtime.crash()
        survivor.disk.capacity_bytes = survivor.disk.used_bytes if still_full else None
        machine = Machine(self.seed + 1, survivor.disk, self.flushes, self.ballast_bytes)
        machine.acknowledged, machine.refused = self.acknowledged, self.refused
        return machine

    def fill(self, more_bytes: int) -> None:
        """From now on the disk has only so much room."""
        self.memory.disk.capacity_bytes = self.memory.disk.used_bytes + more_bytes

    def make_room(self) -> None:
        self.memory.disk.capacity_bytes = None

    def put(self) -> bool:
        """One row with a fresh key; whether it was acknowledged."""
        self._number += 1
        row, value = b"%06d" % self._number, self.random.randbytes(400)
        try:
            self.cluster.client.table(TABLE).mutate([RowMutation(row, [(PUT, b"f", b"q", SERVER_TIME, value)])])
        except HbtableError as error:
            self.errors.append(error)
            self.refused[row] = value
            return False
        self.acknowledged[row] = value
        return True

    def delete(self, row: bytes) -> None:
        """The row, which was put before."""
        deletion = RowMutation(row, [(DELETE_FAMILY, b"f", b"", SERVER_TIME, b"")])
        self.with_retries(lambda: self.cluster.client.table(TABLE).mutate([deletion]))
        self.acknowledged.pop(row, None)

    def with_retries(self, call: Callable[[], object]) -> None:
        """Again while there is no room: the write that finds none is refused before the ballast makes some."""
        for _ in range(60):
            try:
                call()
            except OutOfSpace:
                self.runtime.sleep(1.0)
                continue
            return
        raise AssertionError("refused for a minute")

    def put_until_refused(self) -> HbtableError:
        for _ in range(2000):
            if not self.put():
                return self.errors[-1]
        raise AssertionError("nothing was refused")

    def verify(self, refused_may_be_there: bool = False) -> None:
        found = {row: state[b"f:q"] for row, state in read_everything(self.cluster.client).items()}
        extra = {row: value for row, value in found.items() if row not in self.acknowledged}
        assert {row: value for row, value in found.items() if row in self.acknowledged} == self.acknowledged
        if refused_may_be_there:
            assert extra.items() <= self.refused.items()
        else:
            assert extra == {}
