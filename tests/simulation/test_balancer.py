"""A server that joins late gets tablets, with nothing lost, unless the balancer is switched off."""

from collections import Counter

import pytest

from hbtable.master.tablets import placement_cost
from hbtable.master.tablets.server_load import TabletLoad
from hbtable.model.read import EVERYTHING
from tests.harness.many_servers import Cluster
from tests.harness.tiers import quick_first

SPLITS = [b"row000%03d" % n for n in range(30, 300, 30)]


@pytest.fixture
def cluster_of(machine):
    return lambda seed: Cluster(seed, machine.options)


def counts(cluster, name=b"t"):
    return Counter(record.owner for record in cluster.client.admin.tablets(name))


@pytest.mark.parametrize("seed", quick_first(range(4), 1))
def test_a_late_server_gets_tablets_while_clients_write(cluster_of, machine, seed):
    cluster = cluster_of(300 + seed)

    def body():
        cluster.start(1)
        cluster.client.admin.create_table(machine.schema(), SPLITS)
        machine.write(cluster, range(300))
        task = cluster.runtime.spawn(lambda: machine.write(cluster, range(300), b"again"), name="write")
        cluster.start_server()
        cluster.start_server()
        task.join()
        assert task.error is None
        cluster.runtime.sleep(20)
        found = counts(cluster)
        assert sorted(found) == sorted(cluster.servers)
        assert max(found.values()) <= 5
        assert machine.contents(cluster) == machine.expected(range(300), b"again")
        assert cluster.master.last_message == "everything is served"
        cluster.check_tiling()

    cluster.runtime.run(body)


def test_the_toggle_is_obeyed_and_outlives_the_master(cluster_of, machine):
    cluster = cluster_of(9)

    def body():
        cluster.start(1)
        admin = cluster.client.admin
        assert admin.balancer_enabled()
        assert admin.balance_switch(False)
        assert not admin.balance_switch(False)
        admin.create_table(machine.schema(), SPLITS)
        (old,) = cluster.servers
        cluster.start_server()
        cluster.kill_master()
        cluster.start_master()
        cluster.runtime.sleep(20)
        assert not admin.balancer_enabled()
        assert not admin.balance()
        assert set(counts(cluster)) == {old}
        assert not admin.balance_switch(True)
        cluster.runtime.sleep(20)
        assert sorted(counts(cluster)) == sorted(cluster.servers)
        assert admin.balance()

    cluster.runtime.run(body)


def test_status_says_why_the_balancer_rests(cluster_of, machine):
    cluster = cluster_of(9)

    def body():
        cluster.start(1)
        operations, admin = cluster.client.operations, cluster.client.admin
        admin.create_table(machine.schema(), SPLITS)
        assert operations.balancer_rests() == ""  # one server has all
        admin.balance_switch(False)
        cluster.start_server()

        def until(what):
            began = cluster.runtime.clock_seconds()
            while operations.balancer_rests() != what:
                assert cluster.runtime.clock_seconds() < began + 60, operations.balancer_rests()
                cluster.runtime.sleep(0.2)

        until("a server came or went a short while ago (master.balance_after_seconds)")
        until("it is switched off")
        (_, old), (_, new) = (cluster.servers[name] for name in sorted(cluster.servers))
        admin.balance_switch(True)
        until("")
        counts = [len(role._online_tablets.tablets) for role in (old, new)]
        while max(counts) - min(counts) > 1:
            cluster.runtime.sleep(1)
            counts = [len(role._online_tablets.tablets) for role in (old, new)]
        assert operations.balancer_rests() == ""

    cluster.runtime.run(body)


def test_a_server_that_only_just_came_gets_nothing_yet(cluster_of, machine):
    """One that is restarted would be given tablets, and lose them again, each time."""
    cluster = cluster_of(12)

    def body():
        cluster.start(1)
        cluster.client.admin.create_table(machine.schema(), SPLITS)
        cluster.runtime.sleep(15)
        (old,) = cluster.servers
        cluster.start_server()
        cluster.runtime.sleep(8)
        assert set(counts(cluster)) == {old}
        cluster.runtime.sleep(10)
        assert sorted(counts(cluster)) == sorted(cluster.servers)

    cluster.runtime.run(body)


def test_the_tablets_of_a_small_table_are_spread_though_all_servers_have_as_many(cluster_of, machine):
    cluster = cluster_of(13)

    def body():
        cluster.start(1)
        admin = cluster.client.admin
        admin.create_table(machine.schema(b"small"), [b"1", b"2"])
        (first,) = cluster.servers
        cluster.start_server()
        cluster.start_server()
        admin.create_table(machine.schema(b"large"), SPLITS)  # on the two others
        admin.balance_switch(False)
        for tablet in admin.tablets(b"small"):
            if tablet.owner != first:
                admin.move_tablet(b"small", tablet.tablet_id, first)
        assert set(counts(cluster, b"small")) == {first}
        admin.balance_switch(True)
        cluster.runtime.sleep(40)
        assert counts(cluster, b"small") == dict.fromkeys(cluster.servers, 1)
        moved = cluster.master.tables.relocations.moved
        cluster.runtime.sleep(60)
        assert cluster.master.tables.relocations.moved == moved, "it rests"

    cluster.runtime.run(body)


def test_requests_are_evened_out_by_exchanges_and_status_says_when_none_helps(cluster_of, machine, monkeypatch):
    monkeypatch.setattr(placement_cost, "LEAST", TabletLoad(0.5, 0.5, 1 << 40))
    cluster = cluster_of(14)

    def body():
        cluster.start(3)
        admin, operations = cluster.client.admin, cluster.client.operations
        admin.create_table(machine.schema(), SPLITS)
        cluster.runtime.sleep(30)
        owner = admin.tablets(b"t")[0].owner
        hot = [one for one in admin.tablets(b"t") if one.owner == owner][:3]
        assert len(hot) == 3

        table = cluster.client.table(b"t")

        def read(tablets, seconds):
            for _ in range(seconds):
                for one in tablets * 5:  # the client looks METADATA up now and then, which is load as well
                    table.read_rows([one.range.start + b"0"], EVERYTHING)
                cluster.runtime.sleep(1)

        read(hot, 160)
        ids = {one.tablet_id for one in hot}
        found = Counter(one.owner for one in admin.tablets(b"t") if one.tablet_id in ids)
        assert found == dict.fromkeys(cluster.servers, 1)
        assert operations.balancer_rests() == ""
        read(hot[:1], 240)
        assert "times the reads of a server in the mean, and no exchange" in operations.balancer_rests()

    cluster.runtime.run(body)
