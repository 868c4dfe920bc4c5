"""What a session does when ZooKeeper, the network or its own process stands still for a while."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread

import pytest
from kazoo.client import KazooClient

from hbtable.errors import LockLost, OutcomeUnknown, Unavailable
from hbtable.lockservice.zookeeper.lock_service import ZooKeeperLockService, ZooKeeperSession
from hbtable.lockservice.zookeeper.options import ZooKeeperOptions
from hbtable.lockservice.zookeeper.wire import close_session, parse_hosts
from hbtable.runtime.gevent_runtime import GeventRuntime
from tests.harness.real_servers import ZooKeeperServer
from tests.harness.tiers import long_test
from tests.harness.waiting import SOON_SECONDS, RunningTime, eventually, freeze, in_time

SESSION_SECONDS = in_time(3.0)
CALL_SECONDS = SESSION_SECONDS / 2
LONG_SECONDS = 60.0
"""Of a session whose own end would come so late that what ends before half of it was something else."""
PROGRAM = str(Path(__file__).with_name("zookeeper_client.py"))


class Bench:
    """Opens sessions on one root, and waits for what must come soon."""

    def __init__(self, server: ZooKeeperServer, root: str) -> None:
        self.runtime = GeventRuntime()
        self.server = server
        self.root = root
        self.sessions: list[ZooKeeperSession] = []

    def session(
        self, session_seconds: float = SESSION_SECONDS, call_seconds: float = SOON_SECONDS, name: str = "test"
    ) -> ZooKeeperSession:
        """Its calls wait for a machine that stands still, unless they are to end sooner."""
        options = ZooKeeperOptions(session_seconds, call_seconds=call_seconds)
        session = ZooKeeperLockService(self.runtime, self.server.address, self.root, options).open_session(name)
        self.sessions.append(session)
        return session

    def until(self, what: Callable[[], object]) -> float:
        """How long it was not so: what was asked for the last time before `what` was so counts, not when the answer was
        looked at. Time in which this process stood still does not count."""
        running = RunningTime(self.runtime.clock_seconds, self.runtime.sleep)
        asked = 0.0
        while True:
            before, asked = asked, running.seconds()
            if what():
                return before
            assert asked < SOON_SECONDS, "it takes too long"
            running.pause(0.005)

    def free(self, watcher: ZooKeeperSession, lock: str) -> bool:
        return watcher.holder(lock) is None


@pytest.fixture
def bench(zookeeper_server: ZooKeeperServer, own_folder: str) -> Iterator[Bench]:
    bench = Bench(zookeeper_server, own_folder)
    yield bench
    for session in bench.sessions:
        session.close()
    bench.runtime.close()


def test_a_server_that_is_away_for_less_than_the_lease_is_hardly_noticed(bench: Bench) -> None:
    session = bench.session(session_seconds=60.0, call_seconds=50.0)
    epoch = session.lock("/master")
    states: set[bool] = set()
    bench.runtime.spawn(_sample, bench, session, states)
    bench.server.stop()
    starting = Thread(target=bench.server.start)
    starting.start()
    try:
        session.create("/x", b"")  # waits until it is back, and is done once
    finally:
        starting.join()
    assert session.read("/x") == (b"", 1)
    assert session.lock("/master") == epoch
    assert states == {True}


def _sample(bench: Bench, session: ZooKeeperSession, states: set[bool]) -> None:
    while not session.over():
        states.add(session.valid())
        bench.runtime.sleep(0.01)


@long_test("ZooKeeper away for long")
def test_away_for_longer_it_suspends_sessions_and_ends_none(bench: Bench) -> None:
    """ZooKeeper gives each session its full time again when it starts."""
    session, quick = bench.session(), bench.session(call_seconds=CALL_SECONDS)
    epoch = session.lock("/master")
    changes: list[str] = []
    session.watch("/servers", lambda: changes.append("changed"))
    bench.server.stop()
    try:
        assert bench.until(lambda: not session.valid()) < 0.86 * SESSION_SECONDS
        begin = bench.runtime.clock_seconds()
        with pytest.raises(Unavailable):
            quick.read("/x")
        with pytest.raises(Unavailable):
            quick.create("/x", b"")
        assert bench.runtime.clock_seconds() - begin < 2 * CALL_SECONDS + SESSION_SECONDS
        with pytest.raises(Unavailable):
            bench.session(call_seconds=CALL_SECONDS)
        bench.runtime.sleep(SESSION_SECONDS)
        assert not session.valid()
        assert not session.over(), "only the service knows that"
    finally:
        bench.server.start()
    bench.until(session.valid)
    assert session.lock("/master") == epoch
    bench.until(lambda: changes)  # what happened meanwhile is unknown: everything is to be read again
    changes.clear()
    session.create("/servers/a", b"")
    bench.until(lambda: changes)


def test_a_frozen_server_leaves_changes_in_doubt_and_reads_unavailable(bench: Bench) -> None:
    session = bench.session(call_seconds=CALL_SECONDS)
    bench.session().create("/x", b"1")
    bench.server.freeze()
    try:
        begin = bench.runtime.clock_seconds()
        with pytest.raises((OutcomeUnknown, Unavailable)):
            session.lock("/other")
        with pytest.raises(Unavailable):
            session.read("/x")
        assert bench.runtime.clock_seconds() - begin < 2 * CALL_SECONDS + SESSION_SECONDS
        assert bench.runtime.clock_seconds() - begin + bench.until(lambda: not session.valid()) < 2 * SESSION_SECONDS
        bench.runtime.sleep(SESSION_SECONDS)
        assert not session.over()
    finally:
        bench.server.thaw()
    # Whether it ended the session in the moment it went on is its own affair; one of the two is known soon.
    bench.until(lambda: session.over() or session.valid())


def test_a_frozen_server_that_comes_back_in_time_loses_nothing(bench: Bench) -> None:
    while (stayed_valid := _frozen_for_a_fifth_of_a_session(bench)) is None:
        pass  # this machine stood still meanwhile, and the session may be over
    assert stayed_valid


def _frozen_for_a_fifth_of_a_session(bench: Bench) -> bool | None:
    session = bench.session()
    epoch = session.lock("/master")
    begin = bench.runtime.clock_seconds()
    bench.server.freeze()
    bench.runtime.sleep(SESSION_SECONDS / 5)
    stayed_valid = session.valid()
    bench.server.thaw()
    if bench.runtime.clock_seconds() - begin > SESSION_SECONDS / 3:
        session.close()
        return None
    assert session.lock("/master") == epoch
    bench.runtime.sleep(SESSION_SECONDS)
    bench.until(session.valid)
    return stayed_valid


def test_a_session_closed_from_outside_is_over_for_ever(bench: Bench) -> None:
    session, other = bench.session(), bench.session()
    session.lock("/master")
    begin = time.monotonic()
    hosts = parse_hosts(bench.server.address)
    assert close_session(hosts, session.credentials, in_time(5.0))
    assert bench.free(other, "/master"), "it is free on return"
    print(f"closed and seen free in {1000 * (time.monotonic() - begin):.1f} ms")
    bench.until(session.over)
    assert not session.valid()
    assert not close_session(hosts, session.credentials, in_time(5.0)), "it was over already"
    for call in (lambda: session.lock("/master"), lambda: session.create("/x", b""), lambda: session.read("/x")):
        with pytest.raises(LockLost):
            call()
    bench.runtime.sleep(1)
    assert other.list("/") == [], "nothing was done in a new session"
    session.close()


def test_a_lock_that_somebody_took_away_ends_the_session(bench: Bench) -> None:
    session, other = bench.session(LONG_SECONDS), bench.session()
    session.lock("/master")
    client = KazooClient(bench.server.address)
    try:
        client.start(timeout=SOON_SECONDS)
        client.delete(f"{bench.root}/master")
    finally:
        client.stop()
        client.close()
    assert bench.until(session.over) < LONG_SECONDS / 2
    assert bench.free(other, "/master")


class Program:
    """zookeeper_client.py in a process of its own."""

    def __init__(self, bench: Bench, lock: str, session_seconds: float = SESSION_SECONDS) -> None:
        self.process = subprocess.Popen(
            [sys.executable, PROGRAM, bench.server.address, bench.root, str(session_seconds), lock],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.lines: list[tuple[float, str]] = []
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            at, state = line.split()
            self.lines.append((float(at), state))

    def states(self, since: float = 0) -> list[str]:
        """`since`: of the clock that is the same in all processes."""
        return [state for at, state in list(self.lines) if at >= since]

    def is_valid(self) -> bool:
        return self.states()[-1:] == ["valid"]

    def ended(self) -> int:
        """The exit code of one that ends by itself; its last line was read on return."""
        code = self.process.wait(SOON_SECONDS)
        self._reader.join()
        return code

    def end(self) -> None:
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()
        self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture
def program(bench: Bench) -> Iterator[Program]:
    program = Program(bench, "/held")
    yield program
    program.end()


@pytest.fixture
def long_lived(bench: Bench) -> Iterator[Program]:
    """Its session outlives a stop of SESSION_SECONDS / 3, though this machine stands still for as long besides."""
    program = Program(bench, "/held", 2 * SESSION_SECONDS)
    yield program
    program.end()


def test_a_process_stopped_past_its_session_never_calls_itself_valid_again(bench: Bench, program: Program) -> None:
    watcher = bench.session()
    bench.until(program.is_valid)
    freeze(program.process.pid)
    stopped = bench.runtime.clock_seconds()
    bench.until(lambda: bench.free(watcher, "/held"))
    watcher.lock("/held")
    program.process.send_signal(signal.SIGCONT)
    woken = bench.runtime.clock_seconds()
    assert program.ended() == 3
    print(f"over {program.lines[-1][0] - woken:.3f} s after waking")
    assert program.states(stopped) in (["suspended", "over"], ["over"])
    assert program.lines[-1][0] - woken < SESSION_SECONDS, "test_zombies.py measures it, when nothing runs beside it"


def test_a_process_stopped_for_less_goes_on(bench: Bench, long_lived: Program) -> None:
    bench.until(long_lived.is_valid)
    freeze(long_lived.process.pid)
    bench.runtime.sleep(SESSION_SECONDS / 3)
    long_lived.process.send_signal(signal.SIGCONT)
    bench.runtime.sleep(SESSION_SECONDS)
    bench.until(long_lived.is_valid)
    assert set(long_lived.states()) <= {"valid", "suspended"}


def test_without_a_supervisor_a_killed_process_keeps_its_locks_until_the_timeout(
    bench: Bench, program: Program
) -> None:
    watcher = bench.session()
    bench.until(program.is_valid)
    begin = bench.runtime.clock_seconds()
    program.process.kill()
    took = bench.until(lambda: bench.free(watcher, "/held"))
    print(f"free {took:.3f} s after kill -9, session {SESSION_SECONDS} s")
    # Counted from its last sign of life, which is some time ago, and longer when this machine has stood still since.
    assert bench.runtime.clock_seconds() - begin > SESSION_SECONDS / 10
    assert took < 3 * SESSION_SECONDS


def test_with_a_supervisor_a_killed_process_loses_its_locks_at_once(bench: Bench) -> None:
    """kill -9 of the child, seen from another session; the supervisor goes on with the next child."""
    watcher = bench.session()
    child = [sys.executable, PROGRAM, bench.server.address, bench.root, str(LONG_SECONDS), "/held"]
    code = f"import sys; from hbtable.launch.roles.supervisor import supervise; sys.exit(supervise({child!r}))"
    supervisor = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    took: list[float] = []
    try:
        for _ in range(5):
            bench.until(lambda: not bench.free(watcher, "/held"))
            bench.runtime.sleep(0.2)
            os.kill(_child_of(supervisor.pid), signal.SIGKILL)
            took.append(bench.until(lambda: bench.free(watcher, "/held")))
        bench.until(lambda: not bench.free(watcher, "/held"))
    finally:
        supervisor.send_signal(signal.SIGTERM)
        code = supervisor.wait(SOON_SECONDS)
    assert code == 128 + signal.SIGTERM, "the child's end, which has no handler for it"
    assert bench.free(watcher, "/held")
    print("locks free after kill -9, ms:", sorted(round(1000 * one, 1) for one in took))
    assert max(took) < LONG_SECONDS / 2, "without a supervisor it is the whole of a session, but for its last pause"


def _child_of(pid: int) -> int:
    children = Path(f"/proc/{pid}/task/{pid}/children")
    found: list[str] = []
    eventually(lambda: bool(found.extend(children.read_text().split()) or found), SOON_SECONDS, "the next child")
    return int(found[0])
