"""Parts of a dead server's log go through the living servers; what one cannot do, another one does."""

from typing import Any

import pytest

from hbtable.commitlog.options import LogOptions
from hbtable.commitlog.records import encode_record
from hbtable.commitlog.recovery.fencing import fence, give_up
from hbtable.commitlog.recovery.log_ranges import decode_range
from hbtable.commitlog.recovery.recovered_edits import recovered, sorted_runs
from hbtable.commitlog.recovery.sorted_runs import list_path
from hbtable.commitlog.recovery.sorting import sort_range
from hbtable.commitlog.segments.segment import decode_header, encode_header, log_folder, segment_path
from hbtable.commitlog.segments.writer import LogWriter
from hbtable.errors import Corruption, HbtableError, LockLost, StaleLocation, Unavailable
from hbtable.fs.interface import HDFS
from hbtable.fs.memory import MemoryFileSystem
from hbtable.lockservice.paths import server_file, server_lock
from hbtable.master.servers.liveness import expire_server
from hbtable.master.servers.log_sorting import LogSorting, LogSortingOptions
from hbtable.metrics.registry import Registry
from hbtable.testing.memory_lockservice import MemoryLockService
from hbtable.testing.simulated.runtime import SimulatedRuntime
from tests.harness.delegating_fake import DelegatingFake

NAME = "00000001-dead"
FOLDER = log_folder(NAME)


class Server:
    """A TabletAdmin's sorting. `error`: what it answers instead; `seconds`: how long it takes."""

    def __init__(self, bench: "Bench", error: HbtableError | None = None, seconds: float = 0.0) -> None:
        self.bench = bench
        self.error = error
        self.seconds = seconds
        self.asked: list[tuple[int, int]] = []

    def sort_log_part(self, epoch: int, incarnation: str, part: bytes):
        assert incarnation == NAME
        segments = decode_range(part)
        self.asked.append((epoch, segments[0].number))
        if self.seconds:
            self.bench.runtime.sleep(self.seconds)
        if self.error is not None:
            raise self.error
        return sort_range(self.bench.runtime, self.bench.fs, FOLDER, segments)


class Shared:
    """A memory file system as one of kind hdfs."""

    log_kind = HDFS

    def __init__(self, memory: MemoryFileSystem) -> None:
        self._memory = memory

    def __getattr__(self, name: str):
        return getattr(self._memory, name)


class Bench:
    def __init__(self) -> None:
        self.runtime = SimulatedRuntime(5)
        self.fs = MemoryFileSystem(self.runtime)
        self.servers: dict[str, Server] = {}
        self.expired: list[str] = []
        self.lives = False

    def tablet_admin(self, name: str) -> Server:
        if name not in self.servers:
            raise StaleLocation(f"{name} is gone")
        return self.servers[name]

    def expire(self, name: str) -> bool:
        self.expired.append(name)
        return not self.lives

    def write(self) -> None:
        options = LogOptions(durability="os", segment_bytes=2000)
        log = LogWriter(self.runtime, self.fs, FOLDER, options, Registry())  # type: ignore[arg-type]
        for n in range(1, 201):
            key = b"row%d\x00\x01f\x00q\x00\x01" % n + bytes(18)
            log.commit(n % 3, n, encode_record(n % 3, 1, n, 0, [(key, b"%d" % n)]), lambda: None)
        log.close()

    def write_segments(self, count: int) -> None:
        """Each with one record of tablet 1."""
        options = LogOptions(durability="os", segment_bytes=450)
        log = LogWriter(self.runtime, self.fs, FOLDER, options, Registry())  # type: ignore[arg-type]
        for n in range(1, count + 1):
            key = b"row%d\x00\x01f\x00q\x00\x01" % n + bytes(18)
            log.commit(1, n, encode_record(1, 1, n, 0, [(key, b"v" * 400)]), lambda: None)
        log.close()

    def sort(self, *living: str) -> None:
        def main() -> None:
            self.write()
            options = LogSortingOptions(part_bytes=4000, patience_seconds=3.0)
            LogSorting(self.runtime, self.fs, self, self.expire, options).sort(7, NAME, living)  # type: ignore[arg-type]

        self.runtime.run(main)

    def check(self) -> None:
        def main() -> None:
            runs = sorted_runs(self.fs, FOLDER)
            assert runs is not None
            assert len(runs) > 4
            assert [run.first for run in runs] == sorted({run.first for run in runs})
            for tablet in range(3):
                found = [record.sequence for record in recovered(self.fs, FOLDER, tablet, 0)]
                assert found == [n for n in range(1, 201) if n % 3 == tablet]

        self.runtime.run(main)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_every_living_server_sorts_ranges_with_the_master_s_epoch(bench) -> None:
    bench.servers = {name: Server(bench) for name in "abc"}
    bench.sort(*"abc")
    bench.check()
    asked = [server.asked for server in bench.servers.values()]
    assert all(asked)
    parts = sorted(part for server in asked for _, part in server)
    assert parts == sorted(set(parts))
    assert {epoch for server in asked for epoch, _ in server} == {7}
    assert bench.expired == [NAME]


@pytest.mark.parametrize("error", [Unavailable("busy"), StaleLocation("connection lost")])
def test_ranges_of_servers_that_fail_are_done_by_the_others(bench, error) -> None:
    bench.servers = {"a": Server(bench, error), "b": Server(bench)}
    bench.sort("a", "b", "gone")
    bench.check()
    assert len(bench.servers["a"].asked) == 1


def test_the_master_sorts_alone_when_no_server_lives_or_all_fail(bench) -> None:
    bench.servers = {"a": Server(bench, Unavailable("busy"))}
    bench.sort("a")
    bench.check()
    alone = Bench()
    alone.sort()
    alone.check()


def test_a_log_that_was_given_up_has_no_records_whatever_its_server_still_wrote(bench) -> None:
    bench.fs = Shared(bench.fs)

    def main() -> None:
        bench.write()
        fence(bench.runtime, bench.fs, NAME)
        give_up(bench.runtime, bench.fs, NAME)
        bench.fs.delete_folder(FOLDER)
        bench.fs.write_file(f"{FOLDER}/0000000007.log", b"late")
        LogSorting(bench.runtime, bench.fs, bench, bench.expire).sort(7, NAME, [])
        assert list(recovered(bench.fs, FOLDER, 1, 1)) == []

    bench.runtime.run(main)


@pytest.mark.parametrize("others", ["", "b"])
def test_nobody_waits_long_for_a_server_that_froze(bench, others) -> None:
    bench.servers = {"a": Server(bench, seconds=1000.0)} | {name: Server(bench) for name in others}
    began = bench.runtime.clock_seconds()
    bench.sort("a", *others)
    assert bench.runtime.clock_seconds() - began < 10
    bench.check()


def test_damage_ends_the_sorting_and_leaves_no_list(bench) -> None:
    bench.servers = {"a": Server(bench, Corruption("f", 0, "damaged")), "b": Server(bench)}
    with pytest.raises(Corruption):
        bench.sort("a", "b")
    assert not bench.runtime.run(bench.fs.exists, list_path(FOLDER))


def test_a_deposed_master_is_told_so(bench) -> None:
    bench.servers = {"a": Server(bench, LockLost("succeeded"))}
    with pytest.raises(LockLost):
        bench.sort("a")


def test_the_log_of_a_server_that_lives_is_not_touched(bench) -> None:
    bench.lives = True
    with pytest.raises(Unavailable):
        bench.sort("a")
    assert not any("sorted" in path for path in bench.fs.disk.files)


def test_a_server_is_expired_when_its_lock_is_free_and_only_then() -> None:
    runtime = SimulatedRuntime(1)
    service = MemoryLockService(runtime)

    def main() -> None:
        server, master, other = (service.open_session(name) for name in ("server", "master", "other"))
        server.lock(server_lock(NAME))
        server.create(server_file(NAME), b"{}")
        assert not expire_server(master, NAME)
        # Nor by whoever shares the session: one process may be both.
        assert not expire_server(server, NAME)
        server.unlock(server_lock(NAME))
        other.lock(server_lock(NAME), b"buried")  # a master that was held up half-way
        assert not expire_server(master, NAME)
        other.close()
        assert expire_server(master, NAME)
        assert expire_server(master, NAME)
        assert master.list("/servers") == []

    runtime.run(main)


class Far(DelegatingFake):
    """A file system of which each file's reads, and its seal, take a while."""

    def __init__(self, inner, runtime: SimulatedRuntime, seconds: float) -> None:
        super().__init__(inner)
        self._runtime, self._seconds = runtime, seconds

    def open(self, path: str):
        self._runtime.sleep(self._seconds)
        return self.inner.open(path)

    def read_file(self, path: str) -> bytes:
        self._runtime.sleep(self._seconds)
        return self.inner.read_file(path)

    def seal(self, path: str) -> int:
        self._runtime.sleep(self._seconds)
        return self.inner.seal(path)


@pytest.mark.parametrize("left", [0, 190])
def test_a_log_of_many_segments_is_recovered_in_a_few_rounds_of_reads(left: int) -> None:
    """METADATA waits for it. `left`: of 200 segments, those that were given up before their first group, as on a file
    system that is slow: none of them is followed by another one."""
    bench, seconds = Bench(), 0.5

    def main() -> float:
        bench.write_segments(200 - left)
        paths = sorted(status.path for status in bench.fs.list_files(FOLDER) if status.path.endswith(".log"))
        last = len(paths)
        header = decode_header(bench.fs.read_file(paths[-1])[:512], paths[-1], NAME, last)
        for number in range(last + 1, last + 1 + left):
            given_up = header._replace(number=number)
            bench.fs.write_file(segment_path(FOLDER, number), encode_header(given_up))
        assert last + left >= 200
        fs = Far(Shared(bench.fs), bench.runtime, seconds)
        began = bench.runtime.clock_seconds()
        LogSorting(bench.runtime, fs, bench, bench.expire).sort(7, NAME, [])  # type: ignore[arg-type]
        took = bench.runtime.clock_seconds() - began
        assert [record.sequence for record in recovered(bench.fs, FOLDER, 1, 1)] == list(range(1, 201 - left))
        return took

    took = bench.runtime.run(main)
    assert took < seconds * 200 / 3, "sealed, and looked at, by sixteen; sorted by eight"


class Away(Far):
    """One of which one kind of call takes as long, and then fails, for each segment but the `last`."""

    def __init__(self, inner: object, runtime: SimulatedRuntime, seconds: float, call: str, last: str) -> None:
        super().__init__(inner, runtime, 0.0)
        self._away, self._call, self._last = seconds, getattr(inner, call), last
        setattr(self, call, self._fails)

    def _fails(self, path: str) -> Any:
        if not path.endswith(".log") or path == self._last:
            return self._call(path)
        self._runtime.sleep(self._away)
        raise Unavailable(f"no answer about {path}")


@pytest.mark.parametrize("call", ["seal", "open", "read_file"])
def test_a_file_system_that_is_away_is_told_by_the_first_files_that_cannot_be_had(call: str) -> None:
    """The master is not to wait for each of 200 before it looks at its cluster again."""
    bench, seconds = Bench(), 30.0

    def main() -> float:
        bench.write_segments(200)
        last = max(status.path for status in bench.fs.list_files(FOLDER) if status.path.endswith(".log"))
        fs = Away(Shared(bench.fs), bench.runtime, seconds, call, last)
        began = bench.runtime.clock_seconds()
        with pytest.raises(Unavailable, match="no answer about"):
            LogSorting(bench.runtime, fs, bench, bench.expire).sort(7, NAME, [])  # type: ignore[arg-type]
        return bench.runtime.clock_seconds() - began

    assert bench.runtime.run(main) < 2 * seconds
