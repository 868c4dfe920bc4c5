"""A tablet that its server gives up after nobody waits for it any more: it is served again as soon as one load takes,
however long the master's look at all tablets takes."""

from contextlib import suppress

import pytest

from hbtable.errors import HbtableError, Unavailable, no_answer
from hbtable.hbase.admin.transitions import transitions
from hbtable.master.tablets.slow_loads import WAIT_SECONDS
from hbtable.model.table import TableState
from tests.harness.counted_cluster import CountedCluster
from tests.harness.counted_transport import CountedTransport
from tests.harness.delegating_fake import DelegatingFake
from tests.harness.hanging_calls import hang
from tests.harness.planted_bugs import PLANTED, is_found, planted
from tests.harness.tiers import quick_first

SPLITS = [b"row000%03d" % n for n in range(10, 300, 10)]
LOOK_SECONDS = 30.0
LOAD_SECONDS = 2.0
"""Much more than a load takes here, and far less than a look at all tablets."""


class SlowScans(DelegatingFake):
    """A tablet server's service as a master sees it that gets no processor: each page of METADATA takes long."""

    def __init__(self, inner, cluster):
        super().__init__(inner)
        self._cluster = cluster

    def scan(self, *arguments):
        self._cluster.runtime.sleep(self._cluster.look_seconds)
        return self.inner.scan(*arguments)


class StarvedTransport(CountedTransport):
    def __init__(self, inner, asked, cluster):
        super().__init__(inner, asked)
        self._cluster = cluster

    def tablet_service(self, incarnation):
        return SlowScans(super().tablet_service(incarnation), self._cluster)


class SlowUnloads(DelegatingFake):
    """A tablet server's administration, whose unloads take what chance has them take."""

    def __init__(self, inner, cluster, took):
        super().__init__(inner)
        self._cluster, self._took = cluster, took

    def unload_tablet(self, epoch, tablet_id):
        seconds = self._cluster.chance.choice([0.0, self._cluster.chance.uniform(0, 12)])
        self._took.append(seconds)
        self._cluster.runtime.sleep(seconds)
        self.inner.unload_tablet(epoch, tablet_id)


class BreakingConnections(DelegatingFake):
    """A tablet server's administration, whose unloads take what chance has them take, one of a tablet at a time, and
    none where the tablet is not there. The connection of the first question for a tablet breaks before the unload
    ends, mostly, which goes on; those of later ones break as often as chance wants, or are refused, as where its lease
    is away. `broke`: how often."""

    def __init__(self, inner, cluster, serves, most_seconds=12.0, again=0.5, refused=0.0):
        super().__init__(inner)
        self._cluster, self._serves, self._most_seconds, self._again = cluster, serves, most_seconds, again
        self._refused = refused
        self._locks = {}
        self.broke = self.ended = 0
        self.error = no_answer

    def unload_tablet(self, epoch, tablet_id):
        cluster = self._cluster
        if tablet_id in self._locks and cluster.chance.random() < self._refused:
            raise Unavailable("its lease is not confirmed")
        breaks = tablet_id not in self._locks or cluster.chance.random() < self._again
        lock = self._locks.setdefault(tablet_id, cluster.runtime.lock())
        ended, failed = cluster.runtime.event(), []

        def work():
            with lock:
                if breaks and tablet_id in self._serves:
                    cluster.runtime.sleep(cluster.chance.uniform(0.1, self._most_seconds))
                try:
                    self.inner.unload_tablet(epoch, tablet_id)
                except HbtableError as error:
                    failed.append(error)
            self.ended += 1
            ended.set()

        cluster.runtime.spawn(work, name="unload")
        if not ended.wait(cluster.chance.uniform(0, self._most_seconds) if breaks else None):
            self.broke += 1
            raise self.error("the connection broke")
        if failed:
            raise failed[0]


class Scene:
    """Three servers and a table under writes. `stuck` is one that serves tablets of it, and none of METADATA."""

    def __init__(self, machine, seed):
        self.machine = machine
        self.cluster = cluster = CountedCluster(seed, machine.options)
        cluster.look_seconds = 0.0
        cluster.master_transport = lambda inner, asked: StarvedTransport(inner, asked, cluster)
        self.written = 0
        self._ends = False

    def play(self, act):
        def body():
            cluster = self.cluster
            cluster.start(3)
            cluster.client.admin.create_table(self.machine.schema(), SPLITS)
            self.machine.write(cluster, range(300))
            cluster.runtime.sleep(20)
            metadata = {record.owner for record in cluster.client.catalog.tablet_rows(0)}
            self.stuck = max(set(cluster.servers) - metadata)
            self.hung = hang(cluster, self.stuck, "unload_tablet")
            writer = cluster.runtime.spawn(self._write, name="writer")
            act()
            cluster.look_seconds = 0.0
            self._ends = True
            writer.join()
            assert writer.error is None
            assert self.written, "it was under writes"
            expected = self.machine.expected(range(300), b"during")
            assert self.machine.contents(cluster) == expected
            cluster.check_tiling()

        self.cluster.runtime.run(body)

    def _write(self):
        while not self._ends or self.written < 300:
            at = self.written % 300
            self.machine.write(self.cluster, range(at, at + 1), b"during")
            self.written += 1
            self.cluster.runtime.sleep(0.01)

    def served(self):
        return {number for _, role in self.cluster.servers.values() for number in role._online_tablets.tablets}

    def here(self):
        """What the server serves, by the generations: it may get a tablet back at once."""
        tablets = self.cluster.servers[self.stuck][1]._online_tablets.tablets
        return {number: tablet.record.generation for number, tablet in tablets.items()}

    def given_up_late(self, seconds):
        """The unloads under way end after so long, which is longer than anybody waits; then all that they take from
        their server is served soon."""
        cluster = self.cluster
        cluster.until(lambda: self.hung.asked["unload_tablet"], 60)
        before = self.here()
        cluster.runtime.sleep(seconds)
        assert self.here() == before, "nothing was given up yet"
        cluster.look_seconds = LOOK_SECONDS
        self.hung.waker.set()
        cluster.until(lambda: self.here() != before, 5)
        cluster.runtime.sleep(LOAD_SECONDS)
        assert before.keys() <= self.served(), "without a server although its own gave it up"


@pytest.mark.parametrize("seed", quick_first(range(6), 1, 3))
def test_one_that_the_balancer_was_to_move(machine, seed):
    """It waited for the master's next look at all tablets: 30 to 62 s on a machine that was starved."""
    scene = Scene(machine, 40 + seed)

    def act():
        scene.cluster.start_server()
        scene.given_up_late(7)

    scene.play(act)


class RefusingLoads(DelegatingFake):
    """A tablet server's administration. `refused`: how many of its next loads fail; `failed`: how many did."""

    def __init__(self, inner):
        super().__init__(inner)
        self.refused = self.failed = 0

    def load_tablet(self, *arguments):
        if self.refused:
            self.refused -= 1
            self.failed += 1
            raise Unavailable("it is busy")
        return self.inner.load_tablet(*arguments)


@pytest.mark.parametrize("seed", quick_first(range(4), 1, 2))
def test_one_whose_next_server_refuses_it_asks_for_another_look(machine, seed):
    """The look that its own end asked for passed over the table, as a tablet of it was just being placed."""
    scene = Scene(machine, 140 + seed)
    cluster = scene.cluster

    def act():
        cluster.start_server()
        cluster.until(lambda: scene.hung.asked["unload_tablet"], 60)
        before = scene.here()
        cluster.runtime.sleep(WAIT_SECONDS + 1)
        refusing = []
        for name in cluster.servers:
            service, admin = cluster.transport.tablet_service(name), cluster.transport.tablet_admin(name)
            refusing.append(RefusingLoads(admin))
            refusing[-1].refused = 1
            cluster.transport.register_server(name, service, refusing[-1])
        scene.hung.waker.set()
        cluster.until(lambda: scene.here() != before and any(one.failed for one in refusing), 5)
        cluster.until(lambda: before.keys() <= scene.served(), 10)

    scene.play(act)


def longest_without_a_server(cluster, seconds):
    """Of all tablets within that time, as METADATA has it."""
    since, longest, end = {}, 0.0, cluster.runtime.clock_seconds() + seconds
    while (now := cluster.runtime.clock_seconds()) < end:
        rows = list(cluster.client.catalog.all_tablet_rows())
        served = {number for _, role in cluster.servers.values() for number in role._online_tablets.tablets}
        without = {row.tablet_id for row in rows if not row.owner or row.tablet_id not in served}
        since = {number: since.get(number, now) for number in without}
        longest = max([longest, *(now - began for began in since.values())])
        cluster.runtime.sleep(0.1)
    return longest


@pytest.mark.parametrize("seed", quick_first(range(8), 1, 2))
def test_where_unloads_take_as_long_as_they_like_no_tablet_waits_for_the_look_at_all(machine, seed):
    """Some end in time and some late, of one server and of several, while new servers get their share."""
    scene = Scene(machine, 60 + seed)
    cluster, took = scene.cluster, []

    def act():
        scene.hung.waker.set()
        for name in cluster.servers:
            service, admin = cluster.transport.tablet_service(name), cluster.transport.tablet_admin(name)
            cluster.transport.register_server(name, service, SlowUnloads(admin, cluster, took))
        cluster.start_server()
        cluster.until(lambda: took, 60)
        cluster.look_seconds = LOOK_SECONDS
        longest = longest_without_a_server(cluster, 20)
        assert longest < LOAD_SECONDS, "it waited for others of its table, whose servers hang"
        cluster.look_seconds = 0.0
        cluster.start_server()
        cluster.until(cluster.is_even, 300)
        assert max(took) > WAIT_SECONDS

    scene.play(act)


def test_the_planted_bug_is_found(machine_of):
    def check():
        scene = Scene(machine_of(1), 46)

        def act():
            scene.cluster.start_server()
            scene.given_up_late(7)

        scene.play(act)

    is_found("unplaced", check)


def asked_to_move(cluster, tablet, target):
    """An operator's move, under way."""

    def move():
        with suppress(HbtableError):  # it asks again by itself, and may come behind
            cluster.client.admin.move_tablet(b"t", tablet.tablet_id, target)

    return cluster.runtime.spawn(move, name="move")


@pytest.mark.parametrize("seed", quick_first(range(6), 1, 3))
def test_one_waits_for_no_move_of_its_table_that_hangs(machine, seed):
    """An operator's move waits 20 s for another server."""
    scene = Scene(machine, 80 + seed)
    cluster = scene.cluster

    def act():
        hangs_on = min(set(cluster.servers) - {scene.stuck})
        cluster.start_server()
        cluster.until(lambda: scene.hung.asked["unload_tablet"], 60)
        before = scene.here()
        cluster.runtime.sleep(WAIT_SECONDS + 1)
        hung = hang(cluster, hangs_on, "unload_tablet")
        tablet = next(one for one in cluster.client.admin.tablets(b"t") if one.owner == hangs_on)
        moving = asked_to_move(cluster, tablet, max(set(cluster.servers) - {hangs_on, scene.stuck}))
        cluster.until(lambda: hung.asked["unload_tablet"], 30)
        cluster.look_seconds = LOOK_SECONDS
        scene.hung.waker.set()
        cluster.until(lambda: scene.here() != before, 5)
        cluster.runtime.sleep(LOAD_SECONDS)
        assert not hung.waker.is_set()
        assert before.keys() <= scene.served(), "it waited for the move of another tablet"
        hung.waker.set()
        moving.join()
        assert moving.error is None

    scene.play(act)


def break_connections(scene, **rules):
    """To all servers, from now on."""
    cluster, broken = scene.cluster, []
    scene.hung.waker.set()
    for name, (_, role) in cluster.servers.items():
        service, admin = cluster.transport.tablet_service(name), cluster.transport.tablet_admin(name)
        broken.append(BreakingConnections(admin, cluster, role._online_tablets.tablets, **rules))
        cluster.transport.register_server(name, service, broken[-1])
    return broken


def connections_break(scene, **rules):
    """While a new server gets its share."""
    cluster = scene.cluster
    broken = break_connections(scene, **rules)
    cluster.start_server()
    cluster.until(lambda: any(one.broke for one in broken), 60)
    cluster.look_seconds = LOOK_SECONDS
    longest = longest_without_a_server(cluster, 40)
    assert sum(one.ended for one in broken) > sum(one.broke for one in broken) > 1
    assert longest < LOAD_SECONDS + 2.0, "nobody noticed that it was given up"


@pytest.mark.parametrize("refused", [0.0, 0.7])
@pytest.mark.parametrize("seed", quick_first(range(8), 1, 3))
def test_one_whose_connection_breaks_is_placed_when_its_server_gives_it_up(machine, seed, refused):
    """It waited for the master's next look: the one that a broken connection brings about finds it served."""
    scene = Scene(machine, 200 + seed)

    def act():
        connections_break(scene, refused=refused)
        scene.cluster.look_seconds = 0.0
        scene.cluster.until(scene.cluster.is_even, 300)

    scene.play(act)


def test_the_planted_bug_of_unanswered_unloads_is_found(machine_of):
    def check():
        scene = Scene(machine_of(1), 100)
        scene.play(lambda: connections_break(scene))

    is_found("unanswered", check)


@pytest.mark.parametrize("seed", quick_first(range(4), 1, 2))
def test_a_table_is_disabled_though_connections_break(machine, seed):
    """And no tablet of it is served afterwards, whoever was asked again."""
    scene = Scene(machine, 120 + seed)
    cluster = scene.cluster

    def body():
        cluster.start(3)
        cluster.client.admin.create_table(machine.schema(), SPLITS)
        cluster.runtime.sleep(20)
        scene.hung = hang(cluster, min(cluster.servers), "roll_log")
        broken = break_connections(scene, again=0.2)
        cluster.start_server()
        cluster.until(lambda: sum(one.broke for one in broken), 60)
        cluster.runtime.sleep(cluster.chance.uniform(0, 10))
        while cluster.client.catalog.read_table(b"t").state is not TableState.DISABLED:
            with suppress(HbtableError):
                cluster.client.admin.disable_table(b"t")
        for _ in range(200):
            assert not scene.served() & {one.tablet_id for one in cluster.client.admin.tablets(b"t")}
            cluster.runtime.sleep(0.1)
        cluster.client.admin.enable_table(b"t")
        assert {one.tablet_id for one in cluster.client.admin.tablets(b"t")} <= scene.served()

    cluster.runtime.run(body)


def test_status_says_that_one_has_no_server(machine):
    """Until it is placed, which nobody does here; `status` counts it, and calls it OFFLINE in detail."""
    scene = Scene(machine, 47)
    cluster = scene.cluster

    def act():
        cluster.start_server()
        cluster.until(lambda: scene.hung.asked["unload_tablet"], 60)
        before = scene.here()
        cluster.runtime.sleep(7)
        cluster.look_seconds = LOOK_SECONDS
        scene.hung.waker.set()
        cluster.until(lambda: scene.here() != before, 5)
        without = before.keys() - scene.served()
        assert without
        client = cluster.client
        rows, tables = list(client.catalog.all_tablet_rows()), client.catalog.tables()
        statuses = client.admin.statuses(sorted(cluster.servers))
        served = {name: {one.record.tablet_id for one in found} for name, found in statuses.items()}
        states = {table.table_id: table.state for table in tables}
        told = {one.record.tablet_id: one.state for one in transitions(rows, states, cluster.servers.keys(), served)}
        assert told == dict.fromkeys(without, "OFFLINE")

    with planted(PLANTED["unplaced"]):
        scene.play(act)


def test_one_that_an_operator_moved(machine):
    scene = Scene(machine, 50)

    def act():
        admin = scene.cluster.client.admin
        tablet = next(one for one in admin.tablets(b"t") if one.owner == scene.stuck)

        def move():
            with suppress(HbtableError):  # it asks again by itself, and may come behind
                admin.move_tablet(b"t", tablet.tablet_id, min(set(scene.cluster.servers) - {scene.stuck}))

        moving = scene.cluster.runtime.spawn(move, name="move")
        scene.given_up_late(22)
        moving.join()
        assert moving.error is None

    scene.play(act)


def test_one_that_was_to_be_merged(machine):
    """It is served as it was: the merge told its caller that nothing was merged."""
    scene = Scene(machine, 51)

    def act():
        admin = scene.cluster.client.admin
        tablets = admin.tablets(b"t")
        at = next(place for place, one in enumerate(tablets[:-1]) if one.owner == scene.stuck)

        def merge():
            with suppress(HbtableError):  # it asks again by itself, and may come behind
                admin.merge_tablets(b"t", [one.tablet_id for one in tablets[at : at + 2]])

        merging = scene.cluster.runtime.spawn(merge, name="merge")
        scene.given_up_late(22)
        merging.join()
        assert merging.error is None

    scene.play(act)


def test_one_of_a_server_that_stops(machine):
    scene = Scene(machine, 52)

    def act():
        _, role = scene.cluster.servers[scene.stuck]
        scene.cluster.runtime.spawn(role.drain, name="drain")
        scene.given_up_late(7)

    scene.play(act)


def test_one_of_a_table_that_is_being_disabled_stays_without_a_server(machine):
    scene = Scene(machine, 53)
    cluster = scene.cluster

    def body():
        cluster.start(3)
        cluster.client.admin.create_table(machine.schema(), SPLITS)
        cluster.runtime.sleep(20)
        metadata = {record.owner for record in cluster.client.catalog.tablet_rows(0)}
        stuck = max(set(cluster.servers) - metadata)
        hung = hang(cluster, stuck, "unload_tablet")
        cluster.start_server()
        cluster.until(lambda: hung.asked, 60)
        cluster.runtime.sleep(7)
        disabling = cluster.runtime.spawn(lambda: cluster.client.admin.disable_table(b"t"), name="disable")
        cluster.runtime.sleep(3)
        hung.waker.set()
        disabling.join()
        assert disabling.error is None
        cluster.runtime.sleep(3)
        assert not scene.served() & {one.tablet_id for one in cluster.client.admin.tablets(b"t")}

    cluster.runtime.run(body)
