"""Operators forbid splits and merges: those that are asked for are refused, no tablet splits by itself."""

import pytest

from hbtable.errors import InvalidRequest, SwitchedOff
from hbtable.lockservice.toggles import OperatorToggles
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.tablet.pacing import Pacer
from tests.harness.many_servers import Cluster, Node


def test_splits_and_merges_that_are_asked_for(machine):
    def body(cluster):
        toggles, admin = OperatorToggles(cluster.session), cluster.client.admin
        admin.create_table(machine.schema(), [b"row000100"])
        machine.write(cluster, range(50, 150))
        assert toggles.is_on("splits")
        assert toggles.turn("splits", False)
        for row in (b"row000070", None):
            with pytest.raises(SwitchedOff, match=r"nothing was split: splits are switched off"):
                admin.split(b"t", row)
        both = admin.tablets(b"t")
        assert len(both) == 2
        assert toggles.turn("merges", False)
        with pytest.raises(SwitchedOff, match=r"nothing was merged: merges are switched off"):
            admin.merge_tablets(b"t", [one.tablet_id for one in both])
        assert admin.tablets(b"t") == both
        assert not toggles.turn("splits", True)
        assert not toggles.turn("merges", True)
        admin.merge_tablets(b"t", [one.tablet_id for one in both])
        assert admin.split(b"t", b"row000070")
        assert machine.contents(cluster) == machine.expected(range(50, 150))
        with pytest.raises(InvalidRequest, match="there is no switch 'moves', only splits and merges"):
            toggles.turn("moves", False)

    machine.life(body)


def test_a_tablet_that_grew_does_not_split_until_it_is_switched_on_again_also_over_a_restart(machine):
    def grow(cluster):
        assert OperatorToggles(cluster.session).turn("splits", False)
        schema = TableSchema(b"t", {b"f": FamilySchema(b"f")}, split_bytes=60_000)
        cluster.client.admin.create_table(schema)
        machine.write(cluster, range(600), b"v" * 300)
        cluster.client.admin.flush(b"t")
        machine.runtime.sleep(30)
        assert len(cluster.client.admin.tablets(b"t")) == 1

    def toggle_on(cluster):
        machine.runtime.sleep(30)
        assert len(cluster.client.admin.tablets(b"t")) == 1
        assert not OperatorToggles(cluster.session).turn("splits", True)
        machine.runtime.sleep(30)
        assert len(cluster.client.admin.tablets(b"t")) > 1

    machine.life(grow)
    machine.life(toggle_on)


def test_compactions_of_a_server_are_switched_off_and_on(machine):
    """Those that are asked for, those that maintenance chooses, and one that is under way."""

    def write_files(cluster, count):
        for version in range(count):
            machine.write(cluster, range(300), b"%d" % version * 100)
            cluster.client.admin.flush(b"t")

    def files(cluster):
        (status,) = [one for one in cluster.server.admin.tablets() if one.record.table_id >= 16]
        return status.sstables

    def body(cluster):
        admin, server = cluster.client.admin, cluster.server.incarnation
        on_server = cluster.client.operations.on_server
        admin.create_table(machine.schema())
        assert on_server(server).switch_compactions(False)
        write_files(cluster, 12)
        before = files(cluster)
        assert before >= 12
        machine.runtime.sleep(30)
        assert files(cluster) == before, "maintenance leaves them alone"
        for compact in (admin.compact, admin.major_compact):
            with pytest.raises(SwitchedOff, match="nothing was compacted: compactions are switched off on this server"):
                compact(b"t")
        assert not on_server(server).switch_compactions(True)
        with pytest.MonkeyPatch.context() as patch:
            pause = Pacer.pause

            def slowly(pacer):
                machine.runtime.sleep(0.01)
                pause(pacer)

            patch.setattr(Pacer, "pause", slowly)  # or it is made between two looks at the switch
            under_way = machine.runtime.spawn(admin.major_compact, b"t")
            machine.runtime.sleep(0.05)
            assert not under_way.join(0)
            assert on_server(server).switch_compactions(False)
            under_way.join()
        assert isinstance(under_way.error, SwitchedOff)
        assert files(cluster) == before
        assert not on_server(server).switch_compactions(True)
        machine.runtime.sleep(30)
        assert files(cluster) < before, "maintenance goes on with them"
        assert machine.contents(cluster) == machine.expected(range(300), b"11" * 100)

    machine.life(body)


def test_a_server_of_a_cluster_sees_what_was_switched_elsewhere(machine):
    cluster = Cluster(1, machine.options)

    def body():
        cluster.start(2)
        cluster.client.admin.create_table(machine.schema())
        OperatorToggles(Node(cluster, "gateway").session).turn("splits", False)
        with pytest.raises(SwitchedOff):
            cluster.client.admin.split(b"t", b"m")

    cluster.runtime.run(body)
