"""A session whose granted length is refused."""

import pytest

from hbtable.errors import InvalidConfiguration, Unavailable
from hbtable.lockservice.zookeeper import lock_service, wire
from hbtable.lockservice.zookeeper.lock_service import ZooKeeperLockService
from hbtable.lockservice.zookeeper.options import ZooKeeperOptions
from hbtable.lockservice.zookeeper.wire import Credentials, Granted
from hbtable.runtime.gevent_runtime import GeventRuntime

GRANTED = Granted(Credentials(7, bytes(16)), 400)


@pytest.mark.parametrize("away", [False, True], ids=["closed", "left to end by itself"])
def test_a_session_of_another_length_is_refused_before_anything_is_done_in_it(
    monkeypatch: pytest.MonkeyPatch, away: bool
) -> None:
    """It may be over before a connection that carries it is made, which then complains, at length, of that."""
    closed: list[Credentials] = []
    carried: list[Granted] = []

    def close(hosts: object, credentials: Credentials, seconds: float) -> bool:
        closed.append(credentials)
        if away:
            raise Unavailable("nobody answers")
        return True

    def refuse(seconds: float) -> None:
        raise InvalidConfiguration(f"granted {seconds:g}")

    monkeypatch.setattr(wire, "open_session", lambda *arguments: GRANTED)
    monkeypatch.setattr(wire, "close_session", close)
    monkeypatch.setattr(lock_service, "ZooKeeperSession", lambda *arguments: carried.append(GRANTED))
    runtime = GeventRuntime()
    try:
        with pytest.raises(InvalidConfiguration, match=r"granted 0\.4"):
            ZooKeeperLockService(runtime, "z:2181", "/x", ZooKeeperOptions(0.1)).open_session("test", refuse)
    finally:
        runtime.close()
    assert carried == []
    assert closed == [GRANTED.credentials]
