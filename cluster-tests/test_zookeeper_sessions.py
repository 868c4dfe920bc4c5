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
from hbtable.lockservice.zookeeper import ZooKeeperLockService, ZooKeeperOptions, ZooKeeperSession
from hbtable.lockservice.zookeeper_wire import close_session, parse_hosts
from hbtable.runtime.gevent_runtime import GeventRuntime
from tests.harness.real_servers import ZooKeeperServer

SESSION_SECONDS = 3.0
CALL_SECONDS = 1.5
PROGRAM = str(Path(__file__).with_name("zookeeper_client.py"))


class Bench:
    """Opens sessions on one root, and waits for what must come soon."""

    def __init__(self, server: ZooKeeperServer, root: str) -> None:
        self.runtime = GeventRuntime()
        self.server = server
        self.root = root
        self.service = ZooKeeperLockService(
            self.runtime, server.address, root, ZooKeeperOptions(SESSION_SECONDS, call_seconds=CALL_SECONDS)
        )
        self.sessions: list[ZooKeeperSession] = []

    def session(self) -> ZooKeeperSession:
        session = self.service.open_session("test")
        self.sessions.append(session)
        return session

    def within(self, seconds: float, what: Callable[[], object]) -> float:
        """How long it took until `what` was so."""
        begin = self.runtime.clock_seconds()
        while not what():
            assert self.runtime.clock_seconds() - begin < seconds, "it takes too long"
            self.runtime.sleep(0.005)
        return self.runtime.clock_seconds() - begin

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
    patient = ZooKeeperOptions(session_seconds=20.0, call_seconds=15.0)
    session = ZooKeeperLockService(bench.runtime, bench.server.address, bench.root, patient).open_session("patient")
    bench.sessions.append(session)
    epoch = session.lock("/master")
    states: set[bool] = set()
    bench.runtime.spawn(_sample, bench, session, states)
    bench.server.stop()
    starting = Thread(target=bench.server.start)
    starting.start()
    session.create("/x", b"")  # waits until it is back, and is done once
    assert session.read("/x") == (b"", 1)
    assert session.lock("/master") == epoch
    assert states == {True}
    starting.join()


def _sample(bench: Bench, session: ZooKeeperSession, states: set[bool]) -> None:
    while not session.over():
        states.add(session.valid())
        bench.runtime.sleep(0.01)


def test_away_for_longer_it_suspends_sessions_and_ends_none(bench: Bench) -> None:
    """ZooKeeper gives each session its full time again when it starts."""
    session = bench.session()
    epoch = session.lock("/master")
    changes: list[str] = []
    session.watch("/servers", lambda: changes.append("changed"))
    bench.server.stop()
    try:
        assert bench.within(SESSION_SECONDS, lambda: not session.valid()) < 0.86 * SESSION_SECONDS
        begin = bench.runtime.clock_seconds()
        with pytest.raises(Unavailable):
            session.read("/x")
        with pytest.raises(Unavailable):
            session.create("/x", b"")
        assert bench.runtime.clock_seconds() - begin < 2 * CALL_SECONDS + 0.5
        with pytest.raises(Unavailable):
            bench.session()
        bench.runtime.sleep(SESSION_SECONDS)
        assert not session.valid()
        assert not session.over(), "only the service knows that"
    finally:
        bench.server.start()
    bench.within(5, session.valid)
    assert session.lock("/master") == epoch
    bench.within(5, lambda: changes)  # what happened meanwhile is unknown: everything is to be read again
    changes.clear()
    session.create("/servers/a", b"")
    bench.within(5, lambda: changes)


def test_a_frozen_server_leaves_changes_in_doubt_and_reads_unavailable(bench: Bench) -> None:
    session = bench.session()
    session.lock("/master")
    session.create("/x", b"1")
    bench.server.freeze()
    try:
        begin = bench.runtime.clock_seconds()
        with pytest.raises((OutcomeUnknown, Unavailable)):
            session.lock("/other")
        with pytest.raises(Unavailable):
            session.read("/x")
        assert bench.runtime.clock_seconds() - begin < 2 * CALL_SECONDS + 0.5
        bench.within(SESSION_SECONDS, lambda: not session.valid())
        bench.runtime.sleep(SESSION_SECONDS)
        assert not session.over()
    finally:
        bench.server.thaw()
    # Whether it ended the session in the moment it went on is its own affair; one of the two is known soon.
    bench.within(5, lambda: session.over() or session.valid())


def test_a_frozen_server_that_comes_back_in_time_loses_nothing(bench: Bench) -> None:
    session = bench.session()
    epoch = session.lock("/master")
    bench.server.freeze()
    bench.runtime.sleep(0.6)
    assert session.valid()
    bench.server.thaw()
    assert session.lock("/master") == epoch
    bench.runtime.sleep(SESSION_SECONDS)
    assert session.valid()


def test_a_session_closed_from_outside_is_over_for_ever(bench: Bench) -> None:
    session, other = bench.session(), bench.session()
    session.lock("/master")
    begin = time.monotonic()
    hosts = parse_hosts(bench.server.address)
    assert close_session(hosts, session.credentials, 5.0)
    assert bench.free(other, "/master"), "it is free on return"
    print(f"closed and seen free in {1000 * (time.monotonic() - begin):.1f} ms")
    bench.within(1, session.over)
    assert not session.valid()
    assert not close_session(hosts, session.credentials, 5.0), "it was over already"
    for call in (lambda: session.lock("/master"), lambda: session.create("/x", b""), lambda: session.read("/x")):
        with pytest.raises(LockLost):
            call()
    bench.runtime.sleep(1)
    assert other.list("/") == [], "nothing was done in a new session"
    session.close()


def test_a_lock_that_somebody_took_away_ends_the_session(bench: Bench) -> None:
    session, other = bench.session(), bench.session()
    session.lock("/master")
    client = KazooClient(bench.server.address)
    client.start()
    client.delete(f"{bench.root}/master")
    client.stop()
    client.close()
    bench.within(SESSION_SECONDS / 2, session.over)
    assert bench.free(other, "/master")


class Program:
    """zookeeper_client.py in a process of its own."""

    def __init__(self, bench: Bench, lock: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, PROGRAM, bench.server.address, bench.root, str(SESSION_SECONDS), lock],
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

    def states(self) -> list[str]:
        return [state for _, state in self.lines]

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture
def program(bench: Bench) -> Iterator[Program]:
    program = Program(bench, "/held")
    yield program
    program.process.send_signal(signal.SIGCONT)
    program.end()


def test_a_process_stopped_past_its_session_never_calls_itself_valid_again(bench: Bench, program: Program) -> None:
    watcher = bench.session()
    bench.within(10, lambda: program.states() == ["valid"])
    program.process.send_signal(signal.SIGSTOP)
    bench.within(3 * SESSION_SECONDS, lambda: bench.free(watcher, "/held"))
    watcher.lock("/held")
    program.process.send_signal(signal.SIGCONT)
    woken = bench.runtime.clock_seconds()
    assert program.process.wait(5) == 3
    print(f"over {program.lines[-1][0] - woken:.3f} s after waking")
    assert program.states() in (["valid", "suspended", "over"], ["valid", "over"])
    assert program.lines[-1][0] - woken < 1.0


def test_a_process_stopped_for_less_goes_on(bench: Bench, program: Program) -> None:
    bench.within(10, lambda: program.states() == ["valid"])
    program.process.send_signal(signal.SIGSTOP)
    bench.runtime.sleep(SESSION_SECONDS / 3)
    program.process.send_signal(signal.SIGCONT)
    bench.runtime.sleep(SESSION_SECONDS)
    assert set(program.states()) <= {"valid", "suspended"}
    assert program.states()[-1] == "valid"


def test_without_a_supervisor_a_killed_process_keeps_its_locks_until_the_timeout(
    bench: Bench, program: Program
) -> None:
    watcher = bench.session()
    bench.within(10, lambda: program.states() == ["valid"])
    program.process.kill()
    took = bench.within(3 * SESSION_SECONDS, lambda: bench.free(watcher, "/held"))
    print(f"free {took:.3f} s after kill -9, session {SESSION_SECONDS} s")
    assert took > SESSION_SECONDS / 2


def test_with_a_supervisor_a_killed_process_loses_its_locks_at_once(bench: Bench) -> None:
    """kill -9 of the child, seen from another session; the supervisor goes on with the next child."""
    watcher = bench.session()
    child = [sys.executable, PROGRAM, bench.server.address, bench.root, str(SESSION_SECONDS), "/held"]
    code = f"import sys; from hbtable.launch.supervisor import supervise; sys.exit(supervise({child!r}))"
    supervisor = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    took: list[float] = []
    try:
        for _ in range(5):
            bench.within(20, lambda: not bench.free(watcher, "/held"))
            bench.runtime.sleep(0.2)
            os.kill(_child_of(supervisor.pid), signal.SIGKILL)
            took.append(bench.within(5, lambda: bench.free(watcher, "/held")))
        bench.within(20, lambda: not bench.free(watcher, "/held"))
    finally:
        supervisor.send_signal(signal.SIGTERM)
    assert supervisor.wait(10) == 128 + signal.SIGTERM, "the child's end, which has no handler for it"
    assert bench.free(watcher, "/held")
    print("locks free after kill -9, ms:", sorted(round(1000 * one, 1) for one in took))
    assert max(took) < 1.0


def _child_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])
