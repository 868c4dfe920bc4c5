"""Faults strike where the plan says, and only there."""

import pytest

from hbtable.errors import OutcomeUnknown, OutOfSpace, StorageFailed, Unavailable
from hbtable.fs.memory import MemoryFileSystem
from hbtable.testing.faulty_fs import FaultPlan, FaultyFileSystem
from hbtable.testing.simulated.runtime import SimulatedRuntime


@pytest.fixture
def runtime() -> SimulatedRuntime:
    return SimulatedRuntime(1)


@pytest.fixture
def plan() -> FaultPlan:
    return FaultPlan()


@pytest.fixture
def fs(runtime: SimulatedRuntime, plan: FaultPlan) -> FaultyFileSystem:
    return FaultyFileSystem(MemoryFileSystem(runtime), plan, runtime)


def test_the_nth_matching_call_fails(runtime: SimulatedRuntime, plan: FaultPlan, fs: FaultyFileSystem) -> None:
    def body() -> None:
        plan.fail("sync", StorageFailed("the disk says no"), path="logs/", nth=2)
        other, log = fs.create("tables/a"), fs.create("logs/a")
        for _ in range(3):
            other.sync()
        log.sync()
        with pytest.raises(StorageFailed, match="says no"):
            log.sync()
        log.sync()

    runtime.run(body)


def test_a_full_disk_takes_a_part_of_the_append(
    runtime: SimulatedRuntime, plan: FaultPlan, fs: FaultyFileSystem
) -> None:
    def body() -> None:
        file = fs.create("log")
        plan.fail("append", OutOfSpace("full"), partial_bytes=3, times=-1)
        for _ in range(2):
            with pytest.raises(OutOfSpace):
                file.append(b"123456")
        assert fs.read_file("log") == b"123123"
        plan.clear()
        file.append(b"456")
        assert fs.read_file("log") == b"123123456"

    runtime.run(body)


def test_an_answer_can_be_lost_after_the_effect(
    runtime: SimulatedRuntime, plan: FaultPlan, fs: FaultyFileSystem
) -> None:
    def body() -> None:
        for operation in ("create", "append", "write_file", "rename", "delete"):
            plan.fail(operation, OutcomeUnknown("no answer"), applied=True)
        with pytest.raises(OutcomeUnknown):
            fs.create("a")
        assert fs.exists("a")
        with pytest.raises(OutcomeUnknown):
            fs.write_file("b", b"b")
        assert fs.read_file("b") == b"b"
        with pytest.raises(OutcomeUnknown):
            fs.rename("b", "c")
        assert fs.exists("c")
        with pytest.raises(OutcomeUnknown):
            fs.delete("c")
        assert not fs.exists("c")
        file = fs.create("d")
        with pytest.raises(OutcomeUnknown):
            file.append(b"all")
        assert fs.read_file("d") == b"all"

    runtime.run(body)


def test_reads_fail_too(runtime: SimulatedRuntime, plan: FaultPlan, fs: FaultyFileSystem) -> None:
    def body() -> None:
        fs.write_file("a", b"x")
        file = fs.open("a")
        for operation in ("read_at", "read_file", "list_files", "open", "exists", "status"):
            plan.fail(operation, Unavailable("try again"))
        for call in (
            lambda: file.read_at(0, 1),
            lambda: fs.read_file("a"),
            lambda: fs.list_files(""),
            lambda: fs.open("a"),
            lambda: fs.exists("a"),
            lambda: fs.status("a"),
        ):
            with pytest.raises(Unavailable):
                call()
            call()

    runtime.run(body)


def test_a_slow_disk_delays(runtime: SimulatedRuntime, plan: FaultPlan, fs: FaultyFileSystem) -> None:
    def body() -> None:
        file = fs.create("a")
        plan.delay("sync", 2.0)
        before = runtime.clock_seconds()
        file.sync()
        assert 2.0 <= runtime.clock_seconds() - before < 2.1

    runtime.run(body)


def test_the_plan_tells_which_calls_there_were(
    runtime: SimulatedRuntime, plan: FaultPlan, fs: FaultyFileSystem
) -> None:
    def body() -> None:
        file = fs.create("a")
        file.append(b"x")
        file.sync()

    runtime.run(body)
    assert plan.calls == [("create", "a"), ("append", "a"), ("sync", "a")]
