"""A master dies at each of its steps, in whatever it is at, and the next one makes it whole.

A step is a change of METADATA, of the lock service or of files, or an order to a tablet server. Once there is a next
master, each tablet of an enabled table has a server within seconds, and keeps having one: the masters here look at all
tablets once, when they start, so that nothing else finds what is forgotten. What was asked for is done, or is done when
it is asked for again. Nothing is lost.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

import pytest

from hbtable.errors import HbtableError, no_answer
from hbtable.master.tablets.normalizing import NormalizerOptions
from hbtable.model.table import TableState
from tests.harness import masters_operations as operations
from tests.harness.masters_operations import SPLITS, Scene
from tests.harness.planted_bugs import is_found
from tests.harness.seen_masters import SeenCluster
from tests.harness.tiers import quick_first, taking_turns

LOST_SECONDS = 3.0
"""For which a tablet may be without a server once there is a master."""
SLOW_SECONDS = 4.0
"""Longer than the next master takes to look at all tablets."""
TRIES = 10


class DyingMasters(SeenCluster):
    orders, scan_seconds = True, 100_000.0

    def __init__(self, seed, options):
        super().__init__(seed, options)
        self.unload_seconds = 0.0
        self.normalizer = NormalizerOptions(period_seconds=0, min_age_seconds=0, emptied_age_seconds=0)

    def start_server(self):
        before = set(self.servers)
        super().start_server()
        ((_, role),) = (self.servers[name] for name in set(self.servers) - before)
        tablets = role._online_tablets
        unload = tablets.unload

        def slow(tablet_id, why=""):
            if self.unload_seconds:
                self.runtime.sleep(self.unload_seconds)
            unload(tablet_id, why)

        tablets.unload = slow

    def unserved(self):
        """The tablets of enabled tables that no server has, as METADATA tells; all while it cannot be read."""
        catalog = self.client.catalog
        enabled = {table.table_id for table in catalog.tables() if table.state is TableState.ENABLED}
        rows = [row for row in catalog.all_tablet_rows() if row.table_id in enabled]
        served = {
            number: name for name, (_, role) in self.servers.items() for number in list(role._online_tablets.tablets)
        }
        return {row.tablet_id for row in rows if not row.owner or served.get(row.tablet_id) != row.owner}


class Asked(NamedTuple):
    """Something that is asked of a master. `done`: whether all of it came to be."""

    ask: Callable[[Scene], object]
    done: Callable[[Scene], object]


def states(scene):
    return {table.schema.name: table.state for table in scene.cluster.client.catalog.tables()}


def is_in(state, name):
    return lambda scene: states(scene).get(name) is state


def is_made(scene):
    return is_in(TableState.ENABLED, b"w")(scene) and len(scene.admin.tablets(b"w")) == 4


def is_truncated(scene):
    return is_in(TableState.ENABLED, b"u")(scene) and scene.machine.contents(scene.cluster, b"u") == {}


def create_namespace(scene):
    scene.admin.create_namespace(b"m", {"a": "b"})


def alter_namespace(scene):
    scene.admin.alter_namespace(b"n", {"a": "c"})


def delete_namespace(scene):
    scene.admin.delete_namespace(b"n")


def merge(scene):
    scene.admin.merge_tablets(b"t", [one.tablet_id for one in scene.tablets()[1:]])


def moved_to(scene):
    return sorted(scene.cluster.servers)[-1]


def move(scene):
    for tablet in scene.tablets():
        if tablet.owner != moved_to(scene):
            scene.admin.move_tablet(b"t", tablet.tablet_id, moved_to(scene))


def empty_a_server(scene):
    scene.admin.decommission([scene.server(0)], True)


def is_empty(scene):
    return all(row.owner != scene.server(0) for row in scene.cluster.client.catalog.all_tablet_rows())


def kill_a_server(scene):
    if len(scene.cluster.servers) == 3:
        scene.cluster.kill_server(scene.server(1))
    scene.cluster.runtime.sleep(2)


def stop_a_server(scene):
    if len(scene.cluster.servers) == 3:
        name = scene.server(1)
        node, role = scene.cluster.servers[name]
        draining = node.runtime.spawn(role.drain, name="drain")
        draining.join()
        scene.cluster.servers.pop(name)


def balance(scene):
    if len(scene.cluster.servers) == 3:
        scene.cluster.start_server()
    scene.admin.balance()
    scene.cluster.runtime.sleep(2)


def collect_garbage(scene):
    scene.admin.major_compact(b"t")
    scene.admin.collect_garbage()


def normalize(scene):
    """Tablets that hold nothing become one."""
    if b"y" not in states(scene):
        wanted = (("NORMALIZATION_ENABLED", "true"), ("NORMALIZER_TARGET_REGION_COUNT", "2"))
        scene.admin.create_table(replace(scene.machine.schema(b"y"), attributes=wanted), SPLITS)
    scene.admin.normalize([b"y"])
    scene.cluster.runtime.sleep(2)


def is_normalized(scene):
    return is_in(TableState.ENABLED, b"y")(scene) and len(scene.admin.tablets(b"y")) < len(SPLITS)


def always(scene):
    return True


ASKED = {
    "create": Asked(operations.a_table_is_made, is_made),
    "drop": Asked(operations.a_table_is_dropped, lambda scene: b"u" not in states(scene)),
    "enable": Asked(operations.a_table_is_enabled, is_in(TableState.ENABLED, b"u")),
    "disable": Asked(operations.a_table_is_disabled, is_in(TableState.DISABLED, b"t")),
    "alter": Asked(operations.a_table_is_altered, lambda scene: b"g" in scene.admin.schema(b"t").families),
    "truncate": Asked(operations.a_table_is_truncated, is_truncated),
    "create namespace": Asked(create_namespace, lambda scene: b"m" in scene.admin.namespaces()),
    "alter namespace": Asked(alter_namespace, lambda scene: scene.admin.namespace_properties(b"n") == {"a": "c"}),
    "delete namespace": Asked(delete_namespace, lambda scene: b"n" not in scene.admin.namespaces()),
    "merge": Asked(merge, lambda scene: len(scene.tablets()) == 2),
    "move": Asked(move, lambda scene: scene.cluster.owners() == {moved_to(scene)}),
    "decommission": Asked(empty_a_server, is_empty),
    "death of a server": Asked(kill_a_server, always),
    "stop of a server": Asked(stop_a_server, always),
    "balance": Asked(balance, always),
    "normalize": Asked(normalize, is_normalized),
    "collect garbage": Asked(collect_garbage, always),
    "throttle": Asked(
        lambda scene: scene.admin.set_throttle(user="ann", table=b"t", throttle_type="REQUEST_NUMBER", limit=10),
        lambda scene: scene.admin.quotas(),
    ),
}


class Death:
    """The first master dies at its step of this number.

    unsent     before it
    sent       while it is carried out
    answered   when it was carried out
    slow       while it is carried out, which takes long where it is an unload
    lost       at the next one; the answer to this one is lost before
    """

    def __init__(self, scene, kind, number):
        self._scene, self._kind, self._number = scene, kind, number
        self._cluster = scene.cluster
        self.step = ""
        """The one that it died at, or before."""
        self.after = lambda: None
        """Called when it died."""

    def begin(self):
        seen = self._cluster.seen
        seen.changes.clear()
        seen.carry = self._carry

    def _carry(self, what, name, call):
        number, kind = len(self._cluster.seen.changes), self._kind
        if number == self._number + (kind == "lost") and not self.step:
            self.step = f"{what}.{name}"
            if kind == "slow":
                self._cluster.unload_seconds = SLOW_SECONDS
            dying = self._cluster.runtime.spawn(self._die, kind, name="death of the master")
            if kind in ("unsent", "lost"):
                dying.join()  # nobody wakes what died
        answer = call()
        if number == self._number and kind == "answered":
            dying.join()
        if number == self._number and kind == "lost" and what != "files":
            raise no_answer("the connection broke")
        return answer

    def _die(self, kind):
        if kind == "slow":
            self._cluster.runtime.sleep(0.05)
        elif kind == "answered":
            self._cluster.runtime.sleep(0.02)
        self._cluster.kill_master()
        self._cluster.unload_seconds = 0.0
        self.after()
        self._cluster.start_master()


def a_server_stops(scene, death):
    node, role = scene.cluster.servers[scene.server(1)]
    node.runtime.spawn(role.drain, name="drain")


def a_server_dies(scene, death):
    death.after = lambda: scene.cluster.kill_server(scene.server(1))


def another_is_asked(ask):
    def begin(scene, death):
        def work():
            with suppress(HbtableError):
                ask(scene)

        scene.cluster.runtime.spawn(work, name="another operator")

    return begin


BESIDE = {
    "a server stops": a_server_stops,
    "a server dies": a_server_dies,
    "tablets are moved": another_is_asked(move),
    "tablets are merged": another_is_asked(merge),
    "a table is made": another_is_asked(lambda scene: scene.admin.create_table(scene.machine.schema(b"x"), SPLITS)),
}
OF_SERVERS = ("decommission", "death of a server", "stop of a server", "balance", "normalize")
"""What asks for servers to come and go, and what rests while one does."""


def longest_unserved(cluster, seconds):
    since, longest, end = {}, 0.0, cluster.runtime.clock_seconds() + seconds
    while (now := cluster.runtime.clock_seconds()) < end:
        without = cluster.unserved()
        since = {number: since.get(number, now) for number in without}
        longest = max([longest, *(cluster.runtime.clock_seconds() - began for began in since.values())])
        cluster.runtime.sleep(0.2)
    return longest


def until_done(scene, asked):
    """Asked again as often as it takes. What refuses it says so."""
    said = []
    for _ in range(TRIES):
        if asked.done(scene):
            return
        try:
            asked.ask(scene)
        except HbtableError as error:
            said.append(str(error))
        scene.cluster.runtime.sleep(1)
    assert asked.done(scene), said


def check_whole(scene, asked):
    cluster = scene.cluster
    found = states(scene)
    assert set(found.values()) <= {TableState.ENABLED, TableState.DISABLED}
    for name, state in found.items():
        if state is TableState.DISABLED:
            scene.admin.enable_table(name)
        cluster.check_tiling(name)
        if name == b"t" or (name == b"u" and not is_truncated(scene)):
            assert scene.machine.contents(cluster, name) == scene.machine.expected(range(300))
    assert longest_unserved(cluster, 1) < LOST_SECONDS
    assert cluster.lost == []


def dies(machine, asked, kind, number, seed=3, beside=lambda scene, death: None):
    """The step that the master died at; "" where there are fewer."""
    scene = Scene(machine, seed, DyingMasters)
    death = Death(scene, kind, number)

    def act():
        cluster = scene.cluster
        cluster.runtime.sleep(3)
        first = cluster.master
        death.begin()
        beside(scene, death)
        asking = cluster.runtime.spawn(asked.ask, scene, name="operator")
        while not asking.join(0.1):
            if death.step:
                break
        if not death.step:
            cluster.runtime.sleep(3)  # what follows from it
        if not death.step:
            return
        while cluster.master is first or not cluster.master.acting:
            cluster.runtime.sleep(0.1)
        longest = longest_unserved(cluster, SLOW_SECONDS + 5 if kind == "slow" else 4)
        assert longest < LOST_SECONDS, f"without a server for {longest:.1f} s, after {death.step}"
        assert asking.join(60), f"not answered, after {death.step}"
        assert asking.error is None or isinstance(asking.error, HbtableError)
        until_done(scene, asked)
        check_whole(scene, asked)

    scene.play(act)
    return death.step


EACH = [f"{kind}, {asked}" for kind in ("sent", "unsent", "answered", "slow", "lost") for asked in ASKED]


@pytest.mark.parametrize("case", quick_first(EACH, 0, 4))
def test_the_next_master_ends_what_the_last_one_began(machine, case):
    kind, asked = case.split(", ")
    number = 1
    while dies(machine, ASKED[asked], kind, number):
        number += 1
    assert number > 1 or kind == "lost", "it has a step, and perhaps one alone"


def test_the_next_master_places_what_is_given_up_late(machine):
    assert dies(machine, ASKED["move"], "slow", 1) == "order.unload_tablet"


def test_the_planted_bug_is_found(machine_of):
    is_found("unheard", lambda: dies(machine_of(1), ASKED["move"], "slow", 1))


def beside_each():
    return [
        f"{kind}, {asked}, {beside}"
        for kind in ("sent", "slow")
        for asked in ASKED
        for number, beside in enumerate(BESIDE)
        if asked not in OF_SERVERS or number > 1
    ]


@pytest.mark.parametrize("case", taking_turns(beside_each(), 24))
def test_and_so_it_does_beside_other_things(machine, case):
    kind, asked, beside = case.split(", ")
    number = 1
    while dies(machine, ASKED[asked], kind, number, beside=BESIDE[beside]):
        number += 1
    assert number > 1
