"""What the durable lock service does about damage, failing disks and crashes."""

import random
import zlib
from pathlib import Path

import pytest

from hbtable.errors import Corruption, FileNotFound, LockLost, OutcomeUnknown, OutOfSpace, UnsupportedFormat
from hbtable.fs.memory import MemoryFileSystem
from hbtable.fs.memory_disk import MemoryDisk
from hbtable.lockservice.files import DurableFiles, MemoryFiles
from hbtable.lockservice.interface import Session, VersionedFile
from hbtable.lockservice.local import LocalLockService
from hbtable.lockservice.sessions import SessionTable
from hbtable.testing.faulty_fs import FaultPlan, FaultyFileSystem
from hbtable.testing.simulated.runtime import SimulatedRuntime

STORED = "lockservice/files/root-tablet"


def _stored(runtime: SimulatedRuntime, fs: MemoryFileSystem) -> bytes:
    runtime.run(lambda: LocalLockService(fs, runtime).open_session("me").create("/root-tablet", b"record"))
    return fs.read_file(STORED)


def test_the_layout_is_as_documented() -> None:
    runtime = SimulatedRuntime(1)
    fs = MemoryFileSystem(runtime)
    stored = _stored(runtime, fs)
    assert stored[:-4] == b"HBLF" + b"\x01" + b"\0\0\0\0\0\0\0\x01" + b"\0\0\0\x06" + b"record"
    assert sorted(status.path for status in fs.list_files("")) == ["lockservice/epochs", STORED]


def test_every_flipped_bit_and_every_cut_is_corruption() -> None:
    runtime = SimulatedRuntime(1)
    fs = MemoryFileSystem(runtime)
    stored = _stored(runtime, fs)
    damaged = [stored[:length] for length in range(len(stored))] + [stored + b"\0"]
    for position in range(len(stored) * 8):
        flipped = bytearray(stored)
        flipped[position // 8] ^= 1 << position % 8
        damaged.append(bytes(flipped))

    def body() -> None:
        for content in damaged:
            fs.write_file(STORED, content)
            with pytest.raises(Corruption) as caught:
                LocalLockService(fs, runtime).open_session("me").read("/root-tablet")
            assert caught.value.path == STORED

    runtime.run(body)


def test_a_newer_format_is_refused() -> None:
    runtime = SimulatedRuntime(1)
    fs = MemoryFileSystem(runtime)
    body_bytes = b"HBLF" + b"\x02" + _stored(runtime, fs)[5:-4]

    def body() -> None:
        fs.write_file(STORED, body_bytes + zlib.crc32(body_bytes).to_bytes(4, "big"))
        with pytest.raises(UnsupportedFormat, match="format 2"):
            LocalLockService(fs, runtime).open_session("me").read("/root-tablet")

    runtime.run(body)


def test_numbers_of_locks_go_on_above_all_when_their_counter_is_damaged_which_is_kept() -> None:
    runtime = SimulatedRuntime(1)
    fs = MemoryFileSystem(runtime)
    _stored(runtime, fs)
    damaged = b"\0" * 20

    def body() -> None:
        before = LocalLockService(fs, runtime).open_session("me").lock("/lock")
        fs.write_file("lockservice/epochs", damaged)
        assert LocalLockService(fs, runtime).open_session("me").lock("/lock") > before + 1_000_000
        (kept,) = fs.list_files("lockservice/damaged")
        assert fs.read_file(kept.path) == damaged

    runtime.run(body)


@pytest.mark.parametrize(
    "path",
    [
        "/incarnations",
        "/identifiers/tablet",
        "/servers/00000001-0000abcd",
        "/access/positions",
        "/access/grants",
        "/access/quotas",
        "/balancer",
        "/normalizer",
        "/splits",
        "/merges",
        "/suspects/requests",
    ],
)
def test_damaged_files_that_can_be_made_anew_are_set_aside_at_the_start(path: str) -> None:
    runtime = SimulatedRuntime(1)
    fs = MemoryFileSystem(runtime)

    def body() -> None:
        LocalLockService(fs, runtime).open_session("me").create(path, b"1")
        stored = f"lockservice/files/{path[1:].replace('/', '.s')}"
        fs.write_file(stored, fs.read_file(stored)[:-1])
        session = LocalLockService(fs, runtime).open_session("me")
        with pytest.raises(FileNotFound):
            session.read(path)
        assert len(fs.list_files("lockservice/damaged")) == 1

    runtime.run(body)


def test_a_full_disk_leaves_the_file_and_a_lost_answer_is_read_again() -> None:
    runtime = SimulatedRuntime(1)
    plan = FaultPlan()
    fs = FaultyFileSystem(MemoryFileSystem(runtime), plan, runtime)

    def body() -> None:
        session = LocalLockService(fs, runtime).open_session("me")
        session.create("/a", b"1")
        plan.fail("write_file", OutOfSpace("full"), path="lockservice/files/")
        with pytest.raises(OutOfSpace):
            session.write("/a", b"2", 1)
        assert session.read("/a") == VersionedFile(b"1", 1)
        plan.fail("write_file", OutcomeUnknown("no answer"), path="lockservice/files/", applied=True)
        with pytest.raises(OutcomeUnknown):
            session.write("/a", b"2", 1)
        assert session.read("/a") == VersionedFile(b"2", 2)
        assert session.write("/a", b"3", 2) == 3

    runtime.run(body)


def test_a_write_that_waits_for_its_turn_is_refused_when_its_session_ends_meanwhile() -> None:
    runtime = SimulatedRuntime(1)
    plan = FaultPlan()
    fs = FaultyFileSystem(MemoryFileSystem(runtime), plan, runtime)

    def body() -> None:
        service = LocalLockService(fs, runtime)
        slow, ending = service.open_session("slow"), service.open_session("ending")
        slow.create("/a", b"1")
        plan.delay("write_file", 1.0)
        first = runtime.spawn(slow.create, "/b", b"")
        runtime.sleep(0.1)
        late = runtime.spawn(ending.write, "/a", b"2", 1)
        runtime.sleep(0.1)
        ending.close()
        assert first.join(5.0)
        assert late.join(5.0)
        assert isinstance(late.error, LockLost)
        assert slow.read("/a") == VersionedFile(b"1", 1)

    runtime.run(body)


class SlowAnswers:
    """A store whose answers are on their way for a while: what they say may be old when they arrive."""

    def __init__(self, inner: MemoryFiles, runtime: SimulatedRuntime) -> None:
        self.remove, self.paths, self.reserve_numbers = inner.remove, inner.paths, inner.reserve_numbers
        self._inner = inner
        self._runtime = runtime

    def load(self, path: str) -> VersionedFile | None:
        answer = self._inner.load(path)
        self._runtime.sleep(self._runtime.random.random())
        return answer

    def put(self, path: str, file: VersionedFile) -> None:
        self._inner.put(path, file)
        self._runtime.sleep(self._runtime.random.random())


def _read_beside_write(seed: int) -> VersionedFile:
    runtime = SimulatedRuntime(seed)
    files = MemoryFiles()
    files.put("/a", VersionedFile(b"1", 1))

    def body() -> VersionedFile:
        session = SessionTable(runtime, SlowAnswers(files, runtime)).open_session("me", runtime)
        for task in [runtime.spawn(session.read, "/a"), runtime.spawn(session.write, "/a", b"2", 1)]:
            task.join()
            assert task.error is None
        return session.read("/a")

    return runtime.run(body)


def test_a_slow_read_beside_a_write_does_not_hide_what_was_written() -> None:
    assert {_read_beside_write(seed) for seed in range(20)} == {VersionedFile(b"2", 2)}


class Lives:
    """A counter that is written until a crash, again and again over the same disk."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.chance = random.Random(seed)
        self.epochs: list[int] = []
        self.acknowledged = 0
        self.disk = MemoryDisk()

    def live(self, life: int) -> None:
        runtime = SimulatedRuntime(self.seed * 1000 + life)
        fs = MemoryFileSystem(runtime, self.disk)
        runtime.run(self._main, runtime, fs, life)
        self.disk = fs.crash_clone(self.chance).disk
        runtime.crash()

    def _main(self, runtime: SimulatedRuntime, fs: MemoryFileSystem, life: int) -> None:
        session = LocalLockService(fs, runtime).open_session("me")
        self.epochs.append(session.lock("/master"))
        if life == 0:
            session.create("/counter", b"0")
        value = int(session.read("/counter").data)
        assert value in (self.acknowledged, self.acknowledged + 1), "at most the write under way is new"
        self.acknowledged = value
        runtime.spawn(self._count, session)
        runtime.sleep(self.chance.random() / 10)

    def _count(self, session: Session) -> None:
        version = session.read("/counter").version
        while True:
            value = self.acknowledged + 1
            version = session.write("/counter", b"%d" % value, version)
            self.acknowledged = value


def test_over_crashes_no_epoch_comes_twice_and_no_acknowledged_write_is_lost() -> None:
    for seed in range(30):
        lives = Lives(seed)
        for life in range(4):
            lives.live(life)
        assert lives.epochs == sorted(set(lives.epochs))
        assert lives.acknowledged > 0


def test_numbers_are_reserved_in_blocks(tmp_path: Path) -> None:
    runtime = SimulatedRuntime(1)
    plan = FaultPlan()
    fs = FaultyFileSystem(MemoryFileSystem(runtime), plan, runtime)

    def body() -> None:
        session = LocalLockService(fs, runtime).open_session("me")
        for number in range(200):
            session.lock(f"/l{number}")
        assert [call for call in plan.calls if call[0] == "write_file"] == [("write_file", "lockservice/epochs")]
        assert DurableFiles(fs).reserve_numbers(5) == 1001
        assert DurableFiles(fs).reserve_numbers(5) == 1006

    runtime.run(body)
