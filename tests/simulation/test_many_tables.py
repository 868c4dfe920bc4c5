"""What the next table costs does not depend on how many there are, nor does what a master hears of those at rest."""

import pytest

from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.tabletserver import served_tablets
from tests.harness.many_servers import Cluster

TABLES = 100


@pytest.fixture
def told(monkeypatch):
    """How many tablets servers told masters of, in its only element."""
    looks = [0]
    inner = served_tablets._told

    def counted(tablet, sizes):
        looks[0] += 1
        return inner(tablet, sizes)

    monkeypatch.setattr(served_tablets, "_told", counted)
    return looks


def test_each_table_is_made_and_opened_without_a_look_at_all_others(machine, told):
    def first(cluster):
        cluster.master.collect_garbage()
        before = told[0]
        for number in range(TABLES):
            cluster.client.admin.create_table(TableSchema(b"t%04d" % number, {b"f": FamilySchema(b"f")}))
        # Each tablet once; all of them are asked for now and then.
        assert told[0] - before < 4 * TABLES
        told[0] = 0

    def second(cluster):
        assert len(cluster.client.names()) == TABLES
        assert told[0] < 4 * TABLES

    machine.life(first)
    machine.life(second)


def test_a_cluster_at_rest_is_told_of_no_tablet_and_a_death_of_those_that_move(machine, told):
    cluster = Cluster(1, machine.options)

    def body():
        cluster.start(3)
        for number in range(TABLES):
            cluster.client.admin.create_table(TableSchema(b"t%04d" % number, {b"f": FamilySchema(b"f")}))
        cluster.runtime.sleep(60)
        told[0] = 0
        cluster.runtime.sleep(30)  # a look each second
        assert told[0] <= TABLES + 5, "more than once everything"
        root = cluster.client.catalog.read_root().owner
        dead = next(name for name in sorted(cluster.servers) if name != root)
        told[0] = 0
        cluster.kill_server(dead)
        cluster.runtime.sleep(20)
        assert all(record.owner in cluster.servers for record in cluster.client.operations.every_tablet())
        assert told[0] < 3 * TABLES, "it was 280,393 for 1,000 tables"

    cluster.runtime.run(body)
