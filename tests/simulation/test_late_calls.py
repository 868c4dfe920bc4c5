"""Calls that come late, answers that come later still: a tablet is served once, and nothing acknowledged is lost."""

import pytest

from hbtable.errors import MoveFailed, OutcomeUnknown, Unavailable
from hbtable.model.read import EVERYTHING
from tests.harness.delegating_fake import DelegatingFake
from tests.harness.many_servers import Cluster
from tests.harness.sim_cluster import SimCluster, SimOptions
from tests.harness.sim_workload import TABLE, create, put_of
from tests.harness.whole_tablet import begun_split, whole_tablet


@pytest.fixture
def cluster_of(machine):
    return lambda seed, *more: Cluster(seed, machine.options, *more)


class LateLoad(DelegatingFake):
    """A tablet server's administration. Nothing is heard of a request to load, until it is carried out after all: when
    the next request to unload has been answered, and before its caller goes on."""

    def __init__(self, inner, then):
        super().__init__(inner)
        self._then = then
        self._request = ()

    def load_tablet(self, *arguments):
        self._request = arguments
        raise OutcomeUnknown("no answer in time")

    def unload_tablet(self, *arguments):
        self.inner.unload_tablet(*arguments)
        if self._request:
            request, self._request = self._request, ()
            self.inner.load_tablet(*request)
            self._then()


def test_a_load_that_comes_after_its_tablet_was_taken_back_does_not_serve_it_twice(cluster_of, machine):
    """The server said that it does not serve the tablet; from then on the master may give it to another one."""
    cluster = cluster_of(1)

    def body():
        before = whole_tablet(cluster, machine, servers=3)
        admin = cluster.client.admin
        slow, other = sorted(name for name in cluster.servers if name != before.owner)
        transport = cluster.transport
        late = LateLoad(transport.tablet_admin(slow), lambda: machine.write(cluster, range(50, 150), b"again"))
        transport.register_server(slow, transport.tablet_service(slow), late)
        with pytest.raises(MoveFailed):
            admin.move_tablet(b"t", before.tablet_id, slow)
        try:
            admin.move_tablet(b"t", before.tablet_id, other)
        except Unavailable:
            pass  # it was loaded after all, which is as good
        expected = machine.expected(range(50)) | machine.expected(range(50, 150), b"again")
        assert machine.contents(cluster) == expected
        transport.register_server(slow, transport.tablet_service(slow), late.inner)
        admin.move_tablet(b"t", before.tablet_id, other)
        assert machine.contents(cluster) == expected
        serving = [
            name for name, (_, role) in cluster.servers.items() if before.tablet_id in role._online_tablets.tablets
        ]
        assert serving == [other]

    cluster.runtime.run(body)


class HeldSplit(DelegatingFake):
    """A catalog that commits splits, and says so only when `waker` rings."""

    def __init__(self, inner, waker):
        super().__init__(inner)
        self._waker = waker

    def replace_tablet(self, expected, record):
        self.inner.replace_tablet(expected, record)
        if expected.tablet_id != record.tablet_id:
            self._waker.wait()


@pytest.mark.parametrize("order", ["load", "move"])
def test_a_split_whose_commit_is_answered_late_is_not_loaded_beside_itself(cluster_of, machine, order):
    """METADATA shows the children before their server knows; the master finds that it does not serve them."""
    cluster = cluster_of(2, lambda catalog: HeldSplit(catalog, waker))
    waker = cluster.runtime.event()

    def body():
        whole = whole_tablet(cluster, machine, servers=2)
        admin = cluster.client.admin
        splitting = begun_split(cluster, whole)
        cluster.runtime.sleep(1)
        _, right = admin.tablets(b"t")
        assert right.owner == whole.owner
        _, role = cluster.servers[whole.owner]
        assert not role._online_tablets.tablets.keys() & {right.tablet_id}
        if order == "load":
            cluster.master.request_cycle()
        else:
            cluster.runtime.spawn(admin.move_tablet, b"t", right.tablet_id, name="move")
        writing = cluster.runtime.spawn(machine.write, cluster, range(100), b"after", name="write")
        cluster.runtime.sleep(3)
        waker.set()
        splitting.join()
        writing.join()
        assert writing.error is None
        cluster.runtime.sleep(10)
        assert machine.contents(cluster) == machine.expected(range(100), b"after")
        for name in sorted(cluster.servers):
            cluster.kill_server(name)
            cluster.start_server()
        cluster.runtime.sleep(10)
        assert machine.contents(cluster) == machine.expected(range(100), b"after")
        cluster.check_tiling()

    cluster.runtime.run(body)


def test_a_tablet_that_left_without_a_flush_is_recovered_by_another_server():
    """Whatever took it out: its own server cannot load it again, and must not stand in the way of those who can."""
    cluster = SimCluster(SimOptions(seed=4, servers=2, masters=1))
    rows = [b"row%02d" % number for number in range(12)]

    def use(process):
        create(process)
        table = process.client.table(TABLE)
        for row in rows:
            table.mutate([put_of(row, b"before")])
        (name, *_) = [tablet.owner for tablet in process.client.admin.tablets(TABLE)]
        (role,) = [role for role in cluster.roles if role.incarnation == name]
        for tablet in list(role._online_tablets.tablets.values()):
            if tablet.memtable_bytes and tablet.record.table_id:
                role._online_tablets.abandon(tablet.record)
        process.runtime.sleep(10)
        found = dict(table.read_rows(rows, EVERYTHING))
        assert sorted(found) == rows
        assert name not in {tablet.owner for tablet in process.client.admin.tablets(TABLE)}
        return True

    def body():
        cluster.start()
        process = cluster.add_client()
        cluster.in_process(process, use, process)

    cluster.runtime.run(body)
    assert cluster.ended["lock lost"] == 1
