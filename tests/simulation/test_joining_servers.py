"""A server joins, and gets a tablet, at each step of what a master is at: the master's list of servers is older then
than the tablet's row."""

from contextlib import suppress
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import pytest

from hbtable.client.client import Client
from hbtable.errors import HbtableError
from tests.harness.counted_cluster import CountedCluster
from tests.harness.counted_transport import CountedTransport
from tests.harness.delegating_fake import DelegatingFake
from tests.harness.hanging_calls import hang
from tests.harness.many_servers import Node
from tests.harness.planted_bugs import is_found
from tests.harness.tiers import one_in

SPLITS = [b"row000%03d" % number for number in range(30, 300, 30)]


class Asked(DelegatingFake):
    """What a master asks a tablet server, each question a step."""

    def __init__(self, inner, steps):
        super().__init__(inner)
        self._steps = steps

    def __getattr__(self, name):
        return partial(self._steps.carry, getattr(self.inner, name))


class SteppedTransport(CountedTransport):
    def __init__(self, inner, asked, steps):
        super().__init__(inner, asked)
        self._steps = steps

    def tablet_service(self, incarnation):
        return Asked(super().tablet_service(incarnation), self._steps)

    def tablet_admin(self, incarnation):
        return Asked(super().tablet_admin(incarnation), self._steps)


class Steps:
    """The steps of a master from begin() on. The one of this number stands still: before it is carried out, or, when
    it `is_answered`, after it."""

    def __init__(self, cluster, number, is_answered):
        self.is_reached, self._left, self._is_answered, self._begun = False, number, is_answered, False
        self.goes_on = cluster.runtime.event()

    def begin(self):
        self._begun = True

    def carry(self, method, *arguments):
        self._left -= self._begun
        is_it = self._begun and not self._left
        if is_it and not self._is_answered:
            self._stand_still()
        answer = method(*arguments)
        if is_it and self._is_answered:
            self._stand_still()
        return answer

    def _stand_still(self):
        self.is_reached = True
        self.goes_on.wait(20)


class Scene:
    """Three servers. `first` has the `tablet`, and is to give it up, which it does when its `unload` goes on: it was
    asked to by somebody who left."""

    def __init__(self, machine, number, is_answered):
        shared = replace(machine.options, server=replace(machine.options.server, shares_folder=True))
        self.machine, self.cluster = machine, CountedCluster(21, shared)
        self.steps = Steps(self.cluster, number, is_answered)
        self.cluster.master_transport = lambda inner, asked: SteppedTransport(inner, asked, self.steps)

    def begin(self):
        cluster = self.cluster
        cluster.start(3)
        self.admin = admin = cluster.client.admin
        admin.create_table(self.machine.schema(), SPLITS)
        self.machine.write(cluster, range(300))
        cluster.master.tables.balancer.toggle.turn(False)
        cluster.runtime.sleep(15)
        metadata = {record.owner for record in cluster.client.catalog.tablet_rows(0)}
        self.first = max(set(cluster.servers) - metadata)
        self.target = min(set(cluster.servers) - {self.first})
        self.tablet = next(one for one in admin.tablets(b"t") if one.owner == self.first)
        self.unload = hang(cluster, self.first, "unload_tablet")
        self.asked(move).join(60)
        assert self.serving(self.tablet) == [self.first]

    def asked(self, operation):
        def ask():
            with suppress(HbtableError):  # what it was at has changed
                operation(self)

        return self.cluster.master_node.runtime.spawn(ask, name="operator")

    def serving(self, tablet):
        return [
            name for name, (_, role) in self.cluster.servers.items() if tablet.tablet_id in role._online_tablets.tablets
        ]

    def a_server_joins(self):
        """And gets the tablet, unless it is kept for the operation; then another one comes."""
        cluster = self.cluster
        cluster.start_server()
        self.unload.waker.set()
        with suppress(AssertionError):
            cluster.until(lambda: self.serving(self.tablet) not in ([], [self.first]), 4)
        with suppress(HbtableError):  # its table may be disabled
            self.machine.write(cluster, range(300), b"after")
        cluster.start_server()

    def is_served_by_its_owners(self):
        return all(self.serving(tablet) == [tablet.owner] for tablet in self.admin.tablets(b"t"))

    def read_by_another_client(self):
        node = Node(self.cluster, "another client")
        client = Client(self.cluster.runtime, node.session, self.cluster.transport)
        return self.machine.contents(SimpleNamespace(client=client))


def move(scene):
    scene.cluster.master.calls.move_tablet(b"t", scene.tablet.tablet_id, scene.target)


def merge(scene):
    scene.cluster.master.calls.merge_tablets(b"t", [one.tablet_id for one in scene.admin.tablets(b"t")[:2]])


def empty_a_server(scene):
    scene.cluster.master.calls.decommission([scene.first], True)
    scene.cluster.runtime.sleep(10)


def stop_a_server(scene):
    node, role = scene.cluster.servers[scene.first]
    node.runtime.spawn(role.drain, name="drain")
    scene.cluster.runtime.sleep(10)


def disable_and_enable(scene):
    scene.cluster.master.calls.disable_table(b"t")
    scene.cluster.master.calls.enable_table(b"t")


def look_at_everything(scene):
    scene.cluster.master.request_cycle()
    scene.cluster.runtime.sleep(10)


def joins(machine, operation, number, is_answered):
    """False when there were fewer steps."""
    scene = Scene(machine, number, is_answered)
    cluster, steps = scene.cluster, scene.steps

    def body():
        scene.begin()
        steps.begin()
        asked = scene.asked(operation)
        while not asked.join(0.1) and not steps.is_reached:
            pass
        if not steps.is_reached:
            return
        scene.a_server_joins()
        steps.goes_on.set()
        assert asked.join(120)
        with suppress(HbtableError):
            scene.admin.enable_table(b"t")
        with suppress(HbtableError):  # what has no server is found below
            scene.machine.write(cluster, range(300), b"last")
        cluster.until(scene.is_served_by_its_owners, 60)
        assert scene.read_by_another_client() == scene.machine.expected(range(300), b"last")
        cluster.check_tiling()
        assert not cluster.master._placement.quarantine.suspects(), "no server died"

    cluster.runtime.run(body)
    return steps.is_reached


OPERATIONS = {
    move: 12,
    merge: 16,
    empty_a_server: 40,
    stop_a_server: 40,
    disable_and_enable: 32,
    look_at_everything: 16,
}
"""With about so many steps, or until they have taken the tablet from its server."""
CASES = [
    f"{operation.__name__}, {number}, {when}"
    for operation, steps in OPERATIONS.items()
    for number in range(1, steps + 1)
    for when in ("before", "answered")
]


@pytest.mark.parametrize("case", one_in(16, CASES))
def test_nothing_is_taken_unasked_from_a_server_that_joins(machine, case):
    name, number, when = case.split(", ")
    operation = next(one for one in OPERATIONS if one.__name__ == name)
    joins(machine, operation, int(number), when == "answered")


def test_the_planted_bug_is_found(machine_of):
    def check():
        assert joins(machine_of(1), move, 2, True)

    is_found("unlisted", check)
