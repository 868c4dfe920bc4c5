"""Faults by seed: what happens to which process when, in swizzled order, and the healing of all of it.

Kinds: kill, pause, a pause that the lease's clock does not count, a cut way (one direction) between any two ends, a
tablet server that only some clients and the storage still reach, one that nobody reaches and that keeps its lock, a way
(one direction) that is slow or changes bytes, writes that change in memory where they arrive, answers lost and requests
doubled, requests and answers that come late (sim_late.py), a session ended by the service, a full disk, a slow log, a
server that lives and cannot load a tablet, a server that stops in order while another one is killed, all of them
stopped in order at once, and started again, a wall clock that jumps. WAYS: a process whose member of the lock
service is behind, cut off from the leader in one direction, in both, or slow; and one whose way to the NameNode alone,
or to the DataNodes alone, is cut in one direction or both.
"""

import random
from collections import Counter
from collections.abc import Callable

from tests.harness.sim_cluster import ClientProcess, MasterProcess, ServerProcess, SimCluster, SimProcess
from tests.harness.sim_late import OF_CLIENTS, OF_ROLES
from tests.harness.sim_members import BehindMember
from tests.harness.sim_network import DATANODES, LOCKS, NAMENODE, STORAGE

WORKERS = 3
"""Of the clients the first ones write and read."""
KINDS = (
    "kill", "pause", "cut", "island", "lossy", "expire", "full", "slow log", "late", "unable", "drain", "all stop",
    "clock", "unreachable", "slow way", "changed bytes", "changed memory",
)  # fmt: skip
WAYS = ("behind", "name node", "data nodes")
"""Used where they are named: among all kinds they would change the schedules by which planted bugs are found."""
ONLY_WAYS = (*WAYS, "cut", "kill", "island")
BELIEVED_MILLIS = 10_000
"""The furthest that a wall clock goes wrong and is believed: the others are refused (tablet.wall_clock)."""
_CLOCKS_MILLIS = (0, 2_000, -2_000, BELIEVED_MILLIS, -BELIEVED_MILLIS, 3_600_000, 365 * 86_400_000, -365 * 86_400_000)
_STOP_SECONDS = 8.0
"""Of all servers at once; whoever is not done by then is killed."""


class Faults:
    """`kinds`: those that this run uses, a subset by seed unless named, so that some runs see few kinds a lot."""

    def __init__(self, cluster: SimCluster, lying_clocks: bool = False, kinds: tuple[str, ...] = ()) -> None:
        self._cluster = cluster
        self._chance = random.Random(f"faults {cluster.options.seed}")
        self._lying = lying_clocks
        self.kinds = kinds or tuple(self._chance.sample(KINDS, self._chance.randint(2, len(KINDS))))
        self.count: Counter[str] = Counter()
        self.going = False
        self.near: ClientProcess | None = None
        """The client that still reaches a server which others do not; None: by chance, one of those that work."""

    def run(self, seconds: float, mean_gap_seconds: float = 0.5) -> None:
        """*Switches.* So long; then everything is healed."""
        cluster, chance = self._cluster, self._chance
        self.going = True
        end = cluster.runtime.clock_seconds() + seconds
        while cluster.runtime.clock_seconds() < end:
            kind = chance.choice(self.kinds)
            self.count[kind] += 1
            getattr(self, "_" + kind.replace(" ", "_"))()
            cluster.runtime.sleep(min(chance.expovariate(1 / mean_gap_seconds), seconds / 2))
        self.heal()

    def heal(self) -> None:
        """Everything goes again from now on; processes that ended are started again by their supervisors."""
        self.going = False
        self._cluster.network.heal()
        self._cluster.disk.capacity_bytes = None
        for process in self._cluster.processes():
            self._wake(process)
            process.disk.slow_log_seconds = 0.0
            process.runtime.wall_offset_millis = 0

    def stop_everything(self) -> None:
        """*Switches.* In order, masters first. Nothing is started again on return, but may be soon."""
        self._cluster.down = True
        masters = [slot.process for slot in self._cluster.masters]
        self._stop_all(masters, [slot.process for slot in self._cluster.servers], 0.0)

    # ------------------------------------------------------------ kinds

    def _kill(self) -> None:
        self._victim().kill()

    def _pause(self) -> None:
        """Half a session up to three."""
        process = self._victim(clients=True)
        if process.runtime.paused:
            return
        seconds = self._chance.uniform(0.5, 3) * self._cluster.options.session_seconds
        process.runtime.pause()
        self._later(seconds, lambda: self._wake(process, seconds))

    def _wake(self, process: SimProcess, stolen_seconds: float = 0.0) -> None:
        if process.runtime.paused:
            if self._lying:
                process.stolen_seconds += stolen_seconds
            process.runtime.resume()

    def _cut(self) -> None:
        names = [process.name for process in self._cluster.processes()]
        source = self._chance.choice(names)
        target = self._chance.choice([*(name for name in names if name != source), LOCKS, LOCKS, STORAGE, STORAGE])
        ways = [(source, target), (target, source)]
        if self._chance.random() < 0.6:
            ways.remove(self._chance.choice(ways))
        for way in ways:
            self._cluster.network.cut(*way)
        self._later(self._chance.uniform(0.2, 4.0), lambda: self._cluster.network.closed.difference_update(ways))

    def _behind(self) -> None:
        """Shorter than a session, or longer."""
        cluster, chance, network = self._cluster, self._chance, self._cluster.network
        name = self._victim(clients=True).name
        network.behind[name] = BehindMember(cluster.lock_service)
        there, back = (name, LOCKS), (LOCKS, name)
        ways = chance.choice(([], [there], [back], [there, back]))
        network.closed.update(ways)

        def end() -> None:
            network.closed.difference_update(ways)
            network.behind.pop(name, None)

        self._later(chance.uniform(0.2, 2.5) * cluster.options.session_seconds, end)

    def _name_node(self) -> None:
        self._cut_off(NAMENODE)

    def _data_nodes(self) -> None:
        self._cut_off(DATANODES)

    def _cut_off(self, end: str) -> None:
        """One process, or all of a kind, as where a switch fails."""
        cluster, chance = self._cluster, self._chance
        slots = chance.choice((cluster.servers, cluster.masters, [*cluster.servers, *cluster.masters]))
        names = [slot.process.name for slot in slots]
        names = names if chance.random() < 0.2 else [chance.choice(names)]
        there, back = [(name, end) for name in names], [(end, name) for name in names]
        ways = chance.choice((there, back, there + back))
        cluster.network.closed.update(ways)
        self._later(chance.uniform(0.2, 4.0), lambda: cluster.network.closed.difference_update(ways))

    def _island(self) -> None:
        """Long enough for its session to end and its tablets to be elsewhere, while some clients still ask it."""
        cluster, chance = self._cluster, self._chance
        name = chance.choice(cluster.servers).process.name
        away = [LOCKS, *(slot.process.name for slot in cluster.masters)]
        near = (self.near or chance.choice(cluster.clients[:WORKERS])).name
        away += [client.name for client in cluster.clients if client.name != near and chance.random() < 0.8]
        ways = [way for other in away for way in ((name, other), (other, name))]
        for way in ways:
            cluster.network.cut(*way)
        seconds = chance.uniform(1, 5) * cluster.options.session_seconds
        self._later(seconds, lambda: cluster.network.closed.difference_update(ways))

    def _unreachable(self) -> None:
        """Long enough that it gives up, as a rule: both directions, one, or at its port only; or it reaches nobody. Its
        lock and the storage it always reaches, and at times one client reaches it."""
        cluster, chance, network = self._cluster, self._chance, self._cluster.network
        name = chance.choice(cluster.servers).process.name
        others = [process.name for process in cluster.processes() if process.name != name]
        if self.near is not None or chance.random() < 0.5:
            others.remove((self.near or chance.choice(cluster.clients[:WORKERS])).name)
        to, away = [(other, name) for other in others], [(name, other) for other in others]
        closed, refused = chance.choice(((to + away, []), (to, []), (away, []), ([], to), ([], away)))
        network.closed.update(closed)
        network.refused.update(refused)

        def end() -> None:
            network.closed.difference_update(closed)
            network.refused.difference_update(refused)

        self._later(chance.uniform(2.0, 6.0), end)

    def _slow_way(self) -> None:
        self._on_a_way(self._cluster.network.slow, (0.05, 0.3, 1.5))

    def _changed_bytes(self) -> None:
        self._on_a_way(self._cluster.network.changed.shares, (0.05, 0.5, 1.0))

    def _changed_memory(self) -> None:
        self._on_a_way(self._cluster.network.changed.in_memory, (0.05, 0.5))

    def _on_a_way(self, ways: dict[tuple[str, str], float], sizes: tuple[float, ...]) -> None:
        """In one direction: from one process to another, or to all others."""
        chance, names = self._chance, [process.name for process in self._cluster.processes()]
        source, size = chance.choice(names), chance.choice(sizes)
        targets = [name for name in names if name != source]
        found = [(source, target) for target in (targets if chance.random() < 0.3 else [chance.choice(targets)])]
        turned = [(target, source) for source, target in found]
        hit = found if chance.random() < 0.5 else turned
        ways.update(dict.fromkeys(hit, size))
        self._later(chance.uniform(0.5, 4.0), lambda: [ways.pop(way, None) for way in hit])

    def _lossy(self) -> None:
        network = self._cluster.network
        network.lose, network.double = self._chance.choice((0.01, 0.05, 0.2)), 0.3

        def end() -> None:
            network.lose = network.double = 0.0

        self._later(self._chance.uniform(0.2, 2.0), end)

    def _late(self) -> None:
        """Of clients few calls, because unknown outcomes prove little; and few changes of METADATA, because everything
        needs one, so that nothing else would happen."""
        cluster, chance = self._cluster, self._chance
        callers = chance.choice((cluster.servers, cluster.masters, [*cluster.servers, *cluster.masters]))
        shares: dict[tuple[str, str], float] = {}
        for method in OF_ROLES:
            share = chance.choice((0.0, 0.1, 0.3) if method in OF_CLIENTS else (0.0, 0.0, 0.5, 1.0))
            shares.update({(slot.process.name, method): share for slot in callers})
        for method in OF_CLIENTS:
            shares.update({(client.name, method): 0.02 for client in cluster.clients})
        cluster.network.late.shares = shares
        self._later(chance.uniform(1.0, 5.0), shares.clear)

    def _clock(self) -> None:
        victim, millis = self._victim(clients=True), self._chance.choice(_CLOCKS_MILLIS)
        # A start believes the clock that it finds: only of a server that has begun is a far jump refused.
        if abs(millis) <= BELIEVED_MILLIS or not isinstance(victim, ServerProcess) or hasattr(victim, "role"):
            victim.runtime.wall_offset_millis = millis

    def _expire(self) -> None:
        lease = self._victim(clients=True).lease
        if lease is not None:
            # While clocks may lie it may end without a warning, too; else a lease always runs out first.
            lease.end() if self._lying and self._chance.random() < 0.5 else lease.starve()

    def _full(self) -> None:
        disk = self._cluster.disk
        disk.capacity_bytes = disk.used_bytes + self._chance.randrange(2000)

        def end() -> None:
            disk.capacity_bytes = None

        self._later(self._chance.uniform(0.2, 2.0), end)

    def _slow_log(self) -> None:
        process = self._victim()
        process.disk.slow_log_seconds = self._chance.choice((0.05, 0.5, 2.0))

        def end() -> None:
            process.disk.slow_log_seconds = 0.0

        self._later(self._chance.uniform(0.5, 4.0), end)

    def _unable(self) -> None:
        """Long enough that what it is given, now that another one died, goes to others."""
        cluster, chance = self._cluster, self._chance
        unable, (one, other) = cluster.network.unable, chance.sample([slot.process for slot in cluster.servers], 2)
        unable.add(one.name)
        other.kill()
        self._later(chance.uniform(3.0, 6.0), lambda: unable.discard(one.name))

    def _drain(self) -> None:
        chance = self._chance
        stops, dies = chance.sample([slot.process for slot in self._cluster.servers], 2)
        self._stop(stops)
        self._later(chance.uniform(0.0, 2.5), dies.kill)

    def _all_stop(self) -> None:
        """At times no master is left, at times the servers begin one after the other, as a slow script stops them."""
        cluster, chance = self._cluster, self._chance
        if cluster.down:
            return
        cluster.down = True
        masters = [slot.process for slot in cluster.masters] if chance.random() < 0.5 else []
        servers = [slot.process for slot in cluster.servers]
        gap = chance.choice((0.0, 0.3))
        cluster.runtime.spawn(self._stop_all, masters, servers, gap, name="all stop")

    def _stop_all(self, masters: list[SimProcess], servers: list[SimProcess], gap_seconds: float) -> None:
        runtime, deadline = self._cluster.runtime, self._cluster.runtime.clock_seconds() + _STOP_SECONDS
        for process in masters:
            self._stop(process)
        for process in servers:
            self._stop(process)
            runtime.sleep(gap_seconds)
        for process in [*masters, *servers]:
            if not process.ended.wait(max(0.1, deadline - runtime.clock_seconds())):
                process.kill("took too long to stop")
        self._cluster.down = False

    def _stop(self, process: SimProcess) -> None:
        if isinstance(process, ServerProcess | MasterProcess) and not process.runtime.crashed:
            process.runtime.spawn(process.stop, name="stop")

    # ------------------------------------------------------------ inside

    def _victim(self, clients: bool = False) -> SimProcess:
        """Mostly servers, and of these rather one that does something."""
        cluster, chance = self._cluster, self._chance
        choice = chance.random()
        if clients and choice < 0.1:
            return chance.choice(cluster.clients)
        if choice < 0.3:
            return chance.choice(cluster.masters).process
        process = chance.choice(cluster.servers).process
        assert isinstance(process, ServerProcess)
        return process

    def _later(self, seconds: float, end: Callable[[], object]) -> None:
        def wait() -> None:
            self._cluster.runtime.sleep(seconds)
            if self.going:
                end()

        self._cluster.runtime.spawn(wait, name="end of a fault")
