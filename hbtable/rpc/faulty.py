"""A transport that fails as a network does, for simulation: seeded, so that a failure is replayed.

What a caller gets follows peer.py: a call known not to have been begun is StaleLocation (Unavailable for the master);
one without an answer is StaleLocation where it may be repeated and OutcomeUnknown otherwise, after its whole deadline.
What TCP cannot do is not done: a call that may not be repeated is never carried out twice.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, cast, final

from hbtable.errors import HbtableError, OutcomeUnknown, StaleLocation, Unavailable
from hbtable.rpc.codec_calls import METHODS, Role
from hbtable.rpc.connections import RpcOptions
from hbtable.rpc.services import MasterService, TabletAdmin, TabletService
from hbtable.rpc.transport import Transport
from hbtable.runtime.interface import Runtime

MASTER: Final = "master"
"""The master's place in partitions."""

# A master sends them again whenever it does not know: services.py promises that this is harmless.
_SENT_AGAIN: Final = frozenset({"load_tablet", "unload_tablet", "update_schema"})


@dataclass(frozen=True, slots=True)
class NetworkFaults:
    """Probabilities, each of one call."""

    refuse: float = 0.0
    """The connection is refused: not begun."""
    drop_request: float = 0.0
    """The call went out and never arrives."""
    drop_reply: float = 0.0
    """It is carried out, and its answer never arrives."""
    late: float = 0.0
    """It is carried out after its caller has given up (the callee was frozen)."""
    double: float = 0.0
    """It is carried out once more, some time later; only calls that may be repeated."""
    delay: float = 0.0
    """It arrives up to `delay_seconds` late."""
    delay_seconds: float = 0.5
    late_seconds: float = 30.0
    """After the deadline, at most."""


@final
class Network:
    """What lies between the processes. `runtime` outlives them all; messages under way are its tasks."""

    def __init__(self, runtime: Runtime, seed: int, faults: NetworkFaults | None = None) -> None:
        self.runtime = runtime
        self.chance = random.Random(f"network {seed}")
        self.faults = faults or NetworkFaults()
        """May be replaced at any time."""
        self._cut: set[tuple[str, str]] = set()

    def cut(self, sender: str, receiver: str) -> None:
        """Nothing gets from `sender` to `receiver` any more; the other way is open."""
        self._cut.add((sender, receiver))

    def heal(self) -> None:
        self._cut.clear()

    def passes(self, sender: str, receiver: str) -> bool:
        return (sender, receiver) not in self._cut

    def happens(self, probability: float) -> bool:
        return probability > 0 and self.chance.random() < probability


@final
class FaultyTransport:
    """Implements rpc.transport.Transport over `inner`. `here`: the place of the process whose transport this is;
    `place_of`: the place of an incarnation, or of MASTER."""

    def __init__(
        self,
        network: Network,
        here: str,
        inner: Transport,
        place_of: Callable[[str], str] = str,
        options: RpcOptions | None = None,
    ) -> None:
        self._network = network
        self._here = here
        self._inner = inner
        self._place_of = place_of
        self._options = options or RpcOptions()

    def tablet_service(self, incarnation: str) -> TabletService:
        return cast(TabletService, self._calls(incarnation, Role.TABLETS, self._inner.tablet_service))

    def tablet_admin(self, incarnation: str) -> TabletAdmin:
        return cast(TabletAdmin, self._calls(incarnation, Role.ADMIN, self._inner.tablet_admin))

    def master(self) -> MasterService:
        return cast(MasterService, self._calls(MASTER, Role.MASTER, lambda _: self._inner.master()))

    def _calls(self, name: str, role: Role, find: Callable[[str], object]) -> object:
        service = find(name)
        place = self._place_of(name)
        if place == self._here:
            return service  # no network in between
        return _Calls(self._network, self._here, place, service, role, self._options)


@final
class _Calls:
    """A service behind the network."""

    def __init__(
        self, network: Network, here: str, there: str, service: object, role: Role, options: RpcOptions
    ) -> None:
        self._network = network
        self._here = here
        self._there = there
        self._service = service
        self._role = role
        self._options = options

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *arguments: self._call(name, arguments)

    def _call(self, name: str, arguments: tuple[Any, ...]) -> Any:
        network, faults = self._network, self._network.faults
        method = METHODS[name.encode()]
        if network.happens(faults.refuse):
            kind = Unavailable if self._role is Role.MASTER else StaleLocation
            raise kind(f"{self._there} refused the connection for {name}")
        seconds = self._options.seconds(method.patience)
        if network.happens(faults.delay):
            network.runtime.sleep(network.chance.random() * min(faults.delay_seconds, seconds))
        if not network.passes(self._here, self._there) or network.happens(faults.drop_request):
            return self._silence(name, method.repeatable, seconds)
        if network.happens(faults.late):
            late = seconds + network.chance.random() * faults.late_seconds
            network.runtime.spawn(self._later, late, name, arguments, name=f"late {name}")
            return self._silence(name, method.repeatable, seconds)
        if (method.repeatable or name in _SENT_AGAIN) and network.happens(faults.double):
            after = network.chance.random() * faults.late_seconds
            network.runtime.spawn(self._later, after, name, arguments, name=f"doubled {name}")
        return self._exchange(name, arguments, method.repeatable, seconds)

    def _exchange(self, name: str, arguments: tuple[Any, ...], repeatable: bool, seconds: float) -> Any:
        """The call runs on where its caller gives up."""
        network = self._network
        outcome: list[tuple[Any, HbtableError | None]] = []
        done = network.runtime.event()

        def run() -> None:
            try:
                outcome.append((getattr(self._service, name)(*arguments), None))
            except HbtableError as error:
                outcome.append((None, error))
            done.set()

        network.runtime.spawn(run, name=name)
        deadline = network.runtime.clock_seconds() + seconds
        answered = done.wait(seconds) and bool(outcome)
        if not answered or not network.passes(self._there, self._here) or network.happens(network.faults.drop_reply):
            return self._silence(name, repeatable, deadline - network.runtime.clock_seconds())
        value, error = outcome[0]
        if error is not None:
            raise error
        return value

    def _silence(self, name: str, repeatable: bool, seconds: float) -> Any:
        self._network.runtime.sleep(max(0.0, seconds))
        kind = StaleLocation if repeatable else OutcomeUnknown
        raise kind(f"{self._there} gave no answer to {name}")

    def _later(self, seconds: float, name: str, arguments: tuple[Any, ...]) -> None:
        self._network.runtime.sleep(seconds)
        try:
            getattr(self._service, name)(*arguments)
        except HbtableError:
            return  # nobody waits for it
