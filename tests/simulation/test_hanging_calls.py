"""Each call of the master to a tablet server hangs in turn, whatever the master is at: a server that dies meanwhile is
noticed, and its tablets are served again within seconds."""

import ast
from dataclasses import replace
from pathlib import Path

import pytest

import hbtable.master
from hbtable.errors import HbtableError, Unavailable
from hbtable.metadata import layout
from hbtable.model.tablet import METADATA_TABLE_ID
from tests.harness.delegating_fake import DelegatingFake
from tests.harness.hanging_calls import CALLS, hang
from tests.harness.many_servers import Cluster
from tests.harness.tiers import turn_marks

SPLITS = [b"row000%03d" % number for number in range(25, 300, 25)]
SOON_SECONDS = 15.0
"""Of simulated time. What hangs does so for as long as `rpc.order_seconds` says, and its like."""


class Scene:
    """Five servers with a table `t` and a table `u`. Calls to `stuck`, which has no tablet of METADATA unless it is to
    have them all, are to hang. `dies` has none either, and tablets of both tables."""

    def __init__(self, machine, seed, of_metadata=False):
        self.machine = machine
        self.of_metadata = of_metadata
        self.cluster = Cluster(seed, machine.options)

    def play(self, act):
        def body():
            cluster = self.cluster
            cluster.start(5)
            self.admin = cluster.client.admin
            for name in (b"t", b"u", b"v"):
                self.admin.create_table(self.machine.schema(name), SPLITS)
            self.machine.write(cluster, range(300))
            self.admin.disable_table(b"v")
            cluster.runtime.sleep(20)
            metadata = self.owners_of_metadata()
            others = sorted(set(cluster.servers).difference(metadata))
            self.stuck = metadata[-1] if self.of_metadata else others[0]
            self.dies, self.other = [name for name in others if name != self.stuck][:2]
            act()

        self.cluster.runtime.run(body)

    def owners_of_metadata(self):
        return [record.owner for record in self.cluster.client.catalog.tablet_rows(METADATA_TABLE_ID)]

    def tablets_of(self, server, table=b"t"):
        return [one for one in self.admin.tablets(table) if one.owner == server]

    def spawn(self, call, *arguments):
        """A client's call, whatever becomes of it."""

        def work():
            try:
                call(*arguments)
            except HbtableError:
                pass

        self.cluster.runtime.spawn(work, name="client")

    def until(self, done, seconds):
        """The seconds that it took."""
        clock = self.cluster.runtime.clock_seconds
        began = clock()
        while not done():
            assert clock() < began + seconds, (self.unserved(), self.cluster.master.last_message)
            self.cluster.runtime.sleep(0.1)
        return clock() - began

    def unserved(self, tables=(b"t", b"u"), of_stuck=False):
        """The tablets of these that no living server serves; without those that the stuck one is to, unless
        `of_stuck`."""
        served = {tablet_id for _, role in self.cluster.servers.values() for tablet_id in role._online_tablets.tablets}
        return [
            (one.tablet_id, one.owner)
            for table in tables
            for one in self.admin.tablets(table)
            if (of_stuck or one.owner != self.stuck) and one.tablet_id not in served
        ]

    def seconds_until_a_death_is_cured(self, server, tables=(b"t", b"u")):
        self.cluster.kill_server(server)
        return self.until(lambda: not self.unserved(tables), 700)


# ---------------------------------------------------------------- what the master may be at


def nothing(scene):
    pass


def a_death(scene):
    scene.cluster.kill_server(scene.other)


def a_new_server(scene):
    scene.cluster.start_server()


def the_stuck_one_stops(scene):
    node, role = scene.cluster.servers[scene.stuck]
    node.runtime.spawn(role.drain, name="drain")


def another_one_stops(scene):
    node, role = scene.cluster.servers[scene.other]
    node.runtime.spawn(role.drain, name="drain")


def the_stuck_one_is_emptied(scene):
    scene.spawn(scene.admin.decommission, [scene.stuck], True)


def a_table_is_made(scene):
    scene.spawn(scene.admin.create_table, scene.machine.schema(b"w"), SPLITS)


def a_table_is_enabled(scene):
    scene.spawn(scene.admin.enable_table, b"v")


def a_table_is_disabled(scene):
    scene.spawn(scene.admin.disable_table, b"t")


def a_table_is_dropped(scene):
    scene.spawn(scene.admin.disable_table, b"v")
    scene.spawn(scene.admin.delete_table, b"v")


def a_table_is_altered(scene):
    schema = scene.admin.schema(b"t")
    scene.spawn(scene.admin.alter_table, replace(schema, version=schema.version + 1))


def a_tablet_is_moved(scene):
    scene.spawn(scene.admin.move_tablet, b"t", scene.tablets_of(scene.stuck)[0].tablet_id, scene.other)


def tablets_are_merged(scene):
    tablets = scene.admin.tablets(b"t")
    places = [place for place, one in enumerate(tablets) if one.owner == scene.stuck]
    place = min(places[0], len(tablets) - 2)
    scene.spawn(scene.admin.merge_tablets, b"t", [one.tablet_id for one in tablets[place : place + 2]])


def children_are_merged(scene):
    """They share files, and have a compaction first."""
    tablet = scene.tablets_of(scene.stuck)[0]
    node, role = scene.cluster.servers[scene.stuck]

    def split():  # asks the server itself: calls that come to it from elsewhere may hang, `flush` among them
        role.admin.flush(tablet.tablet_id)
        role.admin.split(tablet.tablet_id, tablet.range.start + b"5")

    assert node.runtime.spawn(split, name="split").join(10)
    children = [one for one in scene.admin.tablets(b"t") if one.range.start.startswith(tablet.range.start)][:2]
    scene.spawn(scene.admin.merge_tablets, b"t", [one.tablet_id for one in children])


def tables_are_normalized(scene):
    scene.spawn(scene.admin.normalize, [])


def garbage_is_collected(scene):
    scene.spawn(scene.admin.collect_garbage)


def the_balancer_is_asked(scene):
    scene.cluster.start_server()
    scene.spawn(scene.admin.balance)


PHASES = {
    nothing: (b"t", b"u"),
    a_death: (b"t", b"u"),
    a_new_server: (b"t", b"u"),
    the_stuck_one_stops: (b"t", b"u"),
    another_one_stops: (b"t", b"u"),
    the_stuck_one_is_emptied: (b"t", b"u"),
    a_table_is_made: (b"t", b"u"),
    a_table_is_enabled: (b"t", b"u"),
    a_table_is_disabled: (b"u",),
    a_table_is_dropped: (b"t", b"u"),
    a_table_is_altered: (b"t", b"u"),
    a_tablet_is_moved: (b"t", b"u"),
    tablets_are_merged: (b"t", b"u"),
    children_are_merged: (b"t", b"u"),
    tables_are_normalized: (b"t", b"u"),
    garbage_is_collected: (b"t", b"u"),
    the_balancer_is_asked: (b"t", b"u"),
}
"""With the tables that are to be served throughout."""

MET = {
    "load_tablet": [a_death, a_new_server, another_one_stops, a_table_is_made, a_table_is_enabled],
    "unload_tablet": [
        a_new_server, the_stuck_one_stops, the_stuck_one_is_emptied, a_table_is_disabled, a_tablet_is_moved,
        tablets_are_merged, the_balancer_is_asked,
    ],
    "update_schema": [a_table_is_altered],
    "sort_log_part": [a_death],
    "served_changes": [*PHASES],
    "tablets": [],
    "served_record": [a_tablet_is_moved],
    "files_in_flight": [garbage_is_collected],
    "compact": [children_are_merged],
    "split": [],
    "flush": [],
}  # fmt: skip
"""The calls of a master to tablet servers, each with what it must be seen to be made for. `tablets` and `split` are the
normalizer's, which works beside the cycle, and finds nothing to do in tables that are so young. `flush` is made in the
start of one machine whose disk is full, of which the master and its one server are a single process."""

BOUNDS = {
    the_balancer_is_asked: 20.0,  # 10 s of a log that no server sorts, the death noticed after 2.5, and moves before it
    a_table_is_altered: 35.0,
    a_tablet_is_moved: 30.0,
    tablets_are_merged: 60.0,  # the client asks again for half a minute
    children_are_merged: 60.0,
}


def calls_of_masters():
    """The calls to tablet servers in the master's code."""
    found = set()
    for path in Path(hbtable.master.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and node.attr in CALLS and _is_a_server(node.value):
                found.add(node.attr)
    return found


def _is_a_server(node):
    return (isinstance(node, ast.Name) and node.id in ("server", "admin")) or (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "tablet_admin"
    )


def test_every_call_of_the_master_is_among_them():
    assert calls_of_masters() == MET.keys()


ALONE = ("sort_log_part", "served_changes")
"""Calls that hang by themselves in every phase: the cure of a death makes them, too. Whatever else a phase does not
call hangs together, in one cell for each phase."""


def seconds_to_cure(machine, seed, names, phase):
    """A second server dies while calls of these names hang; and whether there was one."""
    scene, found = Scene(machine, seed), []

    def act():
        # Of a log in one part only the first server is asked.
        stuck = sorted(scene.cluster.servers) if "sort_log_part" in names else [scene.stuck]
        hung = [hang(scene.cluster, server, *names) for server in stuck]
        phase(scene)
        clock = scene.cluster.runtime.clock_seconds
        began = clock()
        while not any(one.asked for one in hung) and clock() < began + 20:
            scene.cluster.runtime.sleep(0.05)
        found.extend([scene.seconds_until_a_death_is_cured(scene.dies, PHASES[phase]), any(one.asked for one in hung)])
        for one in hung:
            one.waker.set()

    scene.play(act)
    return found


def cells():
    """Every call beside everything that the master may be at; those that do not meet take turns."""
    for name, met in MET.items():
        for phase in PHASES if name in ALONE else met:
            quick = phase in met and name != "served_changes"
            marks = () if quick else pytest.mark.slow if phase in met else turn_marks(f"{name}-{phase.__name__}")
            yield pytest.param([name], phase, id=f"{name}-{phase.__name__}", marks=marks)
    for phase in PHASES:
        names = [name for name, met in MET.items() if phase not in met and name not in ALONE]
        yield pytest.param(names, phase, id=f"others-{phase.__name__}", marks=turn_marks(phase.__name__))


@pytest.mark.parametrize(("names", "phase"), list(cells()))
def test_a_death_is_cured_while_a_call_hangs(machine, names, phase):
    seconds, asked = seconds_to_cure(machine, 1, names, phase)
    assert seconds < BOUNDS.get(phase, SOON_SECONDS)
    if any(phase in MET[name] for name in names):
        assert asked, f"nobody asked {names[0]}"


def test_a_death_is_cured_while_a_server_does_not_give_up_a_tablet_of_metadata_that_is_merged(machine):
    scene = Scene(machine, 1, of_metadata=True)

    def act():
        cluster = scene.cluster
        table = cluster.client.catalog.read_table(b"t")
        key = layout.tablet_key(table.table_id, SPLITS[3])
        first = cluster.client.catalog.tablet_rows(METADATA_TABLE_ID)[-1]
        assert cluster.transport.tablet_admin(first.owner).split(first.tablet_id, key)
        _, *parts = cluster.client.catalog.tablet_rows(METADATA_TABLE_ID)
        hung = hang(cluster, scene.stuck, "unload_tablet")
        scene.spawn(scene.admin.merge_tablets, layout.SCHEMA.name, [one.tablet_id for one in parts])
        scene.until(lambda: hung.asked, 20)
        assert scene.seconds_until_a_death_is_cured(scene.dies) < SOON_SECONDS
        hung.waker.set()

    scene.play(act)


WAITED_FOR = [
    ("load_tablet", a_death),
    ("load_tablet", another_one_stops),
    ("unload_tablet", a_new_server),
    ("unload_tablet", the_stuck_one_stops),
    ("unload_tablet", the_stuck_one_is_emptied),
    ("sort_log_part", a_death),
    ("served_changes", nothing),
]


@pytest.mark.parametrize(("name", "phase"), WAITED_FOR)
def test_a_master_that_stops_beside_a_call_that_hangs_makes_room_for_the_next_one(machine, name, phase):
    """It held its lock for as long as the server was silent, up to ten minutes."""
    scene = Scene(machine, 6)

    def act():
        cluster, clock = scene.cluster, scene.cluster.runtime.clock_seconds
        stuck = sorted(cluster.servers) if name == "sort_log_part" else [scene.stuck]
        hung = [hang(cluster, server, name) for server in stuck]
        phase(scene)
        scene.until(lambda: any(one.asked for one in hung), 20)
        began = clock()
        stopped = cluster.master_node.runtime.spawn(cluster.master.stop, 5.0, name="stop")
        cluster.start_master()
        scene.until(lambda: cluster.master.acting, 700)
        assert clock() - began < 10
        assert stopped.join(10)
        for one in hung:
            one.waker.set()
        assert scene.seconds_until_a_death_is_cured(scene.dies, PHASES[phase]) < SOON_SECONDS
        cluster.check_tiling(b"u")

    scene.play(act)


# ---------------------------------------------------------------- one by one


def test_a_death_is_cured_while_a_server_hangs_that_is_to_give_a_tablet_up_which_it_could_not_load(machine):
    """It held the whole table up: for ten minutes."""
    scene = Scene(machine, 2)

    class Unable(DelegatingFake):
        def load_tablet(self, epoch, record, schema):
            raise Unavailable("no memory left")

    def act():
        cluster, transport = scene.cluster, scene.cluster.transport
        hung = hang(cluster, scene.stuck, "unload_tablet")
        service, admin = transport.tablet_service(scene.stuck), transport.tablet_admin(scene.stuck)
        transport.register_server(scene.stuck, service, Unable(admin))
        cluster.kill_server(scene.other)
        scene.until(lambda: hung.asked, 60)
        assert scene.seconds_until_a_death_is_cured(scene.dies) < SOON_SECONDS
        hung.waker.set()
        scene.until(lambda: not scene.unserved(of_stuck=True), 60)

    scene.play(act)


def test_a_death_is_cured_while_a_server_hangs_that_is_to_give_metadata_up(machine):
    scene = Scene(machine, 3, of_metadata=True)

    def act():
        cluster = scene.cluster
        of_metadata = {record.tablet_id for record in cluster.client.catalog.tablet_rows(METADATA_TABLE_ID)}
        hung = hang(cluster, scene.stuck, "unload_tablet", concerns=lambda _, tablet_id: tablet_id in of_metadata)
        scene.admin.decommission([scene.stuck], True)
        scene.until(lambda: hung.asked, 60)
        assert scene.seconds_until_a_death_is_cured(scene.dies) < SOON_SECONDS
        hung.names.clear()
        hung.waker.set()
        scene.until(lambda: scene.stuck not in scene.owners_of_metadata(), 60)

    scene.play(act)


def test_a_server_that_hangs_in_many_loads_keeps_no_more_tablets_waiting_than_those(machine):
    """It has none yet, so all that a server had which stops were for it, one after the other."""
    scene = Scene(machine, 4)
    tables = (b"t", b"u", b"w")

    def act():
        cluster = scene.cluster
        scene.admin.balance_switch(False)
        scene.admin.create_table(machine.schema(b"w"), [b"%04d" % number for number in range(150)])
        cluster.start_server()
        scene.stuck = [*cluster.servers][-1]
        hung = hang(cluster, scene.stuck, "load_tablet")
        cluster.runtime.sleep(10)
        assert len(scene.tablets_of(scene.other, b"w")) > 20
        another_one_stops(scene)
        scene.until(lambda: hung.asked, 60)
        seconds = scene.until(lambda: not scene.unserved(tables) and not scene.tablets_of(scene.other, b"w"), 700)
        assert seconds < 15
        hung.waker.set()
        scene.until(lambda: not scene.unserved(tables, of_stuck=True), 60)

    scene.play(act)


def test_a_tablet_that_was_given_up_goes_to_another_server_while_the_answer_hangs(machine):
    """The one that gave it up has the fewest then, so that it was to have it again, and was asked for nothing."""
    scene = Scene(machine, 5)

    class Silent(DelegatingFake):
        def unload_tablet(self, epoch, tablet_id):
            self.inner.unload_tablet(epoch, tablet_id)
            scene.waker.wait()

    def act():
        cluster, transport = scene.cluster, scene.cluster.transport
        scene.admin.balance_switch(False)
        scene.waker = cluster.runtime.event()
        tablets = scene.tablets_of(scene.stuck) + scene.tablets_of(scene.stuck, b"u")
        for one in tablets[1:]:
            scene.admin.move_tablet(b"t" if one.table_id == tablets[0].table_id else b"u", one.tablet_id, scene.other)
        service, admin = transport.tablet_service(scene.stuck), transport.tablet_admin(scene.stuck)
        transport.register_server(scene.stuck, service, Silent(admin))
        scene.spawn(cluster.master.calls.move_tablet, b"t", tablets[0].tablet_id, scene.other)
        scene.until(lambda: scene.unserved(of_stuck=True), 60)
        seconds = scene.until(lambda: not scene.unserved(of_stuck=True), 700)
        scene.waker.set()
        assert seconds < 40

    scene.play(act)
