"""A tablet that kills whoever serves it does not take the whole cluster with it."""

import logging
from contextlib import suppress

import pytest

from hbtable.errors import OutcomeUnknown
from tests.harness.delegating_fake import DelegatingFake
from tests.harness.many_servers import Cluster

SPLITS = [b"row000%03d" % n for n in range(50, 300, 50)]


class Poison:
    """Kills each server that loads the tablet, at once or a while later; a supervisor starts another one."""

    def __init__(self, cluster, tablet_id, seconds=0.0):
        self.tablet_id = tablet_id
        self.cluster = cluster
        self.deaths = []
        self.active = True
        self._seconds = seconds
        cluster.runtime.spawn(self._watch, name="watch")

    def _watch(self):
        """New servers are poisoned as well."""
        transport, seen = self.cluster.transport, set()
        while True:
            for name in set(self.cluster.servers) - seen:
                seen.add(name)
                admin = Drinker(transport.tablet_admin(name), self, name)
                transport.register_server(name, transport.tablet_service(name), admin)
            self.cluster.runtime.sleep(0.05)

    def drunk(self, server):
        self.cluster.runtime.spawn(self._kill, server, name="poison")

    def _kill(self, server):
        self.cluster.runtime.sleep(self._seconds)
        if self.active and server in self.cluster.servers:
            self.deaths.append(self.cluster.runtime.clock_seconds())
            self.cluster.kill_server(server)
            self.cluster.runtime.sleep(1.0)
            self.cluster.start_server()


class Drinker(DelegatingFake):
    """A tablet server's administration."""

    def __init__(self, inner, poison, server):
        super().__init__(inner)
        self._poison = poison
        self._server = server

    def load_tablet(self, epoch, record, schema):
        bad = self._poison.active and record.tablet_id == self._poison.tablet_id
        if bad:
            self._poison.drunk(self._server)
        if bad and not self._poison._seconds:
            self._poison.cluster.runtime.sleep(0.01)
            raise OutcomeUnknown("the process is gone")
        self.inner.load_tablet(epoch, record, schema)


@pytest.fixture
def cluster_of(machine):
    return lambda seed: Cluster(seed, machine.options)


def begin(cluster, machine, seconds):
    """Six tablets of which the third is poisoned; its server has just died."""
    cluster.start(4)
    cluster.client.admin.create_table(machine.schema(), SPLITS)
    machine.write(cluster, range(300))
    victim = cluster.client.admin.tablets(b"t")[2]
    poison = Poison(cluster, victim.tablet_id, seconds)
    cluster.runtime.sleep(0.1)
    cluster.kill_server(victim.owner)
    cluster.start_server()
    return poison


def served(cluster):
    return {status.record.tablet_id for _, role in cluster.servers.values() for status in role.admin.tablets()}


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.0, 1.5])
def test_it_is_held_back_loudly_and_the_others_are_served(cluster_of, machine, caplog, seconds):
    cluster = cluster_of(11)

    def body():
        poison = begin(cluster, machine, seconds)
        began = cluster.runtime.clock_seconds()
        cluster.runtime.sleep(400)
        assert 6 <= len(poison.deaths) <= 11, f"{len(poison.deaths)} servers died"
        late = [moment for moment in poison.deaths if moment > began + 200]
        assert late, "it is tried again"
        assert len(late) <= 2, "less and less often"
        last = poison.deaths[-1]
        cluster.runtime.sleep(max(0.0, last + 40 - cluster.runtime.clock_seconds()))
        others = {record.tablet_id for record in cluster.client.admin.tablets(b"t")} - {poison.tablet_id}
        assert others <= served(cluster)
        table = cluster.client.table(b"t")
        for number in (*range(100), *range(150, 300)):
            table.mutate([machine.put(b"row%06d" % number, b"again")])
        poison.active = False
        cluster.runtime.sleep(660)
        assert poison.tablet_id in served(cluster)
        expected = machine.expected(range(300), b"again") | machine.expected(range(100, 150))
        assert machine.contents(cluster) == expected

    cluster.runtime.run(body)
    held = [one.getMessage() for one in caplog.records if one.levelno == logging.ERROR]
    assert any("of table t, rows from b'row000100' to b'row000150', is not handed out for 10 s" in one for one in held)


def test_an_operator_need_not_wait_and_a_new_master_tries_again(cluster_of, machine):
    cluster = cluster_of(12)

    def body():
        poison = begin(cluster, machine, 0.0)
        cluster.runtime.sleep(200)
        deaths = len(poison.deaths)
        cluster.kill_master()
        cluster.start_master()
        cluster.runtime.sleep(12)
        assert len(poison.deaths) == deaths + 5, "it acquits all"
        poison.active = False
        assert poison.tablet_id not in served(cluster)
        cluster.client.admin.move_tablet(b"t", poison.tablet_id)
        assert poison.tablet_id in served(cluster)
        assert machine.contents(cluster) == machine.expected(range(300))

    cluster.runtime.run(body)


def test_when_its_table_is_disabled_the_others_are_balanced_again(cluster_of, machine):
    cluster = cluster_of(13)

    def body():
        poison = begin(cluster, machine, 0.0)
        with suppress(OutcomeUnknown):  # a server that has just died may have had some: the master goes on with them
            cluster.client.admin.create_table(machine.schema(b"u"), SPLITS)
        cluster.runtime.sleep(40)
        assert cluster.client.admin.is_enabled(b"u")
        assert len(poison.deaths) >= 3
        cluster.client.admin.disable_table(b"t")
        cluster.start_server()
        cluster.runtime.sleep(60)
        counts = {name: len(role.admin.tablets()) for name, (_, role) in cluster.servers.items()}
        assert max(counts.values()) - min(counts.values()) <= 1, counts
        assert poison.tablet_id not in served(cluster)

    cluster.runtime.run(body)
