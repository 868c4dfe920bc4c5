"""The network of a simulated cluster: which way is open between whom, and calls that get lost on either half of it.

Ends of a way are process names, LOCKS (the lock service), and STORAGE or one of its parts, NAMENODE and DATANODES. What
a process reads of the lock service comes from a member that may be behind (sim_members.py). A way has a direction:
cut("a", "b") loses what a sends to b, requests and answers alike. cut_calls("a", "b") loses the calls that a makes to
b, as a firewall at b's port does, while b's own calls to a are answered. A way may be slow, and change bytes
(sim_changed_bytes.py). TCP loses or delays, it does not repeat: only calls that promise to be repeatable (TabletAdmin's
of a master) are ever doubled. Which calls come late: sim_late.py.
"""

import random
from collections.abc import Callable
from typing import Any, Protocol

from hbtable.errors import (
    Corruption,
    HbtableError,
    LockLost,
    StaleLocation,
    StorageFailed,
    Unavailable,
    no_answer,
)
from hbtable.testing.simulated.runtime import SimulatedRuntime
from tests.harness.sim_changed_bytes import ChangedBytes
from tests.harness.sim_late import Lateness

LOCKS = "lock service"
STORAGE = "storage"
NAMENODE = "name node"
DATANODES = "data nodes"
_WHOLES = {NAMENODE: STORAGE, DATANODES: STORAGE}

READS = frozenset(
    {
        "read_rows",
        "scan",
        "scan_with_times",
        "tablets",
        "served_changes",
        "served_record",
        "files_in_flight",
        "task_deaths",
        "ping",
        "master_task_deaths",
        "balancer_rests",
        "ping_master",
    }
)
REPEATABLE = frozenset({"load_tablet", "unload_tablet", "update_schema", "tablets", "served_changes", "sort_log_part"})
_PING_SECONDS = 0.4
_LONG = frozenset({"load_tablet", "unload_tablet", "sort_log_part", "split", "flush", "compact"})


class Machine(Protocol):
    """A simulated process, as far as the network knows it."""

    name: str
    runtime: SimulatedRuntime

    def broke(self, error: HbtableError) -> None:
        """One of its services failed in a way after which the process must end."""


class Network:
    """`chance` decides losses and delays."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.late = Lateness(chance)
        self.closed: set[tuple[str, str]] = set()
        self.refused: set[tuple[str, str]] = set()
        """Calls that do not arrive, by caller and callee."""
        self.behind: dict[str, Any] = {}
        """A BehindMember of the lock service, by the process that is connected to it."""
        self.slow: dict[tuple[str, str], float] = {}
        """Seconds for which whatever takes this way is on it."""
        self.changed = ChangedBytes(chance)
        self.lose = 0.0
        """Probability that an answer is lost."""
        self.double = 0.0
        """Probability that a repeatable request arrives twice."""
        self.unable: set[str] = set()
        """Tablet servers that cannot load tablets, by process."""
        self.deadlines_seconds = (1.0, 1.0, 5.0)
        """Of a call, at random: some callers give up soon, some still wait for what a pause held up."""
        self.long_deadline_seconds = 6.0
        self.servers: dict[str, tuple[Machine, Any, Any]] = {}
        self.master: tuple[Machine, Any] | None = None
        self._pending: dict[str, list[Any]] = {}

    def cut(self, source: str, target: str) -> None:
        self.closed.add((source, target))

    def cut_calls(self, caller: str, callee: str) -> None:
        self.refused.add((caller, callee))

    def heal(self) -> None:
        self.closed.clear()
        self.refused.clear()
        self.behind.clear()
        self.slow.clear()
        self.changed.shares.clear()
        self.changed.in_memory.clear()
        self.lose = self.double = 0.0
        self.unable.clear()
        self.late.calm()

    def passes(self, source: str, target: str) -> bool:
        if not self.closed:
            return True
        whole = _WHOLES.get(source, source), _WHOLES.get(target, target)
        return (source, target) not in self.closed and whole not in self.closed

    def answers(self, source: str, target: str) -> bool:
        """Does this answer arrive? Also at random, while answers get lost."""
        return self.passes(source, target) and not (self.lose and self.chance.random() < self.lose)

    def delay(self) -> float:
        return self.chance.uniform(0.0001, 0.002)

    def process_ended(self, name: str) -> None:
        """Whoever waits for an answer of it hears that the connection broke."""
        for done in self._pending.pop(name, []):
            done.set()
        if self.master is not None and self.master[0].name == name:
            self.master = None
        for incarnation in [key for key, (machine, _, _) in self.servers.items() if machine.name == name]:
            del self.servers[incarnation]

    def call(self, caller: Machine, callee: Machine, method: Callable[..., Any], name: str, arguments: Any) -> Any:
        """Runs `method` in the callee's process. Errors as a transport promises: see rpc.transport."""
        deadline = self._deadline_of(name)
        caller.runtime.sleep(self.delay())
        if callee.runtime.crashed:
            raise StaleLocation(f"{callee.name} refused the connection")
        if not self.passes(caller.name, callee.name) or (caller.name, callee.name) in self.refused:
            caller.runtime.sleep(deadline)
            if self.chance.random() < 0.5:  # the connection itself was not there yet: surely not sent
                raise StaleLocation(f"{callee.name} cannot be reached")
            raise self._lost(name, f"no answer from {callee.name} in time")
        late, answers_late = self.late.of(caller.name, name)
        if late or answers_late:
            deadline = self.late.call_timeout_seconds()
        late += self.slow.get((caller.name, callee.name), 0.0)
        answers_late += self.slow.get((callee.name, caller.name), 0.0)
        try:
            arguments = self.changed.request(caller.name, callee.name, method, name, arguments)
        except Corruption as error:  # it is told so before the connection ends (rpc.thrift_server)
            raise StaleLocation(f"{callee.name} did not begin {name}: {error.reason}") from error
        gives_up = caller.runtime.clock_seconds() + deadline
        answer: list[tuple[Any, HbtableError | None]] = []
        done = caller.runtime.event()

        def run(heard: bool) -> None:
            if heard and late:
                self.late.hold(callee.runtime, late)
                self.late.count[name] += callee.runtime.clock_seconds() > gives_up
            error: HbtableError | None = None
            value = None
            try:
                if name == "load_tablet" and callee.name in self.unable:
                    raise Unavailable(f"{callee.name} has no memory left")
                value = method(*arguments)
            except HbtableError as raised:
                error = raised
            if isinstance(error, StorageFailed):
                callee.broke(error)
            if heard:
                callee.runtime.sleep(self.delay())
                self.late.hold(callee.runtime, answers_late)
                if self.answers(callee.name, caller.name):
                    answer.append((value, error))
                    done.set()

        pending = self._pending.setdefault(callee.name, [])
        pending.append(done)
        callee.runtime.spawn(run, True, name=name)
        if name in REPEATABLE and self.double and self.chance.random() < self.double:
            callee.runtime.spawn(self._again, callee, run, name=f"{name} again")
        done.wait(deadline)
        if done in pending:
            pending.remove(done)
        value, error = answer[0] if answer else (None, LockLost(f"no answer from {callee.name}"))
        if answer:
            try:
                value, error = self.changed.answer(callee.name, caller.name, name, value, error)
            except Corruption as damage:
                raise self._lost(name, f"the answer of {callee.name} is damaged: {damage.reason}") from damage
        if isinstance(error, LockLost | StorageFailed):
            raise self._lost(name, f"the connection to {callee.name} broke: {error}")
        if error is not None:
            raise error
        return value

    def _deadline_of(self, name: str) -> float:
        if name in ("ping", "ping_master"):
            return _PING_SECONDS
        return self.long_deadline_seconds if name in _LONG else self.chance.choice(self.deadlines_seconds)

    def _again(self, callee: Machine, run: Callable[[bool], None]) -> None:
        """The second request may come long after the first was answered and forgotten."""
        callee.runtime.sleep(self.chance.choice((0.0, 0.1, 3.0)) * self.chance.random())
        run(False)

    def _lost(self, name: str, message: str) -> HbtableError:
        return (StaleLocation if name in READS else no_answer)(message)


class Proxy:
    """A service as seen from another process."""

    def __init__(self, network: Network, caller: Machine, callee: Machine, service: Any) -> None:
        self._network = network
        self._caller = caller
        self._callee = callee
        self._service = service

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._service, name)
        return lambda *arguments: self._network.call(self._caller, self._callee, method, name, arguments)


class SimTransport:
    """Implements rpc.transport.Transport for one process."""

    def __init__(self, network: Network, caller: Machine) -> None:
        self._network = network
        self._caller = caller

    def _server(self, incarnation: str) -> tuple[Machine, Any, Any]:
        found = self._network.servers.get(incarnation)
        if found is None:
            raise StaleLocation(f"tablet server {incarnation} is gone")
        return found

    def tablet_service(self, incarnation: str) -> Any:
        machine, service, _ = self._server(incarnation)
        return Proxy(self._network, self._caller, machine, service)

    def tablet_admin(self, incarnation: str) -> Any:
        machine, _, admin = self._server(incarnation)
        return Proxy(self._network, self._caller, machine, admin)

    def master(self) -> Any:
        if self._network.master is None:
            raise Unavailable("there is no master at the moment")
        machine, service = self._network.master
        return Proxy(self._network, self._caller, machine, service)
