"""Operators forbid splits and merges: those that are asked for are refused, no tablet splits by itself."""

import pytest

from hbtable.errors import InvalidRequest, SwitchedOff
from hbtable.lockservice.switches import OperatorSwitches
from hbtable.model.schema import FamilySchema, TableSchema
from tests.harness.many_servers import Cluster, Node


def test_splits_and_merges_that_are_asked_for(machine):
    def body(cluster):
        switches, admin = OperatorSwitches(cluster.session), cluster.client.admin
        admin.create_table(machine.schema(), [b"row000100"])
        machine.write(cluster, range(50, 150))
        assert switches.is_on("splits")
        assert switches.turn("splits", False)
        for row in (b"row000070", None):
            with pytest.raises(SwitchedOff, match=r"nothing was split: splits are switched off"):
                admin.split(b"t", row)
        both = admin.tablets(b"t")
        assert len(both) == 2
        assert switches.turn("merges", False)
        with pytest.raises(SwitchedOff, match=r"nothing was merged: merges are switched off"):
            admin.merge_tablets(b"t", [one.tablet_id for one in both])
        assert admin.tablets(b"t") == both
        assert not switches.turn("splits", True)
        assert not switches.turn("merges", True)
        admin.merge_tablets(b"t", [one.tablet_id for one in both])
        assert admin.split(b"t", b"row000070")
        assert machine.contents(cluster) == machine.expected(range(50, 150))
        with pytest.raises(InvalidRequest, match="there is no switch 'moves', only splits and merges"):
            switches.turn("moves", False)

    machine.life(body)


def test_a_tablet_that_grew_does_not_split_until_it_is_switched_on_again_also_over_a_restart(machine):
    def grow(cluster):
        assert OperatorSwitches(cluster.session).turn("splits", False)
        schema = TableSchema(b"t", {b"f": FamilySchema(b"f")}, split_bytes=60_000)
        cluster.client.admin.create_table(schema)
        machine.write(cluster, range(600), b"v" * 300)
        cluster.client.admin.flush(b"t")
        machine.runtime.sleep(30)
        assert len(cluster.client.admin.tablets(b"t")) == 1

    def switch_on(cluster):
        machine.runtime.sleep(30)
        assert len(cluster.client.admin.tablets(b"t")) == 1
        assert not OperatorSwitches(cluster.session).turn("splits", True)
        machine.runtime.sleep(30)
        assert len(cluster.client.admin.tablets(b"t")) > 1

    machine.life(grow)
    machine.life(switch_on)


def test_a_server_of_a_cluster_sees_what_was_switched_elsewhere(machine):
    cluster = Cluster(1, machine.options)

    def body():
        cluster.start(2)
        cluster.client.admin.create_table(machine.schema())
        OperatorSwitches(Node(cluster, "door").session).turn("splits", False)
        with pytest.raises(SwitchedOff):
            cluster.client.admin.split(b"t", b"m")

    cluster.runtime.run(body)
