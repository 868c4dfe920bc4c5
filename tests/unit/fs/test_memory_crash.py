"""What a loss of power and the death of a process leave of the memory file system."""

import random
from collections.abc import Callable

import pytest

from hbtable.errors import FileNotFound, OutOfSpace, StorageFailed
from hbtable.fs.memory import MemoryFileSystem
from hbtable.fs.memory_disk import MemoryDisk
from hbtable.testing.simulated.runtime import SimulatedRuntime


def _crash(
    seed: int, body: Callable[[SimulatedRuntime, MemoryFileSystem], None], tear: bool = True
) -> MemoryFileSystem:
    runtime = SimulatedRuntime(seed)
    fs = MemoryFileSystem(runtime)
    runtime.run(body, runtime, fs)
    survivor = fs.crash_clone(random.Random(seed), tear)
    runtime.crash()
    return survivor


def test_synced_bytes_survive_and_a_random_part_of_the_rest() -> None:
    def body(runtime: SimulatedRuntime, fs: MemoryFileSystem) -> None:
        file = fs.create("log")
        file.append(b"synced")
        file.sync()
        file.append(b"first")
        file.append(b"second")

    outcomes = [_crash(seed, body).read_file("log") for seed in range(400)]
    assert all(outcome.startswith(b"synced") for outcome in outcomes)
    assert all(len(outcome) <= len(b"syncedfirstsecond") for outcome in outcomes)
    assert b"synced" in outcomes
    assert b"syncedfirst" in outcomes
    assert b"syncedfirstsec" in outcomes
    assert b"syncedfirstsecond" in outcomes
    assert b"syncedfi\0\0\0" in outcomes, "the length was written, the bytes were not"
    garbage = [outcome for outcome in outcomes if not b"syncedfirstsecond".startswith(outcome.rstrip(b"\0"))]
    assert garbage, "sometimes the torn piece reads as garbage"


def test_without_tearing_whole_appends_survive() -> None:
    def body(runtime: SimulatedRuntime, fs: MemoryFileSystem) -> None:
        file = fs.create("log")
        for piece in (b"one", b"two", b"three"):
            file.append(piece)

    outcomes = {_crash(seed, body, tear=False).read_file("log") for seed in range(60)}
    assert outcomes == {b"", b"one", b"onetwo", b"onetwothree"}


def test_a_sync_covers_what_was_appended_before_it_was_called() -> None:
    def body(runtime: SimulatedRuntime, fs: MemoryFileSystem) -> None:
        file = fs.create("log")
        file.append(b"before")
        task = runtime.spawn(file.sync)
        runtime.sleep(0.00001)
        file.append(b"after")
        task.join()

    outcomes = {_crash(seed, body, tear=False).read_file("log") for seed in range(40)}
    assert outcomes == {b"before", b"beforeafter"}


def test_a_crash_during_a_sync_falls_before_or_after_its_effect() -> None:
    def body(runtime: SimulatedRuntime, fs: MemoryFileSystem) -> None:
        file = fs.create("log")
        file.append(b"x")
        runtime.spawn(file.sync)
        runtime.sleep(0.004)

    assert {_crash(seed, body, tear=False).read_file("log") for seed in range(60)} == {b"", b"x"}


def test_names_that_changed_are_durable_when_the_call_returned() -> None:
    def body(runtime: SimulatedRuntime, fs: MemoryFileSystem) -> None:
        fs.write_file("a", b"old")
        fs.write_file("a", b"new")
        fs.create("b").close()
        fs.write_file("c", b"c")
        fs.rename("c", "d")
        fs.write_file("e", b"e")
        fs.delete("e")

    for seed in range(30):
        survivor = _crash(seed, body)
        assert [status.path for status in survivor.list_files("")] == ["a", "b", "d"]
        assert survivor.read_file("a") == b"new"


def test_calls_under_way_at_the_crash_have_happened_or_not() -> None:
    def body(runtime: SimulatedRuntime, fs: MemoryFileSystem) -> None:
        fs.write_file("a", b"old")
        fs.write_file("gone", b"x")
        for function, arguments in (
            (fs.write_file, ("a", b"new")),
            (fs.rename, ("gone", "moved")),
            (fs.create, ("created",)),
        ):
            runtime.spawn(function, *arguments)
        runtime.sleep(0.00005)

    outcomes = set()
    for seed in range(100):
        survivor = _crash(seed, body)
        assert survivor.read_file("a") in (b"old", b"new"), "never nothing, never a mixture"
        assert survivor.exists("gone") != survivor.exists("moved"), "never both, never neither"
        outcomes.add((survivor.read_file("a"), survivor.exists("moved"), survivor.exists("created")))
    assert len(outcomes) == 8


def test_the_old_file_system_and_its_open_files_are_dead_after_a_crash() -> None:
    runtime = SimulatedRuntime(1)
    fs = MemoryFileSystem(runtime)
    late: list[BaseException] = []

    def clean_up() -> None:
        file = fs.create("log")
        try:
            runtime.event().wait()
        finally:
            try:
                file.append(b"written while dying")
            except StorageFailed as error:
                late.append(error)

    def body() -> None:
        runtime.spawn(clean_up)
        fs.write_file("a", b"x")
        runtime.sleep(1.0)

    runtime.run(body)
    reader = fs.open("a")
    survivor = fs.crash_clone(random.Random(1))
    runtime.crash()
    assert len(late) == 1
    assert survivor.read_file("log") == b""
    with pytest.raises(StorageFailed, match="crashed"):
        reader.read_at(0, 1)
    with pytest.raises(StorageFailed, match="crashed"):
        fs.list_files("")
    next_life = SimulatedRuntime(2)
    survivor = MemoryFileSystem(next_life, survivor.disk)
    next_life.run(survivor.write_file, "b", b"alive")
    assert survivor.read_file("b") == b"alive"


def test_when_only_the_process_dies_everything_appended_stays() -> None:
    runtime = SimulatedRuntime(1)
    fs = MemoryFileSystem(runtime)

    def body() -> None:
        fs.create("log").append(b"never synced")

    runtime.run(body)
    survivor = fs.restarted()
    with pytest.raises(StorageFailed):
        fs.read_file("log")
    assert survivor.read_file("log") == b"never synced"


def test_several_processes_share_a_disk() -> None:
    disk = MemoryDisk()
    first = SimulatedRuntime(1)
    one, two = MemoryFileSystem(first, disk), MemoryFileSystem(first.another_process("second"), disk)
    first.run(one.write_file, "a", b"shared")
    assert two.read_file("a") == b"shared"
    one.restarted()
    assert two.read_file("a") == b"shared", "the other process lives on"


def test_a_full_disk_refuses_and_takes_again_when_there_is_room() -> None:
    runtime = SimulatedRuntime(1)
    fs = MemoryFileSystem(runtime, capacity_bytes=10)

    def body() -> None:
        file = fs.create("log")
        file.append(b"12345678")
        with pytest.raises(OutOfSpace, match="no room left while appending to log"):
            file.append(b"9abcd")
        assert fs.read_file("log") == b"123456789a", "what fitted is there, as on a real disk"
        with pytest.raises(OutOfSpace):
            fs.write_file("small", b"x")
        with pytest.raises(FileNotFound):
            fs.read_file("small")
        with pytest.raises(OutOfSpace):
            fs.create("other")
        fs.disk.capacity_bytes = 20
        fs.write_file("small", b"x")
        file.append(b"more")
        fs.delete("log")
        assert fs.disk.used_bytes == 1

    runtime.run(body)
