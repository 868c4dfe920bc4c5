"""A master that lost its lock, or stopped, changes nothing more, whatever it is at.

Between two switches nothing happens to a lock. So a change is safe when the master looked at its session in the same
step: then no switch before it can have been the one at which the lock was lost. That is asked of each change that it
makes, in each of its operations, and covers all their switches at once. A stop is no matter of the session: each
operation is stopped at each of its changes.
"""

from collections import Counter
from dataclasses import replace
from functools import partial

import pytest

from hbtable.errors import HbtableError
from hbtable.lockservice.paths import MASTER
from hbtable.master.master import Master, MasterOptions
from hbtable.metadata import layout
from hbtable.model.table import TableState
from hbtable.rpc.declaration import calls_of
from hbtable.rpc.services import TabletService
from tests.harness.delegating_fake import DelegatingFake
from tests.harness.many_servers import Cluster, Node, Remote
from tests.harness.tiers import quick_first

SPLITS = [b"row000%03d" % number for number in (75, 150, 225)]
OF_FILES = ("create", "write_file", "put_new", "seal", "rename", "delete", "delete_folder")
OF_LOCKS = ("lock", "create", "write", "delete")
OF_METADATA = tuple(name for name, call in calls_of(TabletService).items() if not call.changes_nothing)
"""Orders to servers are none of these: each carries the epoch of its master's lock."""


class Seen:
    """The changes of one master. `before` is called at each."""

    def __init__(self, cluster):
        self._scheduler = cluster.runtime.scheduler
        self._looked_at = -1
        self.changes = []
        self.held = None
        """The task of a stop that waits for one of them."""
        self.resigned_at = 0
        self.unlooked = Counter()
        self.before = lambda: None

    def look(self):
        self._looked_at = self._scheduler.steps

    def gave_up(self, path):
        if path == MASTER:
            self.resigned_at = len(self.changes)

    def change(self, what, name, method, *arguments):
        self.changes.append(f"{what}.{name}")
        if self._looked_at != self._scheduler.steps and arguments[0] != MASTER:  # without it there is nothing to lose
            self.unlooked[f"{what}.{name}"] += 1
        self.before()
        return method(*arguments)


class SeenPart(DelegatingFake):
    """A file system, a session or a service: what changes something is seen, and so are looks at the session, and that
    the lock is given up."""

    def __init__(self, inner, seen, what, changing):
        super().__init__(inner)
        self._seen, self._what, self._changing = seen, what, changing

    def __getattr__(self, name):
        method = getattr(self.inner, name)
        if name in ("valid", "over"):
            return lambda: (self._seen.look(), method())[1]
        if name == "unlock":
            return lambda path: (self._seen.gave_up(path), method(path))[1]
        if name not in self._changing:
            return method
        return partial(self._seen.change, self._what, name, method)


class SeenMetadata(SeenPart):
    def mutate(self, tablet_id, mutations):
        assert all(mutation.row.startswith(layout.HISTORY_PREFIX) for mutation in mutations)
        return self.inner.mutate(tablet_id, mutations)


class SeenTransport(DelegatingFake):
    def __init__(self, inner, seen):
        super().__init__(inner)
        self._seen = seen

    def tablet_service(self, server):
        return SeenMetadata(self.inner.tablet_service(server), self._seen, "METADATA", OF_METADATA)


class SeenCluster(Cluster):
    """The changes of its masters are seen, from the first one's first on."""

    def start_master(self):
        node = self.master_node = Node(self, self._name("master"))
        seen = self.seen = Seen(self)
        session = SeenPart(node.session, seen, "lock service", OF_LOCKS)
        files = SeenPart(node.fs, seen, "files", OF_FILES)
        transport, lost = SeenTransport(self.transport, seen), lambda: self.lost.append("master")
        master = self.master = Master(node.runtime, session, files, transport, lost, MasterOptions(scan_seconds=5.0))
        self.transport.register_master(Remote(self, node, master.calls))
        master.start()
        return seen


class Scene:
    def __init__(self, machine, seed):
        self.machine, self.cluster = machine, SeenCluster(seed, machine.options)

    def play(self, act):
        def body():
            self.cluster.start(3)
            self.admin = self.cluster.client.admin
            for name in (b"t", b"u"):
                self.admin.create_table(self.machine.schema(name), SPLITS)
                self.machine.write(self.cluster, range(300), name=name)
            self.admin.disable_table(b"u")
            self.admin.create_namespace(b"n", {})
            act()

        self.cluster.runtime.run(body)

    def tablets(self):
        return self.admin.tablets(b"t")

    def server(self, number):
        return sorted(self.cluster.servers)[number]

    def settle(self):
        self.cluster.runtime.sleep(15)


def a_table_is_made(scene):
    scene.admin.create_table(scene.machine.schema(b"w"), SPLITS)


def a_table_is_dropped(scene):
    scene.admin.delete_table(b"u")


def a_table_is_enabled(scene):
    scene.admin.enable_table(b"u")


def a_table_is_disabled(scene):
    scene.admin.disable_table(b"t")


def a_table_is_altered(scene):
    schema = scene.admin.schema(b"t")
    families = {**schema.families, **scene.machine.schema(b"t", b"g").families}
    scene.admin.alter_table(replace(schema, version=schema.version + 1, families=families))


def a_table_is_truncated(scene):
    scene.admin.truncate_table(b"u", True)


def namespaces_change(scene):
    scene.admin.create_namespace(b"m", {"a": "b"})
    scene.admin.alter_namespace(b"n", {"a": "c"})
    scene.admin.delete_namespace(b"n")


def tablets_are_merged(scene):
    scene.admin.merge_tablets(b"t", [one.tablet_id for one in scene.tablets()[:2]])


def a_tablet_is_moved(scene):
    tablet = scene.tablets()[0]
    target = next(name for name in sorted(scene.cluster.servers) if name != tablet.owner)
    scene.admin.move_tablet(b"t", tablet.tablet_id, target)


def a_server_is_emptied(scene):
    scene.admin.decommission([scene.server(0)], True)
    scene.settle()
    scene.admin.recommission(scene.server(0))


def a_server_dies(scene):
    scene.cluster.kill_server(scene.server(1))
    scene.settle()


def a_server_stops(scene):
    node, role = scene.cluster.servers[scene.server(1)]
    node.runtime.spawn(role.drain, name="drain")
    scene.settle()


def a_server_dies_after_a_split(scene):
    """The left child's row is still missing when its server dies."""
    tablet = scene.tablets()[0]
    node, role = scene.cluster.servers[tablet.owner]
    kept, node.catalog.put_tablet_if_absent = node.catalog.put_tablet_if_absent, lambda record: node.crash()
    node.runtime.spawn(role.admin.split, tablet.tablet_id, tablet.range.start + b"5", name="split").join(10)
    node.catalog.put_tablet_if_absent = kept
    scene.cluster.kill_server(tablet.owner)
    scene.settle()


def a_new_server_gets_its_share(scene):
    scene.cluster.start_server()
    scene.admin.balance()
    scene.settle()


def tables_are_normalized(scene):
    scene.admin.normalize([])
    scene.settle()


def garbage_is_collected(scene):
    scene.admin.delete_table(b"u")
    scene.admin.collect_garbage()
    scene.cluster.runtime.sleep(70)
    scene.admin.collect_garbage()


def quotas_are_set(scene):
    scene.admin.set_throttle(user="ann", table=b"t", throttle_type="REQUEST_NUMBER", limit=10)
    scene.admin.set_space_limit(table=b"t", limit=1, policy="NO_INSERTS")
    scene.admin.set_throttling(False)
    scene.settle()


def operators_toggle(scene):
    scene.admin.balance_switch(False)
    scene.admin.normalizer_switch(False)


OPERATIONS = [
    a_table_is_made, a_table_is_dropped, a_table_is_enabled, a_table_is_disabled, a_table_is_altered,
    a_table_is_truncated, namespaces_change, tablets_are_merged, a_tablet_is_moved, a_server_is_emptied, a_server_dies,
    a_server_stops, a_server_dies_after_a_split, a_new_server_gets_its_share, tables_are_normalized,
    garbage_is_collected, quotas_are_set, operators_toggle,
]  # fmt: skip


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_master_looks_at_its_session_in_the_step_of_each_change(machine, operation):
    scene = Scene(machine, 1)

    def act():
        seen = scene.cluster.seen
        seen.changes.clear()
        operation(scene)
        assert seen.changes
        assert not seen.unlooked, seen.unlooked

    scene.play(act)


def changes_after_a_stop(machine, operation, number):
    """The changes of a master after it gave its lock up, which it did while the one of this number was on its way; None
    where there were fewer."""
    scene, after = Scene(machine, 2), []

    def act():
        cluster, seen, master = scene.cluster, scene.cluster.seen, scene.cluster.master
        seen.changes.clear()

        def stop():
            if len(seen.changes) == number and seen.held is None:
                node = cluster.master_node
                seen.held = node.runtime.spawn(master.stop, 0.0, name="stop")
                assert seen.held.join(60)
                cluster.runtime.spawn(ends, node, name="end of the process")
                cluster.start_master()

        def ends(node):
            cluster.runtime.sleep(1)
            node.session.close()

        seen.before = stop
        try:
            operation(scene)
        except HbtableError:
            pass
        scene.settle()
        if seen.held is not None:
            after.append(seen.changes[seen.resigned_at :])
            assert {table.state for table in cluster.client.catalog.tables()} <= {
                TableState.ENABLED,
                TableState.DISABLED,
            }
            assert cluster.lost == []

    scene.play(act)
    return after[0] if after else None


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_master_that_stopped_changes_nothing_more(machine, operation):
    assert changes_after_a_stop(machine, operation, 2) == []


BY_NAME = {operation.__name__: operation for operation in OPERATIONS}


@pytest.mark.parametrize("operation", quick_first(BY_NAME, 0, 3))
def test_a_master_that_stopped_at_any_of_its_changes_makes_no_other(machine, operation):
    number = 1
    while (after := changes_after_a_stop(machine, BY_NAME[operation], number)) is not None:
        assert after == []
        number += 1
    assert number > 4
