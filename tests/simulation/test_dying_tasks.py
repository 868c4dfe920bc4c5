"""Each background task of a server, killed again and again by a bug: it is seen, it does not spin, and its work goes on
afterwards.

The bug is an IndexError out of what the task asks its runtime for.
"""

import logging
import sys
from collections import Counter
from typing import Final

import pytest

from hbtable.commitlog.options import LogOptions
from hbtable.errors import HbtableError, StorageFailed
from hbtable.fs.memory import MemoryFileSystem
from hbtable.launch.embedded_cluster import EmbeddedCluster, EmbeddedOptions
from hbtable.launch.http.status import ProcessStatus
from hbtable.lockservice.local import LocalLockService
from hbtable.master.files.collector import CollectorOptions
from hbtable.master.tablets.normalizing import NormalizerOptions
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import PUT, RowMutation
from hbtable.model.read import ReadSpec
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.tablet.options import TabletOptions
from hbtable.tabletserver.maintenance_plan import MaintenanceOptions
from hbtable.tabletserver.role import TabletServerOptions
from hbtable.testing.simulated.runtime import SimulatedRuntime
from tests.harness.planted_bugs import is_found

STEPS: Final = 15
AT_ONCE: Final = 2
"""Of one name: flushes."""
BUSY: Final = EmbeddedOptions(
    server=TabletServerOptions(
        block_cache_bytes=1 << 20,
        log=LogOptions(segment_bytes=64 << 10, durability="os", sync_every_bytes=8 << 10),
        tablet=TabletOptions(memtable_bytes=8 << 10, worker_bytes=16 << 10),
        maintenance=MaintenanceOptions(
            total_memtable_bytes=64 << 10, log_bytes=64 << 10, split_bytes=40 << 10, roll_seconds=2.0
        ),
    ),
    collector=CollectorOptions(period_seconds=2.0),
    normalizer=NormalizerOptions(period_seconds=2.0),
)
"""Everything is so small, and comes so often, that each task has work within seconds."""

LIVE_ON: Final = ("maintenance", "master", "master's session")
JOBS: Final = (
    "flush",
    "compact",
    "split",
    "normalizer",
    "collect garbage",
    "commit-log-delete",
    "commit-log-high-water",
)
ASK_NOTHING: Final = ("log-roll", "space quotas")
"""Of their runtime, when there is nothing to do."""

OF_THE_LOG: Final = ("commit-log", "commit-log-sync")
"""Nothing may be acknowledged after one of these died: what the file holds is not known."""


class FailingRuntime(SimulatedRuntime):
    """In tasks named `victim` every pause and every call in a thread is an IndexError."""

    victim = ""

    def __init__(self, seed: int) -> None:
        self.begun: Counter[str] = Counter()
        super().__init__(seed)
        self.deaths.restarts = True  # as in a real process; a simulation reports the bug instead

    def _fail(self) -> None:
        task = self.scheduler.current if self.victim else None
        if task is None or task.name != self.victim:
            return
        if not sys._getframe(2).f_code.co_filename.endswith("supervision.py"):
            raise IndexError("list index out of range")

    def spawn(self, function, *arguments, name=""):
        self.begun[name] += 1
        return super().spawn(function, *arguments, name=name)

    def clock_seconds(self):
        if self.victim in (*LIVE_ON, "normalizer"):  # in other jobs this might be their clean-up
            self._fail()
        return super().clock_seconds()

    def sleep(self, seconds):
        self._fail()
        super().sleep(seconds)

    def offload(self, kind, function, *arguments):
        self._fail()
        return super().offload(kind, function, *arguments)


class Life:
    """What was seen of a server in whose tasks of one name a bug was for STEPS seconds."""

    def __init__(self, victim: str, seed: int = 1) -> None:
        self.victim = victim
        self.runtime = FailingRuntime(seed)
        self.reasons: list[str] = []
        self.status: list[str] = []
        self.refusals: list[HbtableError] = []
        self.runtime.run(self._live)

    def _live(self) -> None:
        runtime = self.runtime
        memory = MemoryFileSystem(runtime)
        cluster = EmbeddedCluster(runtime, memory, LocalLockService(memory, runtime), BUSY)
        cluster.start()
        page = ProcessStatus(
            runtime, cluster.registry, cluster.session, cluster.lost.is_set, broken=cluster.server.broken
        )
        cluster.client.admin.create_table(TableSchema(b"t", {b"f": FamilySchema(b"f")}))
        runtime.begun.clear()
        runtime.victim = self.victim
        began = runtime.clock_seconds()
        self._write(cluster, 0)
        self.seconds = runtime.clock_seconds() - began
        self.alive = sum(task.name == self.victim for task in runtime.scheduler._alive)
        self.reasons, self.begun = page.not_ready(), runtime.begun.copy()
        self.status = cluster.client.operations.task_deaths([cluster.server.incarnation])[cluster.server.incarnation]
        gauges = {name: value for name, _, value in cluster.registry.gauges()}
        assert gauges["hbtable_task_deaths"] == runtime.deaths.total
        assert gauges["hbtable_log_broken"] == bool(cluster.server.broken())
        runtime.victim = ""
        if not cluster.server.broken():
            runtime.sleep(60.0)
            self.refusals = []
            self._write(cluster, STEPS)
            self.later = page.not_ready()
        cluster.stop()

    def _write(self, cluster: EmbeddedCluster, first: int) -> None:
        table = cluster.client.table(b"t")
        for step in range(first, first + STEPS):
            rows = [b"row%06d" % number for number in range(50 * step, 50 * step + 50)]
            try:
                table.mutate([RowMutation(row, [(PUT, b"f", b"q", SERVER_TIME, b"v" * 100)]) for row in rows])
                assert len(table.read_rows(rows, ReadSpec())) == len(rows)
            except HbtableError as error:
                self.refusals.append(error)
            self.runtime.sleep(1.0)


def seen_and_goes_on(victim: str) -> None:
    life = Life(victim)
    assert life.reasons, "nobody sees it"
    [reason] = life.reasons
    assert reason.startswith(f'background task "{victim}"' if "'" in victim else f"background task {victim!r}")
    [said] = life.status
    assert "died of IndexError: list index out of range (" in said
    assert life.runtime.deaths.total <= 10 + 4 * life.seconds, "it spins"
    assert life.alive <= AT_ONCE, "they pile up"
    assert life.refusals == []
    assert life.later == []


@pytest.mark.slow
@pytest.mark.parametrize("victim", [*LIVE_ON, *JOBS])
def test_a_task_that_dies_again_and_again_is_seen_and_goes_on_afterwards(
    victim: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.CRITICAL):
        seen_and_goes_on(victim)


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["maintenance", "flush"])
def test_the_planted_bug_is_found(victim: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.CRITICAL):
        is_found("unseen", lambda: seen_and_goes_on(victim))


@pytest.mark.slow
@pytest.mark.parametrize("victim", OF_THE_LOG)
def test_a_log_that_died_is_seen_until_the_server_is_started_again(
    victim: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.CRITICAL):
        life = Life(victim)
    assert any(isinstance(refusal, StorageFailed) for refusal in life.refusals)
    assert any("the commit log failed, restart this tablet server" in reason for reason in life.reasons)
    assert any("the commit log failed, restart this tablet server" in said for said in life.status)


@pytest.mark.slow
def test_these_are_all_tasks_of_a_server() -> None:
    """Those that live on are begun with the server. Whoever asked for a load hears what the load died of."""
    known = {*LIVE_ON, *JOBS, *OF_THE_LOG, *ASK_NOTHING, "tend", "load"}
    begun = set(Life("").begun)
    assert begun <= known, "a new one: give it a place above"
    assert {*JOBS, *OF_THE_LOG} <= begun
