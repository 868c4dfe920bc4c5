"""Quotas in the lock service: changed by several at once, followed by tablet servers."""

import pytest

from hbtable.errors import Corruption, LimitExceeded
from hbtable.lockservice import record_file
from hbtable.lockservice.interface import Session
from hbtable.lockservice.paths import QUOTAS, server_lock
from hbtable.quotas.quotas_file import WatchedQuotas, forget, quotas_file
from hbtable.quotas.settings import NO_QUOTAS, Quotas, Subject, ThrottleSetting, ThrottleType
from hbtable.testing.memory_lockservice import MemoryLockService
from hbtable.testing.simulated.runtime import SimulatedRuntime

ON_TABLE = ThrottleSetting(Subject("", b"", b"t"), ThrottleType.READ_SIZE, 10, 1)
SHARED = ThrottleSetting(Subject("ann"), ThrottleType.READ_SIZE, 10, 1, cluster=True)


@pytest.fixture
def runtime() -> SimulatedRuntime:
    return SimulatedRuntime(1)


@pytest.fixture
def session(runtime: SimulatedRuntime) -> Session:
    return MemoryLockService(runtime).open_session("test")


def test_two_who_change_at_once_lose_nothing(runtime: SimulatedRuntime, session: Session) -> None:
    file = quotas_file(session)

    def run() -> None:
        for task in [
            runtime.spawn(file.change, lambda quotas, user=f"user{number}": quotas.with_exemption(user, True))
            for number in range(20)
        ]:
            task.join()
        assert file.read().exempt == {f"user{number}" for number in range(20)}

    runtime.run(run)


def test_a_change_is_followed_soon(runtime: SimulatedRuntime, session: Session) -> None:
    known: list[tuple[Quotas, int]] = []

    def run() -> None:
        watched = WatchedQuotas(runtime, session, lambda *found: known.append(found))
        watched.start()
        assert known == []
        assert quotas_file(session).change(lambda quotas: quotas.with_throttle(ON_TABLE)).before == NO_QUOTAS
        runtime.sleep(1.0)
        assert known == [(Quotas([ON_TABLE]), 1)]
        forget(session, table=b"t")
        runtime.sleep(1.0)
        assert known[-1] == (NO_QUOTAS, 1)
        watched.stop()

    runtime.run(run)


def test_servers_that_come_are_noticed_while_a_quota_is_shared(runtime: SimulatedRuntime, session: Session) -> None:
    known: list[int] = []

    def run() -> None:
        session.lock(server_lock("s1"))
        watched = WatchedQuotas(runtime, session, lambda _, servers: known.append(servers))
        watched.start()
        quotas_file(session).change(lambda quotas: quotas.with_throttle(SHARED))
        runtime.sleep(10.0)
        assert known == [1]
        session.lock(server_lock("s2"))
        runtime.sleep(10.0)
        assert known == [1, 2]
        watched.stop()

    runtime.run(run)


def test_what_is_known_stays_in_force_while_the_file_cannot_be_understood(
    runtime: SimulatedRuntime, session: Session, caplog: pytest.LogCaptureFixture
) -> None:
    known: list[Quotas] = []

    def run() -> None:
        watched = WatchedQuotas(runtime, session, lambda quotas, _: known.append(quotas))
        quotas_file(session).change(lambda quotas: quotas.with_throttle(ON_TABLE))
        watched.start()
        session.write(QUOTAS, b"Q\1nonsense", session.read(QUOTAS).version)
        runtime.sleep(60.0)
        assert known == [Quotas([ON_TABLE])]
        forget(session, table=b"t")
        with pytest.raises(Corruption):
            quotas_file(session).change(lambda _: NO_QUOTAS)
        watched.stop()

    runtime.run(run)
    assert [one.levelname for one in caplog.records] == ["ERROR", "WARNING"], "once each, however often it is read"


def test_what_does_not_fit_is_refused(
    runtime: SimulatedRuntime, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_file, "MOST_BYTES", 20)
    file = quotas_file(session)

    def run() -> None:
        with pytest.raises(LimitExceeded, match="is the most"):
            file.change(lambda quotas: quotas.with_exemption("a" * 100, True))
        assert file.read() == NO_QUOTAS

    runtime.run(run)
