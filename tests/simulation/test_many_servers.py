"""One master and several tablet servers under simulation: deaths, zombies, a new master, a drained server."""

import pytest

from hbtable.errors import Corruption, OutcomeUnknown
from hbtable.model.table import TableState
from tests.harness.many_servers import Cluster, Node
from tests.harness.tiers import quick_first


@pytest.fixture
def cluster_of(machine):
    """cluster_of(seed).runtime.run(body) runs a test in the simulation."""
    return lambda seed: Cluster(seed, machine.options)


SPLITS = [b"row000%03d" % n for n in range(50, 300, 50)]


def test_tablets_are_spread_and_move_when_a_server_dies(cluster_of, machine):
    cluster = cluster_of(1)

    def body():
        cluster.start(3)
        cluster.client.admin.create_table(machine.schema(), SPLITS)
        assert cluster.owners() == set(cluster.servers)
        machine.write(cluster, range(300))
        cluster.kill_server(min(cluster.servers))
        assert machine.contents(cluster) == machine.expected(range(300))
        machine.write(cluster, range(300), b"again")
        cluster.runtime.sleep(3)
        assert cluster.owners() == set(cluster.servers)

    cluster.runtime.run(body)


def test_a_zombie_answers_nothing_and_its_tablets_are_served_elsewhere(cluster_of, machine):
    cluster = cluster_of(2)

    def body():
        cluster.start(2)
        cluster.client.admin.create_table(machine.schema(), SPLITS)
        machine.write(cluster, range(300))
        cluster.expire_server(min(cluster.servers))
        # Whoever was in the zombie's hands when it noticed cannot know; what comes later is refused and goes elsewhere.
        with pytest.raises(OutcomeUnknown):
            machine.write(cluster, range(300), b"again")
        machine.write(cluster, range(300), b"again")
        assert machine.contents(cluster) == machine.expected(range(300), b"again")
        assert cluster.owners() == set(cluster.servers)
        assert cluster.lost

    cluster.runtime.run(body)


def test_a_drained_server_leaves_without_anyone_noticing(cluster_of, machine):
    cluster = cluster_of(3)

    def body():
        cluster.start(2)
        cluster.client.admin.create_table(machine.schema(), SPLITS)
        machine.write(cluster, range(300))
        leaving = min(cluster.servers)
        node, role = cluster.servers.pop(leaving)
        task = node.runtime.spawn(role.stop, name="stop")
        machine.write(cluster, range(300), b"again")
        task.join()
        assert task.error is None
        cluster.transport.remove_server(leaving)
        assert machine.contents(cluster) == machine.expected(range(300), b"again")
        for record in cluster.client.catalog.all_tablet_rows():
            assert leaving not in [ref.incarnation for ref in record.logs]

    cluster.runtime.run(body)


def test_a_new_master_takes_over_and_the_old_one_is_refused(cluster_of, machine):
    cluster = cluster_of(4)

    def body():
        cluster.start(2)
        cluster.client.admin.create_table(machine.schema(), SPLITS)
        old = cluster.master
        cluster.lock_service.expire(cluster.master_node.session, 0.3)
        cluster.start_master()
        cluster.runtime.sleep(2)
        machine.write(cluster, range(300))
        cluster.client.admin.create_table(machine.schema(b"u"))
        assert cluster.master.last_message == "everything is served"
        assert "master" in cluster.lost
        assert "another one takes over" in old.last_message

    cluster.runtime.run(body)


@pytest.mark.parametrize("seed", quick_first(range(12), 4, 6))
def test_nothing_acknowledged_is_lost_while_servers_and_masters_come_and_go(cluster_of, machine, seed):
    cluster = cluster_of(100 + seed)
    acknowledged = {}

    def work():
        for number in range(400):
            row = b"row%06d" % cluster.chance.randrange(300)
            acknowledged.pop(row, None)
            try:
                cluster.client.table(b"t").mutate([machine.put(row, b"%d" % number)])
                acknowledged[row] = b"%d" % number
                if number % 50 == 20:
                    cluster.client.admin.split(b"t", b"row%06d" % cluster.chance.randrange(300))
            except OutcomeUnknown:
                continue  # the server died with the call in its hands

    def body():
        cluster.start(3)
        cluster.client.admin.create_table(machine.schema(), SPLITS)
        task = cluster.runtime.spawn(work, name="work")
        while not task.join(cluster.chance.random() * 3):
            victim = cluster.chance.choice(sorted(cluster.servers))
            action = cluster.chance.choice([cluster.kill_server, cluster.expire_server, None])
            if action is not None:
                action(victim)
                cluster.start_server()
            else:
                cluster.kill_master()
                cluster.start_master()
        assert task.error is None
        cluster.runtime.sleep(5)
        assert acknowledged.items() <= machine.contents(cluster).items()
        cluster.check_tiling()

    cluster.runtime.run(body)


def test_a_table_with_a_hole_is_not_enabled(cluster_of, machine):
    cluster = cluster_of(8)

    def body():
        cluster.start(2)
        admin = cluster.client.admin
        admin.create_table(machine.schema(), [b"g", b"p"])
        admin.disable_table(b"t")
        _, middle, _ = admin.tablets(b"t")
        Node(cluster, "vandal").catalog.delete_tablet(middle)
        with pytest.raises(Corruption, match="no tablet covers rows from b'g' to b'p'"):
            admin.enable_table(b"t")
        cluster.runtime.sleep(10)
        assert cluster.client.catalog.read_table(b"t").state is TableState.ENABLING

    cluster.runtime.run(body)


@pytest.mark.parametrize("with_master", [True, False])
def test_a_cluster_that_stops_at_once_leaves_nothing_to_recover(cluster_of, machine, with_master):
    """The server with METADATA has little to flush, and must not be done before the others."""
    cluster = cluster_of(5)

    def stop(incarnation):
        node, role = cluster.servers.pop(incarnation)
        return node.runtime.spawn(role.drain, name="drain")

    def body():
        cluster.start(3)
        cluster.client.admin.create_table(machine.schema(), SPLITS)
        machine.write(cluster, range(300))
        first = cluster.client.catalog.read_root().owner
        if not with_master:
            cluster.kill_master()
        tasks = [stop(first)]
        cluster.runtime.sleep(0.5)
        tasks += [stop(name) for name in list(cluster.servers)]
        for task in tasks:
            task.join()
        assert [task.error for task in tasks] == [None] * 3

    cluster.runtime.run(body)


def test_metadata_is_not_kept_for_ever_for_a_server_that_does_not_stop(cluster_of, machine, caplog):
    cluster = cluster_of(6)

    def body():
        cluster.start(2)
        cluster.kill_master()
        cluster.servers[cluster.client.catalog.read_root().owner][1].drain()

    cluster.runtime.run(body)
    assert "METADATA was kept for 30 s" in caplog.text
