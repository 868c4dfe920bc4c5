"""A tablet that its server refuses, damaged or withheld, keeps no other one closed, and no operation waiting."""

from dataclasses import replace

import pytest

from hbtable.errors import TabletWithheld
from hbtable.model.read import EVERYTHING
from hbtable.model.table import TableState


def withhold_the_last(cluster):
    """As a repair does; nobody has it while its table is disabled."""
    catalog = cluster.client.catalog
    table = catalog.read_table(b"t")
    record = catalog.tablet_rows(table.table_id)[-1]
    catalog.replace_tablet(record, replace(record, withheld_millis=5))
    return record.tablet_id


def disabled_without_the_last(machine, cluster):
    """A table of 100 rows in two tablets; the id of the one that is withheld."""
    admin = cluster.client.admin
    admin.create_table(machine.schema(), [b"row000050"])
    machine.write(cluster, range(100))
    admin.disable_table(b"t")
    return withhold_the_last(cluster)


def check_all_but_the_last(machine, cluster):
    table = cluster.client.table(b"t")
    assert table.record().state is TableState.ENABLED
    assert [row for row, _ in table.read_rows([b"row000010"], EVERYTHING)] == [b"row000010"]
    with pytest.raises(TabletWithheld, match="was withheld by an operator"):
        table.read_rows([b"row000060"], EVERYTHING)
    with pytest.raises(TabletWithheld):
        table.mutate([machine.put(b"row000060", b"v")])


def test_a_table_is_enabled_with_what_is_sound_of_it(machine):
    def body(cluster):
        admin = cluster.client.admin
        tablet_id = disabled_without_the_last(machine, cluster)
        admin.enable_table(b"t")
        check_all_but_the_last(machine, cluster)
        assert tablet_id not in [one.record.tablet_id for one in cluster.server.admin.tablets()]
        # And its table can be disabled, and the tablet released.
        admin.disable_table(b"t")
        catalog = cluster.client.catalog
        record = catalog.tablet_rows(catalog.read_table(b"t").table_id)[-1]
        catalog.replace_tablet(record, replace(record, withheld_millis=0))
        admin.enable_table(b"t")
        assert machine.contents(cluster) == machine.expected(range(100))

    machine.life(body)


def test_an_interrupted_enabling_ends_as_well(machine):
    def first(cluster):
        disabled_without_the_last(machine, cluster)
        catalog = cluster.client.catalog
        record = catalog.read_table(b"t")
        catalog.replace_table(record, replace(record, state=TableState.ENABLING))

    machine.life(first, clean=False)
    machine.life(lambda cluster: check_all_but_the_last(machine, cluster))
