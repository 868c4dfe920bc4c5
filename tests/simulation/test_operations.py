"""What operators ask about a cluster of several servers: compactions, caches, garbage, tablets on the way, the dead."""

from contextlib import suppress

import pytest

from hbtable.client.admin import Admin
from hbtable.errors import HbtableError, InvalidRequest, StaleLocation, Unavailable
from hbtable.hbase.admin.chores import AdminChoreCalls
from hbtable.hbase.admin.cluster import AdminClusterCalls
from hbtable.hbase.admin.compactions import AdminCompactionCalls
from hbtable.hbase.admin.declared import DeclaredAdminCalls
from hbtable.hbase.backend import TableBackend
from hbtable.hbase.cluster_backend import ClusterBackend as GatewayCluster
from hbtable.hbase.errors import BadArgument
from hbtable.hbase.server_names import ServerNames
from hbtable.hbase.slow import SlowRequests
from hbtable.launch.thrift_gateway import living_servers, masters
from hbtable.lockservice.toggles import OperatorToggles
from hbtable.model.read import EVERYTHING
from hbtable.model.schema import FamilySchema, TableSchema
from tests.harness.delegating_fake import DelegatingFake
from tests.harness.many_servers import Cluster, Node
from tests.harness.planted_bugs import is_found

SPLITS = [b"row000%03d" % n for n in range(50, 300, 50)]


class GatewayRig:
    """The parts of a gateway that answer operators, in a process of its own."""

    def __init__(self, cluster):
        client, session = cluster.client, Node(cluster, "gateway").session
        tables = TableBackend(client.table)
        gateway = GatewayCluster(
            client.admin,
            lambda: living_servers(session),
            client.operations,
            lambda: masters(session),
            OperatorToggles(session),
        )
        names = ServerNames(gateway, lambda owner: (b"h" + owner[7:8].encode(), 9090))
        self.chores = AdminChoreCalls(tables, gateway, names, SlowRequests(1, 1.0, lambda _: None))
        self.whole = AdminClusterCalls(gateway, names)
        self.compactions = AdminCompactionCalls(cluster.runtime, tables, gateway, names)
        self.declared = DeclaredAdminCalls(tables, gateway, names, lambda: None)
        self.cluster = gateway


@pytest.fixture
def cluster_of(machine):
    return lambda seed: Cluster(seed, machine.options)


def filled(cluster, machine, servers):
    cluster.start(servers)
    cluster.client.admin.create_table(machine.schema(), SPLITS)
    for value in (b"1" * 100, b"2" * 100):
        machine.write(cluster, range(300), value)
        cluster.client.admin.flush(b"t")
    return GatewayRig(cluster)


class SlowTablet(DelegatingFake):
    """A tablet whose compactions wait for an event."""

    def __init__(self, tablet, waker):
        super().__init__(tablet)
        self._waker = waker

    def compact(self, major, family=b""):
        self._waker.wait()
        self.inner.compact(major, family)


def make_slow(cluster, waker):
    for _, role in cluster.servers.values():
        served = role.admin._online_tablets.served
        role.admin._online_tablets.served = lambda tablet_id, served=served: SlowTablet(served(tablet_id), waker)


@pytest.mark.parametrize(
    ("asked", "state"), [((True,), "MAJOR"), ((False,), "MINOR"), ((True, False), "MAJOR_AND_MINOR")]
)
def test_the_state_of_compactions_is_what_really_runs(cluster_of, machine, asked, state):
    cluster = cluster_of(1)

    def body():
        gateway = filled(cluster, machine, 2)
        other = GatewayRig(cluster)
        waker = cluster.runtime.event()
        make_slow(cluster, waker)
        assert gateway.compactions.adminCompactionState(b"t") == "NONE"
        for major in asked:
            gateway.compactions.adminCompact(b"t", major, 0)
        cluster.runtime.sleep(1)
        assert gateway.compactions.adminCompactionState(b"t") == state
        assert other.compactions.adminCompactionState(b"t") == state, "through a gateway that did not ask for it"
        waker.set()
        cluster.runtime.sleep(5)
        assert gateway.compactions.adminCompactionState(b"t") == other.compactions.adminCompactionState(b"t") == "NONE"

    cluster.runtime.run(body)


class Late(DelegatingFake):
    """A tablet server's administration that hears of compactions when an event is set."""

    def __init__(self, inner, waker):
        super().__init__(inner)
        self._waker = waker

    def compact(self, tablet_id, major, family=b""):
        self._waker.wait()
        self.inner.compact(tablet_id, major, family)


@pytest.mark.parametrize("of", ["a table", "a server"])
def test_what_no_server_has_heard_of_yet_counts_where_it_was_asked_for(cluster_of, machine, of):
    cluster = cluster_of(10)

    def body():
        gateway = filled(cluster, machine, 1)
        (server,), waker, transport = cluster.servers, cluster.runtime.event(), cluster.transport
        transport.register_server(server, transport.tablet_service(server), Late(transport.tablet_admin(server), waker))
        if of == "a table":
            gateway.compactions.adminCompact(b"t", True, 0)
        else:
            gateway.compactions.adminCompactServer(server.encode(), True)
        assert gateway.compactions.adminCompactionState(b"t") == "MAJOR", "by the one who asked, at once"
        cluster.runtime.sleep(1)
        assert gateway.compactions.adminCompactionState(b"t") == "MAJOR"
        waker.set()
        cluster.runtime.sleep(5)
        assert gateway.compactions.adminCompactionState(b"t") == "NONE"
        assert not gateway.compactions._asked, "nothing stays of what has ended"
        assert set(files(cluster, server)) == {1}

    cluster.runtime.run(body)


def test_a_failed_compaction_does_not_count_for_ever(cluster_of, machine, monkeypatch):
    cluster = cluster_of(2)

    def fail(*arguments):
        raise Unavailable("its server has gone")

    def body():
        gateway = filled(cluster, machine, 1)
        monkeypatch.setattr(Admin, "major_compact", fail)
        gateway.compactions.adminCompact(b"t", True, 0)
        cluster.runtime.sleep(1)
        assert gateway.compactions.adminCompactionState(b"t") == "NONE"

    cluster.runtime.run(body)


def test_a_tablet_of_another_table_is_not_compacted_in_silence(cluster_of, machine):
    cluster = cluster_of(2)

    def body():
        gateway = filled(cluster, machine, 1)
        cluster.client.admin.create_table(TableSchema(b"u", {b"f": FamilySchema(b"f")}))
        others = cluster.client.admin.tablets(b"u")[0].tablet_id
        for tablet_id in (others, 4711):
            with pytest.raises(InvalidRequest, match=f"table t has no tablet {tablet_id}"):
                gateway.compactions.adminCompact(b"t", True, tablet_id)
        assert gateway.compactions.adminCompactionState(b"t") == "NONE"

    cluster.runtime.run(body)


def get(cluster, name):
    """Reads rows of each tablet one by one: scans leave the cache as it is."""
    rows = [b"row000%03d" % n for n in range(0, 100 if name == b"u" else 300, 10)]
    assert len(cluster.client.table(name).read_rows(rows, EVERYTHING)) == len(rows)


def files(cluster, server):
    admin = cluster.transport.tablet_admin(server)
    return [status.sstables for status in admin.tablets() if status.record.table_id >= 16]


def test_one_servers_tablets_are_compacted_and_no_others(cluster_of, machine):
    cluster = cluster_of(3)

    def body():
        gateway = filled(cluster, machine, 2)
        first, second = sorted(cluster.servers)
        held = {name: len(files(cluster, name)) for name in cluster.servers}
        assert files(cluster, first) == [2] * held[first]
        assert files(cluster, second) == [2] * held[second]
        shown = gateway.cluster.servers()[0]
        gateway.compactions.adminCompactServer(f"h{first[7]},9090,{shown.started_millis}".encode(), True)
        cluster.runtime.sleep(5)
        assert files(cluster, first) == [1] * held[first]
        assert files(cluster, second) == [2] * held[second]
        with pytest.raises(BadArgument, match=r"Could not find any server\(s\) .* h9"):
            gateway.compactions.adminCompactServer(b"h9", True)
        gateway.compactions.adminCompactServer(b"h%b:9090" % second[7:8].encode(), True)
        cluster.runtime.sleep(5)
        assert files(cluster, second) == [1] * held[second]
        assert machine.contents(cluster) == machine.expected(range(300), b"2" * 100)

    cluster.runtime.run(body)


def test_a_tables_blocks_leave_every_cache_and_no_other_tables(cluster_of, machine):
    cluster = cluster_of(4)

    def body():
        gateway = filled(cluster, machine, 2)
        cluster.client.admin.create_table(machine.schema(b"u"))
        machine.write(cluster, range(100), name=b"u")
        cluster.client.admin.flush(b"u")
        get(cluster, b"t")
        get(cluster, b"u")
        caches = [role.cache for _, role in cluster.servers.values()]
        before = sum(len(cache) for cache in caches)
        found = gateway.chores.adminClearBlockCache(b"t")
        after = sum(len(cache) for cache in caches)
        assert found.blocks == before - after >= 12
        assert after > 0, "those of the other table, and METADATA's"
        assert found.capacity_bytes == 2 << 20
        assert found.failed == []
        assert gateway.chores.adminClearBlockCache(b"t").blocks == 0
        misses = sum(cache.misses.value for cache in caches)
        get(cluster, b"u")
        assert sum(cache.misses.value for cache in caches) == misses
        get(cluster, b"t")
        assert sum(cache.misses.value for cache in caches) == misses + found.blocks

    cluster.runtime.run(body)


class Unreachable:
    def __getattr__(self, name):
        raise StaleLocation("no answer")


def test_regions_whose_cache_could_not_be_asked_are_named(cluster_of, machine):
    cluster = cluster_of(5)

    def body():
        gateway = filled(cluster, machine, 2)
        away, _ = sorted(cluster.servers)
        transport = cluster.transport
        transport.register_server(away, transport.tablet_service(away), Unreachable())
        found = gateway.chores.adminClearBlockCache(b"t")
        assert len(found.failed) == sum(one.owner == away for one in cluster.client.admin.tablets(b"t")) > 0
        assert found.capacity_bytes == 1 << 20

    cluster.runtime.run(body)


def test_garbage_is_collected_when_it_is_asked_for(cluster_of, machine):
    cluster = cluster_of(6)

    def body():
        gateway = filled(cluster, machine, 1)
        assert gateway.chores.adminRunCleaner()
        cluster.client.admin.major_compact(b"t")
        assert not gateway.chores.adminRunCleaner(), "what the compaction read is in the trash"
        kept = [status.path for status in cluster.master_node.fs.list_files("trash")]
        assert len(kept) == 12
        cluster.runtime.sleep(61)
        assert gateway.chores.adminRunCleaner()
        assert gateway.chores.adminRunCatalogJanitor() == 0

    cluster.runtime.run(body)


def test_what_a_row_was_left_behind_of_is_counted_by_the_janitor(cluster_of, machine):
    cluster = cluster_of(7)

    def body():
        gateway = filled(cluster, machine, 1)
        left_over, *_ = cluster.client.admin.tablets(b"t")
        cluster.client.admin.disable_table(b"t")
        cluster.client.admin.delete_table(b"t")
        node = Node(cluster, "slow repair")
        assert node.catalog.put_tablet_if_absent(left_over)
        assert gateway.chores.adminRunCatalogJanitor() == 1
        assert gateway.chores.adminRunCatalogJanitor() == 0

    cluster.runtime.run(body)


def test_tablets_of_a_dead_server_are_on_the_way_until_another_serves_them(cluster_of, machine):
    cluster = cluster_of(8)

    def body():
        gateway = filled(cluster, machine, 3)  # METADATA's two tablets are on two of them
        machine.write(cluster, range(300), b"3")
        assert gateway.whole.adminTransitions() == []
        assert gateway.whole.adminDeadServers() == gateway.whole.adminUnknownServers() == []
        cluster.kill_master()
        user = {record.owner for record in cluster.client.admin.tablets(b"t")}
        system = {record.owner for record in cluster.client.operations.every_tablet() if record.table_id < 16}
        (dead,) = user - system
        held = [record for record in cluster.client.admin.tablets(b"t") if record.owner == dead]
        cluster.kill_server(dead)
        cluster.runtime.sleep(2)
        found = gateway.whole.adminTransitions()
        assert {(one.state, one.server) for one in found} == {("ABNORMALLY_CLOSED", dead)}
        assert len(found) == len(held) > 0
        assert all(one.name.startswith(b"t,") for one in found)
        assert gateway.whole.adminDeadServers() == [dead]
        assert gateway.whole.adminUnknownServers() == []
        cluster.start_master()
        cluster.runtime.sleep(20)
        assert gateway.whole.adminTransitions() == []
        assert machine.contents(cluster) == machine.expected(range(300), b"3")
        cluster.client.admin.flush(b"t")
        assert gateway.whole.adminDeadServers() == []

    cluster.runtime.run(body)


def test_a_cycle_that_is_asked_for_does_not_wait_for_the_next_scan(cluster_of, machine):
    cluster = cluster_of(9)

    def body():
        gateway = filled(cluster, machine, 1)
        cluster.runtime.sleep(20)
        (node, role), (record, *_) = next(iter(cluster.servers.values())), cluster.client.admin.tablets(b"t")
        asked = cluster.runtime.clock_seconds()
        node.runtime.spawn(role._online_tablets.unload, record.tablet_id, name="lose").join()
        assert [one.state for one in gateway.whole.adminTransitions()] == ["OFFLINE"]
        gateway.declared.adminRunRepair()
        while gateway.whole.adminTransitions():
            cluster.runtime.sleep(0.1)
        assert cluster.runtime.clock_seconds() - asked < 1.5

    cluster.runtime.run(body)


def test_servers_are_taken_out_of_service_by_their_names(cluster_of, machine):
    cluster = cluster_of(11)

    def body():
        gateway = filled(cluster, machine, 3)
        first, second, _ = sorted(cluster.servers)
        shown = gateway.cluster.servers()[1]
        name = f"h{second[7]},9090,{shown.started_millis}"
        assert gateway.chores.adminDecommissioned() == []
        gateway.declared.adminDecommission([name.encode(), f"h{second[7]}".encode()], True)
        assert gateway.chores.adminDecommissioned() == [name]
        cluster.runtime.sleep(20)
        assert second not in {record.owner for record in cluster.client.operations.every_tablet()}
        with pytest.raises(BadArgument, match=r"Could not find any server\(s\) .* h9"):
            gateway.declared.adminDecommission([f"h{first[7]}".encode(), b"h9"], True)
        assert gateway.chores.adminDecommissioned() == [name], "none of them when one is not there"
        gateway.declared.adminRecommission(name.encode())
        assert gateway.chores.adminDecommissioned() == []

    cluster.runtime.run(body)


def test_nothing_is_collected_while_metadata_cannot_be_read(cluster_of, machine):
    def check():
        cluster = cluster_of(12)

        def body():
            gateway = filled(cluster, machine, 1)
            machine.write(cluster, range(300), b"3")
            (server,) = cluster.servers
            fs = cluster.master_node.fs
            before = {status.path for status in fs.list_files("")}
            cluster.kill_server(server)
            with suppress(HbtableError):
                gateway.chores.adminRunCleaner()
            assert before <= {status.path for status in fs.list_files("")}
            cluster.start_server()
            cluster.runtime.sleep(20)
            assert machine.contents(cluster) == machine.expected(range(300), b"3")

        cluster.runtime.run(body)

    is_found("unnoticed", check)
