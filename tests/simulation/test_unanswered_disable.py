"""A table is to be disabled, and the connection to a server that lives breaks with each question."""

import pytest

from hbtable.errors import HbtableError, OutcomeUnknown, no_answer
from hbtable.master.tablets.unanswered_unloads import ALONE_SECONDS
from hbtable.model.table import TableState
from tests.harness.counted_cluster import CountedCluster
from tests.harness.delegating_fake import DelegatingFake

SPLITS = [b"row000%03d" % n for n in (75, 150, 225)]


class Unanswering(DelegatingFake):
    """A tablet server's administration, whose unloads fail before they begin, as `error` says. `asked`: how often."""

    def __init__(self, inner, error):
        super().__init__(inner)
        self.error = error
        self.asked = 0

    def unload_tablet(self, epoch, tablet_id):
        self.asked += 1
        if self.error is not None:
            raise self.error("the connection broke")
        self.inner.unload_tablet(epoch, tablet_id)


def broken(cluster, error):
    found = []
    for name in cluster.servers:
        service, admin = cluster.transport.tablet_service(name), cluster.transport.tablet_admin(name)
        found.append(Unanswering(admin, error))
        cluster.transport.register_server(name, service, found[-1])
    return found


def refused(cluster, ask):
    """The error, and the seconds that it took."""
    began = cluster.runtime.clock_seconds()
    with pytest.raises(HbtableError) as told:
        ask()
    return told.value, cluster.runtime.clock_seconds() - began


def state(cluster):
    return cluster.client.catalog.read_table(b"t").state


def play(machine, error, act, splits=SPLITS):
    cluster = CountedCluster(21, machine.options)

    def body():
        cluster.start(2)
        cluster.client.admin.create_table(machine.schema(), splits)
        machine.write(cluster, range(300))
        servers = broken(cluster, error)
        act(cluster, cluster.client.admin, servers)
        for one in servers:
            one.error = None
        cluster.until(lambda: state(cluster) is TableState.DISABLED, 60)
        cluster.client.admin.enable_table(b"t")
        assert machine.contents(cluster) == machine.expected(range(300))

    cluster.runtime.run(body)


def test_it_is_told_soon_and_whoever_waits_for_the_table_has_his_turn(machine):
    """It held the table for two minutes, and again with each try of the master."""

    def act(cluster, admin, servers):
        disabling = cluster.runtime.spawn(refused, cluster, lambda: admin.disable_table(b"t"), name="disable")
        cluster.until(lambda: servers[0].asked, 5)
        told, seconds = refused(cluster, lambda: admin.enable_table(b"t"))
        assert "disabled" in f"{type(told).__name__} {told}".lower(), "it had its turn, and the table is being disabled"
        assert seconds < ALONE_SECONDS + 5
        assert disabling.join(ALONE_SECONDS)
        told, seconds = refused(cluster, lambda: admin.disable_table(b"t"))
        assert isinstance(told, OutcomeUnknown)
        assert str(told).startswith("table t is not disabled yet, the master goes on trying: ")
        assert seconds < 20 + ALONE_SECONDS + 5
        assert state(cluster) is TableState.DISABLING

    play(machine, no_answer, act)


def test_the_time_is_that_of_all_tablets_together(machine):
    """It was that of each: with 16 tablets at a time a table of a thousand was held for ten minutes."""

    def act(cluster, admin, servers):
        told, seconds = refused(cluster, lambda: admin.disable_table(b"t"))
        assert isinstance(told, OutcomeUnknown)
        assert seconds < ALONE_SECONDS + 2
        asked = [one.asked for one in servers]
        servers[0].error = None
        cluster.until(lambda: cluster.tablets()[0] <= 1, 30)  # it may have METADATA
        assert servers[0].asked > asked[0], "the master's next try asks anew"

    play(machine, no_answer, act, [b"row000%03d" % n for n in range(4, 300, 4)])


def test_a_server_that_answers_is_not_asked_again_by_the_same_operation(machine):
    """That it failed in a way that nobody foresaw is an answer, too."""

    def act(cluster, admin, servers):
        told, seconds = refused(cluster, lambda: admin.disable_table(b"t"))
        assert isinstance(told, OutcomeUnknown)
        assert seconds < 1

    play(machine, OutcomeUnknown, act)
