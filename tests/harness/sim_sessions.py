"""A session of the simulated lock service as a process sees it through a network that may be cut.

The service alone decides that a session ended: when it heard nothing for `timeout_seconds`. The process trusts its
lease for less than that after the *sending* of the last heartbeat that was answered, on its own clock. With a
clock that stands still while the process is paused (`Lease.stolen_seconds`) the lease is worth nothing, and only the
fences in storage protect what was acknowledged.
"""

from collections.abc import Callable
from typing import Any, Protocol

from hbtable.errors import LockLost, OutcomeUnknown, Unavailable
from hbtable.lockservice.interface import VersionedFile
from hbtable.testing.memory_lockservice import MemoryLockService
from hbtable.testing.simulated.runtime import SimulatedRuntime
from tests.harness.sim_members import ANSWERS
from tests.harness.sim_network import LOCKS, Network

_MARGIN = 0.15
_CALL_SECONDS = 1.0


class Owner(Protocol):
    """The process of a session."""

    name: str
    runtime: SimulatedRuntime
    stolen_seconds: float


class SimSession:
    """Implements lockservice.interface.Session over a session of MemoryLockService."""

    def __init__(self, service: MemoryLockService, network: Network, owner: Owner, timeout_seconds: float) -> None:
        """*Switches.*"""
        self._inner = service.open_session(owner.name, owner.runtime)
        self._service = service
        self._network = network
        self._owner = owner
        self._timeout = timeout_seconds
        self._heard = owner.runtime.clock_seconds()
        self._lease = self._clock() + timeout_seconds * (1 - _MARGIN)
        self._over = False
        self._starved = False
        self.session_id = self._inner.session_id
        owner.runtime.spawn(self._beat, name="heartbeats")

    def watch_over(self, runtime: SimulatedRuntime) -> None:
        """The service's side, in its own process: ends the session when it is silent for too long."""
        runtime.spawn(self._expire, runtime, name=f"expiry of {self.session_id}")

    # ------------------------------------------------------------ the port

    def valid(self) -> bool:
        return not self._over and self._clock() < self._lease

    def over(self) -> bool:
        return self._over

    def lock(self, path: str, data: bytes = b"") -> int:
        return self._call(True, self._inner.lock, path, data)

    def unlock(self, path: str) -> None:
        self._call(True, self._inner.unlock, path)

    def holder(self, path: str) -> VersionedFile | None:
        return self._call(False, self._inner.holder, path)

    def create(self, path: str, data: bytes) -> None:
        self._call(True, self._inner.create, path, data)

    def read(self, path: str, latest: bool = False) -> VersionedFile:
        return self._call(False, self._inner.read, path, latest)

    def write(self, path: str, data: bytes, expected_version: int) -> int:
        return self._call(True, self._inner.write, path, data, expected_version)

    def delete(self, path: str, expected_version: int = -1) -> None:
        self._call(True, self._inner.delete, path, expected_version)

    def list(self, folder: str) -> list[str]:
        return self._call(False, self._inner.list, folder)

    def watch(self, folder: str, changed: Callable[[], None]) -> None:
        self._call(False, self._inner.watch, folder, changed)

    def close(self) -> None:
        self._over = True
        self._inner.close()

    # ------------------------------------------------------------ faults

    def end(self) -> None:
        """The service ends the session now: what the supervisor of a dead process asks for, or, while the process
        lives, what no lease protects from. The process learns of it at its next call or heartbeat."""
        self._service.expire(self._inner)

    def starve(self) -> None:
        """No heartbeat is sent any more (a stuck thread), so the service will end the session; calls still work."""
        self._starved = True

    # ------------------------------------------------------------ inside

    def _clock(self) -> float:
        return self._owner.runtime.clock_seconds() - self._owner.stolen_seconds

    def _call(self, writes: bool, method: Callable[..., Any], *arguments: Any) -> Any:
        if self._over:
            raise LockLost(f"the session {self.session_id} is over")
        runtime, network, name = self._owner.runtime, self._network, self._owner.name
        runtime.sleep(network.delay())
        behind = network.behind.get(name)
        if behind is not None and method.__name__ in ANSWERS and True not in arguments:  # the latest is the leader's
            return getattr(behind, method.__name__)(*arguments)
        if not network.passes(name, LOCKS):
            runtime.sleep(_CALL_SECONDS)
            raise Unavailable("the lock service cannot be reached")
        try:
            answer = method(*arguments)
        except LockLost:
            self._over = network.passes(LOCKS, name)
            raise
        if not network.answers(LOCKS, name):
            runtime.sleep(_CALL_SECONDS)
            if writes:
                raise OutcomeUnknown("the lock service did not answer")
            raise Unavailable("the lock service did not answer")
        self._catch_up()
        return answer

    def _beat(self) -> None:
        runtime, network, name = self._owner.runtime, self._network, self._owner.name
        while not self._over:
            sent = self._clock()
            runtime.sleep(network.delay())
            if network.passes(name, LOCKS) and not (self._starved and self._inner.valid()):
                alive = self._inner.valid()
                if alive:
                    self._heard = runtime.clock_seconds()
                if network.passes(LOCKS, name):
                    runtime.sleep(network.delay())
                    if not alive:
                        self._over = True
                        return
                    self._catch_up()
                    self._lease = max(self._lease, sent + self._timeout * (1 - _MARGIN))
            runtime.sleep(self._timeout / 4)

    def _catch_up(self) -> None:
        """The leader answered through the member that the process is connected to."""
        behind = self._network.behind.get(self._owner.name)
        if behind is not None:
            behind.catch_up()

    def _expire(self, runtime: SimulatedRuntime) -> None:
        while self._inner.valid():
            left = self._heard + self._timeout - runtime.clock_seconds()
            if left <= 0:
                self.end()
                return
            runtime.sleep(left)
