"""Servers that are taken out of service: they get nothing more, what they have leaves if it should, nothing is lost."""

from collections import Counter

import pytest

from hbtable.errors import HbtableError, InvalidRequest
from tests.harness.many_servers import Cluster
from tests.harness.sim_schedule import Schedule
from tests.harness.tiers import quick_first

SPLITS = [b"row000%03d" % n for n in range(30, 300, 30)]


@pytest.fixture
def cluster_of(machine):
    return lambda seed: Cluster(seed, machine.options)


def owners(cluster):
    """How many tablets each server owns, METADATA's included."""
    return Counter(record.owner for record in cluster.client.operations.every_tablet())


def holder_of_the_root(cluster):
    root, *_ = cluster.client.operations.every_tablet()
    return root.owner


def until(cluster, done, seconds, look_seconds=0.1):
    deadline = cluster.runtime.clock_seconds() + seconds
    while not done():
        assert cluster.runtime.clock_seconds() < deadline, f"{owners(cluster)}, {cluster.master.last_message}"
        cluster.runtime.sleep(look_seconds)


@pytest.mark.parametrize("seed", quick_first(range(3), 1, 2))
def test_every_tablet_leaves_while_clients_write(cluster_of, machine, seed):
    """METADATA's too, root tablet included."""
    cluster = cluster_of(500 + seed)

    def body():
        cluster.start(3)
        cluster.client.admin.create_table(machine.schema(), SPLITS)
        machine.write(cluster, range(300))
        cluster.client.admin.balance_switch(False)
        leaving = holder_of_the_root(cluster)
        task = cluster.runtime.spawn(lambda: machine.write(cluster, range(300), b"again"), name="write")
        cluster.client.admin.decommission([leaving], True)
        until(cluster, lambda: leaving not in owners(cluster), 20)
        task.join()
        assert task.error is None
        assert not cluster.transport.tablet_admin(leaving).tablets()
        cluster.client.admin.create_table(machine.schema(b"u"), SPLITS)
        assert leaving not in owners(cluster)
        assert machine.contents(cluster) == machine.expected(range(300), b"again")
        until(cluster, lambda: cluster.master.last_message == "everything is served", 60)
        cluster.check_tiling()

    cluster.runtime.run(body)


def test_without_offload_it_keeps_what_it_has_and_gets_nothing_more(cluster_of, machine):
    cluster = cluster_of(510)

    def body():
        cluster.start(2)
        admin = cluster.client.admin
        admin.create_table(machine.schema(), SPLITS)
        before = owners(cluster)
        marked, other = sorted(cluster.servers)
        cluster.client.admin.decommission([marked], False)
        cluster.runtime.sleep(30)
        assert owners(cluster) == before
        admin.create_table(machine.schema(b"u"), SPLITS)
        assert owners(cluster)[marked] == before[marked]
        tablet = next(one for one in admin.tablets(b"t") if one.owner == other)
        with pytest.raises(InvalidRequest, match=f"{marked} is decommissioned: it takes no tablets"):
            admin.move_tablet(b"t", tablet.tablet_id, marked)
        mine = next(one for one in admin.tablets(b"t") if one.owner == marked)
        admin.move_tablet(b"t", mine.tablet_id, marked)
        assert admin.balance()
        cluster.runtime.sleep(30)
        assert owners(cluster)[marked] == before[marked], "not evened out either"
        cluster.client.admin.recommission(marked)
        until(cluster, lambda: owners(cluster)[marked] >= 8, 60)

    cluster.runtime.run(body)


def test_tablets_of_a_server_that_dies_go_past_the_decommissioned(cluster_of, machine):
    cluster = cluster_of(520)

    def body():
        cluster.start(3)
        cluster.client.admin.create_table(machine.schema(), SPLITS)
        machine.write(cluster, range(300))
        metadata = holder_of_the_root(cluster)
        marked, dies = sorted(set(cluster.servers) - {metadata})
        cluster.client.admin.decommission([marked], False)
        kept = owners(cluster)[marked]
        cluster.kill_server(dies)
        until(cluster, lambda: dies not in owners(cluster), 30)
        assert owners(cluster)[marked] == kept
        assert machine.contents(cluster) == machine.expected(range(300))

    cluster.runtime.run(body)


def test_when_only_marked_servers_are_left_the_master_says_that_it_waits(cluster_of, machine):
    cluster = cluster_of(530)

    def body():
        cluster.start(2)
        cluster.client.admin.create_table(machine.schema(), SPLITS)
        metadata = holder_of_the_root(cluster)
        (dies,) = set(cluster.servers) - {metadata}
        cluster.client.admin.decommission([metadata], False)
        cluster.kill_server(dies)
        cluster.runtime.sleep(10)
        assert "waiting for a tablet server to serve tablet" in cluster.master.last_message
        cluster.client.admin.recommission(metadata)
        until(cluster, lambda: set(owners(cluster)) == {metadata}, 10)

    cluster.runtime.run(body)


def test_a_merged_tablet_goes_past_the_decommissioned(cluster_of, machine):
    cluster = cluster_of(535)

    def body():
        cluster.start(2)
        admin = cluster.client.admin
        admin.balance_switch(False)
        marked, other = sorted(cluster.servers)
        admin.create_table(machine.schema(), [b"m"])
        for tablet in admin.tablets(b"t"):
            admin.move_tablet(b"t", tablet.tablet_id, marked)
        machine.write(cluster, range(100))
        cluster.client.admin.decommission([marked], False)
        admin.create_table(machine.schema(b"u"), SPLITS)
        assert owners(cluster)[marked] < owners(cluster)[other], "it would be chosen for having the fewest"
        admin.merge_tablets(b"t", [tablet.tablet_id for tablet in admin.tablets(b"t")])
        assert [tablet.owner for tablet in admin.tablets(b"t")] == [other]
        assert machine.contents(cluster) == machine.expected(range(100))

    cluster.runtime.run(body)


def test_tablets_begin_to_leave_at_once(cluster_of, machine):
    cluster = cluster_of(537)

    def body():
        cluster.start(2)
        cluster.client.admin.create_table(machine.schema(), SPLITS)
        cluster.runtime.sleep(21)
        leaving = min(cluster.servers)
        before = owners(cluster)[leaving]
        cluster.client.admin.decommission([leaving], True)
        until(cluster, lambda: owners(cluster)[leaving] < before, 1)

    cluster.runtime.run(body)


def test_the_mark_and_the_leaving_outlive_the_master(cluster_of, machine):
    cluster = cluster_of(541)

    def body():
        cluster.start(3)
        cluster.client.admin.create_table(machine.schema(), SPLITS)
        machine.write(cluster, range(300))
        leaving = holder_of_the_root(cluster)
        before = owners(cluster)[leaving]
        cluster.client.admin.decommission([leaving], True)
        until(cluster, lambda: owners(cluster)[leaving] < before, 20, look_seconds=0.001)  # three may go in 0.1 s
        cluster.kill_master()
        cluster.runtime.sleep(5)
        assert owners(cluster)[leaving] > 0, "it has not all gone before the death"
        cluster.start_master()
        until(cluster, lambda: leaving not in owners(cluster), 30)
        assert machine.contents(cluster) == machine.expected(range(300))

    cluster.runtime.run(body)


def test_the_last_server_that_takes_tablets_stays_in_service(cluster_of, machine):
    cluster = cluster_of(550)

    def body():
        cluster.start(2)
        admin = cluster.client.admin
        one, two = sorted(cluster.servers)
        with pytest.raises(InvalidRequest, match="no tablet server would be left"):
            admin.decommission([one, two], False)
        with pytest.raises(InvalidRequest, match="there is no tablet server nobody"):
            admin.decommission([one, "nobody"], True)
        outcomes = []

        def mark(name):
            try:
                admin.decommission([name], False)
            except InvalidRequest as error:
                outcomes.append(str(error))

        tasks = [cluster.runtime.spawn(mark, name, name="mark") for name in (one, two)]
        for task in tasks:
            task.join()
        assert len(outcomes) == 1, "each of the two would have left the other"
        with pytest.raises(InvalidRequest, match="there is no tablet server nobody"):
            admin.recommission("nobody")

    cluster.runtime.run(body)


@pytest.mark.parametrize("seed", quick_first(range(6), 2, 3))
def test_marks_under_writes_deaths_and_new_masters_lose_nothing(cluster_of, machine, seed):
    cluster = cluster_of(600 + seed)
    chance = cluster.chance
    acknowledged = {}

    def mark():
        while True:
            try:
                server = chance.choice(sorted(cluster.servers))
                if chance.random() < 0.6:
                    cluster.client.admin.decommission([server], chance.random() < 0.7)
                else:
                    cluster.client.admin.recommission(server)
            except HbtableError:
                pass
            cluster.runtime.sleep(chance.random())

    def body():
        cluster.start(3)
        cluster.client.admin.create_table(machine.schema(), SPLITS)
        task = cluster.runtime.spawn(cluster.write_at_random, machine.put, 300, acknowledged, name="work")
        marker = cluster.runtime.spawn(mark, name="mark")
        while not task.join(chance.random() * 3):
            cluster.replace("server" if chance.random() < 0.5 else "master")
        assert task.error is None
        marker.kill()
        for server in sorted(cluster.servers):
            cluster.client.admin.recommission(server)
        until(cluster, lambda: set(owners(cluster)) <= set(cluster.servers), 60)
        assert acknowledged.items() <= machine.contents(cluster).items()
        cluster.check_tiling()

    cluster.runtime.run(body)


@pytest.mark.parametrize("seeds", quick_first([range(40000, 40004), range(40004, 40014), range(40014, 40024)], 0, 1))
def test_decommissions_through_lost_and_repeated_messages_and_masters_that_were_deposed(quiet, seeds):
    """As simulation/test_cluster.py, with an operator who does little else. METADATA's tablets leave, too."""
    done = 0
    for seed in seeds:
        outcome = Schedule(
            seed, chores=("decommission", "decommission", "split", "move"), gap_seconds=0.0 if seed % 2 else 1.0
        ).run()
        assert not outcome.violations, f"seed {seed}: {outcome.violations[0]}"
        done += outcome.count["chore: decommission done"]
    print(done)
    assert 2 * done >= 3 * len(seeds)
