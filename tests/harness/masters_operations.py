"""What operators ask of a master, and what happens to servers, on a small cluster with two tables."""

from dataclasses import replace

from tests.harness.seen_masters import SeenCluster

SPLITS = [b"row000%03d" % number for number in (75, 150, 225)]


class Scene:
    """Tables `t`, which is enabled, and `u`, which is not, each with 300 rows."""

    def __init__(self, machine, seed, kind=SeenCluster):
        self.machine, self.cluster = machine, kind(seed, machine.options)

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
