"""What the next table costs does not depend on how many there are."""

from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.tablet.tablet import Tablet

TABLES = 100


def test_each_table_is_made_and_opened_without_a_look_at_all_others(machine, monkeypatch):
    looks = [0]
    inner = Tablet.status

    def counted(tablet):
        looks[0] += 1
        return inner(tablet)

    monkeypatch.setattr(Tablet, "status", counted)

    def first(cluster):
        cluster.master.collect_garbage()
        before = looks[0]
        for number in range(TABLES):
            cluster.client.admin.create_table(TableSchema(b"t%04d" % number, {b"f": FamilySchema(b"f")}))
        # Two for each create that see its tablet, one that does not yet; the cycle that runs now and then sees all.
        assert looks[0] - before < 10 * TABLES
        looks[0] = 0

    def second(cluster):
        assert len(cluster.client.names()) == TABLES
        assert looks[0] < 10 * TABLES

    machine.life(first)
    machine.life(second)
