"""A tablet that its server cannot load is served by another one soon, and by nobody else."""

from collections import Counter
from dataclasses import replace

import pytest

from hbtable.errors import HbtableError, MoveFailed, OutcomeUnknown, Unavailable
from tests.harness.delegating_fake import DelegatingFake
from tests.harness.many_servers import Cluster
from tests.harness.sim_schedule import Schedule
from tests.harness.tiers import quick_first

SPLITS = [b"row000%03d" % n for n in range(50, 300, 50)]


@pytest.fixture
def cluster_of(machine):
    return lambda seed: Cluster(seed, machine.options)


class LoadsFail(DelegatingFake):
    """A tablet server's administration whose loads of tablets from `first` on fail, before or after the work."""

    def __init__(self, inner, error=Unavailable, late=False, first=0, only=None):
        super().__init__(inner)
        self._error = error
        self._late = late
        self._first = first
        self._only = only
        self.asked = 0

    def load_tablet(self, epoch, record, schema):
        if record.table_id < self._first or self._only not in (None, record.tablet_id):
            return self.inner.load_tablet(epoch, record, schema)
        self.asked += 1
        if self._late:
            self.inner.load_tablet(epoch, record, schema)
        raise self._error("no memory is left")


def spoil(cluster, incarnation, *how, **named):
    transport = cluster.transport
    bad = LoadsFail(transport.tablet_admin(incarnation), *how, **named)
    transport.register_server(incarnation, transport.tablet_service(incarnation), bad)
    return bad


def owners(cluster, name=b"t"):
    return {record.tablet_id: record.owner for record in cluster.client.admin.tablets(name)}


def user_server(cluster):
    """One with tablets of the table, and none of METADATA's."""
    system = {record.owner for record in cluster.client.operations.every_tablet() if record.table_id < 16}
    return min(set(owners(cluster).values()) - system)


def begin(cluster, machine):
    """Three servers share six tablets of 50 rows; a fourth one, the last, has none."""
    cluster.start(3)
    cluster.client.admin.create_table(machine.schema(), SPLITS)
    machine.write(cluster, range(300))
    cluster.start_server()


@pytest.mark.parametrize("error", [Unavailable, OutcomeUnknown])
def test_after_a_few_tries_another_server_gets_it(cluster_of, machine, caplog, error):
    cluster = cluster_of(1)

    def body():
        begin(cluster, machine)
        dead = user_server(cluster)
        bad = max(cluster.servers)
        spoilt = spoil(cluster, bad, error)
        cluster.kill_server(dead)
        cluster.runtime.sleep(25)
        assert spoilt.asked
        assert machine.contents(cluster) == machine.expected(range(300))
        machine.write(cluster, range(300), b"again")
        assert machine.contents(cluster) == machine.expected(range(300), b"again")
        assert bad not in owners(cluster).values()
        for record in cluster.client.admin.tablets(b"t"):
            assert bad not in [ref.incarnation for ref in record.logs], "nothing of it is in that server's log"

    cluster.runtime.run(body)
    assert "could not load it; what it said last: no memory is left" in caplog.text


def test_metadatas_tablets_too(cluster_of, machine):
    cluster = cluster_of(2)

    def body():
        begin(cluster, machine)
        bad = max(cluster.servers)
        spoil(cluster, bad)
        cluster.kill_server(cluster.client.catalog.read_root().owner)
        cluster.runtime.sleep(60)
        assert machine.contents(cluster) == machine.expected(range(300))
        assert bad not in {record.owner for record in cluster.client.operations.every_tablet()}

    cluster.runtime.run(body)


def test_a_load_that_succeeds_but_does_not_say_so_is_not_lost(cluster_of, machine):
    """What was acknowledged meanwhile is flushed before it goes."""
    cluster = cluster_of(3)

    def body():
        begin(cluster, machine)
        dead = user_server(cluster)
        spoil(cluster, max(cluster.servers), OutcomeUnknown, late=True)
        cluster.kill_server(dead)
        machine.write(cluster, range(300), b"again")
        cluster.runtime.sleep(30)
        assert machine.contents(cluster) == machine.expected(range(300), b"again")

    cluster.runtime.run(body)


def test_a_table_is_enabled_though_one_server_cannot_load(cluster_of, machine):
    cluster = cluster_of(4)

    def body():
        cluster.start(2)
        admin = cluster.client.admin
        admin.create_table(machine.schema(), SPLITS)
        machine.write(cluster, range(300))
        admin.disable_table(b"t")
        cluster.start_server()
        bad = max(cluster.servers)
        spoil(cluster, bad)
        with pytest.raises(HbtableError, match="no memory is left"):
            cluster.master.calls.enable_table(b"t")
        cluster.runtime.sleep(30)
        assert machine.contents(cluster) == machine.expected(range(300))
        assert bad not in owners(cluster).values()

    cluster.runtime.run(body)


@pytest.mark.parametrize(("error", "late"), [(Unavailable, False), (OutcomeUnknown, False), (OutcomeUnknown, True)])
def test_a_tablet_that_is_moved_to_a_server_that_cannot_load_it_is_back_at_once(cluster_of, machine, error, late):
    """It was taken away and given back 86 times in a minute: the client asked again each time."""
    cluster = cluster_of(7)

    def body():
        begin(cluster, machine)
        clock = cluster.runtime.clock_seconds
        cluster.runtime.sleep(30)  # the new server has its share, and nothing else moves
        before = owners(cluster)
        tablet, owner = min(before.items())
        bad = max(cluster.servers.keys() - {owner})
        spoilt = spoil(cluster, bad, error, late, only=tablet)
        began = clock()
        with pytest.raises(MoveFailed, match=f"is not on {bad}, .*no memory is left. {owner} serves it"):
            cluster.client.admin.move_tablet(b"t", tablet, bad)
        machine.write(cluster, range(300), b"again")
        assert clock() - began < 1
        cluster.runtime.sleep(90)
        assert spoilt.asked == 1
        assert owners(cluster) == before
        assert machine.contents(cluster) == machine.expected(range(300), b"again")

    cluster.runtime.run(body)


def test_a_tablet_that_goes_back_to_nobody_goes_to_another_server(cluster_of, machine):
    cluster = cluster_of(8)

    def body():
        begin(cluster, machine)
        cluster.runtime.sleep(30)
        tablet, owner = min(owners(cluster).items())
        bad, *others = sorted(cluster.servers.keys() - {owner})
        spoilt = [spoil(cluster, name, only=tablet) for name in (bad, owner)]
        with pytest.raises(MoveFailed, match="next rounds see to it that one serves it"):
            cluster.client.admin.move_tablet(b"t", tablet, bad)
        cluster.runtime.sleep(60)
        assert owners(cluster)[tablet] in others
        assert all(one.asked <= 3 for one in spoilt)
        assert machine.contents(cluster) == machine.expected(range(300))

    cluster.runtime.run(body)


def test_who_balances_is_told_of_a_server_that_cannot_load_and_the_tablet_is_back(cluster_of, machine):
    cluster = cluster_of(9)

    def body():
        cluster.start(2)
        admin = cluster.client.admin
        admin.create_table(machine.schema(), SPLITS)
        machine.write(cluster, range(300))
        admin.balance_switch(False)
        cluster.start_server()
        before = owners(cluster)
        spoilt = spoil(cluster, max(cluster.servers), first=16)
        cluster.runtime.sleep(20)
        admin.balance_switch(True)
        with pytest.raises(MoveFailed):
            admin.balance()
        assert spoilt.asked <= len(before) // 3
        assert owners(cluster) == before
        assert machine.contents(cluster) == machine.expected(range(300))

    cluster.runtime.run(body)


@pytest.mark.slow
def test_when_no_server_can_load_it_each_is_tried_again_and_the_first_that_can_gets_it(cluster_of, machine):
    cluster = cluster_of(5)

    def body():
        cluster.start(3)
        cluster.client.admin.create_table(machine.schema())
        machine.write(cluster, range(100))
        spoilt = {name: spoil(cluster, name, first=16) for name in cluster.servers}
        (tablet,) = cluster.client.admin.tablets(b"t")
        with pytest.raises(MoveFailed):
            cluster.client.admin.move_tablet(b"t", tablet.tablet_id)
        cluster.runtime.sleep(400)
        assert all(one.asked >= 3 for one in spoilt.values())
        healed = min(cluster.servers)
        cluster.transport.register_server(
            healed, cluster.transport.tablet_service(healed), cluster.transport.tablet_admin(healed).inner
        )
        cluster.runtime.sleep(200)
        assert owners(cluster)[tablet.tablet_id] == healed
        assert machine.contents(cluster) == machine.expected(range(100))

    cluster.runtime.run(body)


@pytest.mark.parametrize("seeds", quick_first([range(38, 44), range(44, 52), range(52, 60)], 0, 1))
def test_tablets_that_are_taken_from_who_cannot_load_them_lose_nothing_and_have_one_owner(seeds):
    total = Counter()
    for seed in seeds:
        outcome = Schedule(seed, kinds=("unable", "late", "lossy")).run()
        assert not outcome.violations, f"seed {seed}: {outcome.violations[0]}"
        total += outcome.count
    assert total["taken from who cannot load"] > 1


class TakesNoSchema(DelegatingFake):
    """A tablet server's administration that has tablets, and no ear for what becomes of their table."""

    def update_schema(self, epoch, table_id, schema):
        raise Unavailable("not now")


def test_a_server_that_takes_no_schema_does_not_keep_the_tables_other_tablets_waiting(cluster_of, machine):
    cluster = cluster_of(6)

    def body():
        begin(cluster, machine)
        dead = user_server(cluster)
        deaf = min(set(owners(cluster).values()) - {dead})
        transport = cluster.transport
        inner = transport.tablet_admin(deaf)
        transport.register_server(deaf, transport.tablet_service(deaf), TakesNoSchema(inner))
        schema = cluster.client.admin.schema(b"t")
        with pytest.raises(HbtableError):
            cluster.client.admin.alter_table(replace(schema, version=schema.version + 1))
        cluster.kill_server(dead)
        cluster.runtime.sleep(25)
        assert dead not in owners(cluster).values()
        assert machine.contents(cluster) == machine.expected(range(300))
        transport.register_server(deaf, transport.tablet_service(deaf), inner)
        cluster.runtime.sleep(30)
        versions = [status.schema_version for status in inner.tablets() if status.record.table_id >= 16]
        assert versions, "it has some"
        assert set(versions) == {schema.version + 1}, "and hears of it in the end"

    cluster.runtime.run(body)
