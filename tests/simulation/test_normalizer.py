"""The master merges small and emptied neighbours by itself, while clients write and servers and masters die."""

from dataclasses import replace

import pytest

from hbtable.errors import HbtableError
from hbtable.master.tablets.normalizing import NormalizerOptions
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import DELETE_FAMILY, RowMutation
from tests.harness.many_servers import Cluster
from tests.harness.sim_schedule import Schedule
from tests.harness.tiers import quick_first

SPLITS = [b"row000%03d" % n for n in range(30, 300, 30)]
AT_ONCE = NormalizerOptions(period_seconds=20.0, min_age_seconds=0.0, emptied_age_seconds=0.0)
WHEN_ASKED = NormalizerOptions(period_seconds=0.0, min_age_seconds=0.0, emptied_age_seconds=0.0)


@pytest.fixture
def cluster_of(machine):
    def make(seed, options=AT_ONCE):
        cluster = Cluster(seed, machine.options)
        cluster.normalizer = options
        return cluster

    return make


def tablets(cluster, name=b"t"):
    return cluster.client.admin.tablets(name)


def until(cluster, what, seconds=120):
    """Waits until what() is true; its last answer otherwise."""
    runtime = cluster.runtime
    began = runtime.clock_seconds()
    while not what() and runtime.clock_seconds() < began + seconds:
        runtime.sleep(0.5)
    assert what()


def empty(cluster, rows):
    """Deletes the rows, and has nothing kept of them."""
    admin, table = cluster.client.admin, cluster.client.table(b"t")
    table.mutate([RowMutation(b"row%06d" % row, [(DELETE_FAMILY, b"f", b"", SERVER_TIME, b"")]) for row in rows])
    for tablet in tablets(cluster):
        admin.major_compact(b"t", tablet.tablet_id)


def test_emptied_tablets_become_one_by_themselves(cluster_of, machine):
    cluster = cluster_of(1)

    def body():
        cluster.start(3)
        cluster.client.admin.create_table(machine.schema(), SPLITS)
        machine.write(cluster, range(300))
        cluster.runtime.sleep(60)
        assert len(tablets(cluster)) == 10, "they are alike"
        empty(cluster, range(300))
        until(cluster, lambda: len(tablets(cluster)) == 1)
        assert machine.contents(cluster) == {}
        machine.write(cluster, range(300), b"again")
        assert machine.contents(cluster) == machine.expected(range(300), b"again")
        cluster.check_tiling()
        assert cluster.master._metrics.normalizer_merges.value == 9

    cluster.runtime.run(body)


def test_tablets_that_were_never_written_to_stay(cluster_of, machine):
    cluster = cluster_of(2)

    def body():
        cluster.start(1)
        cluster.client.admin.create_table(machine.schema(), SPLITS)
        cluster.runtime.sleep(100)
        assert len(tablets(cluster)) == 10

    cluster.runtime.run(body)


def test_it_works_when_it_is_asked_and_its_toggle_outlives_the_master(cluster_of, machine):
    cluster = cluster_of(3, WHEN_ASKED)

    def body():
        cluster.start(2)
        admin = cluster.client.admin
        admin.create_table(machine.schema(), SPLITS)
        machine.write(cluster, range(300))
        empty(cluster, range(300))
        cluster.runtime.sleep(400)
        assert len(tablets(cluster)) == 10
        assert admin.normalizer_enabled()
        assert admin.normalizer_switch(False)
        cluster.kill_master()
        cluster.start_master()
        until(cluster, lambda: not admin.normalizer_enabled())
        assert not admin.normalize([])
        assert not admin.normalizer_switch(True)
        assert admin.normalize([b"another"])
        cluster.runtime.sleep(60)
        assert len(tablets(cluster)) == 10
        assert admin.normalize([b"t"])
        until(cluster, lambda: len(tablets(cluster)) == 1)

    cluster.runtime.run(body)


def test_a_large_tablet_is_split_where_the_table_asks(cluster_of, machine):
    cluster = cluster_of(4, WHEN_ASKED)

    def body():
        cluster.start(2)
        admin = cluster.client.admin
        wished = (("MERGE_ENABLED", "false"), ("NORMALIZATION_ENABLED", "true"))
        admin.create_table(replace(machine.schema(), attributes=wished), [b"row000002", b"row000004"])
        machine.write(cluster, range(300), b"v" * 15_000)
        assert admin.normalize([])
        until(cluster, lambda: len(tablets(cluster)) == 4)
        assert machine.contents(cluster) == machine.expected(range(300), b"v" * 15_000)

    cluster.runtime.run(body)


@pytest.mark.parametrize("seed", quick_first(range(4), 1, 2))
def test_nothing_is_lost_while_servers_and_masters_die(cluster_of, machine, seed):
    """Rows come and go, tablets split, and what is small or empty is merged all the time."""
    cluster = cluster_of(500 + seed, replace(AT_ONCE, period_seconds=0.5, min_tablets=2))
    chance = cluster.chance
    acknowledged = {}

    def change():
        while True:
            try:
                cluster.client.admin.split(b"t", b"row%06d" % chance.randrange(300))
            except HbtableError:
                cluster.runtime.sleep(0.1)
            cluster.runtime.sleep(chance.random())

    def body():
        cluster.start(3)
        cluster.client.admin.create_table(machine.schema(), SPLITS)
        machine.write(cluster, range(300), b"before")
        acknowledged.update(machine.expected(range(300), b"before"))
        task = cluster.runtime.spawn(cluster.write_at_random, machine.put, 400, acknowledged, name="work")
        changer = cluster.runtime.spawn(change, name="change")
        while not task.join(chance.random()):
            cluster.replace("server" if chance.random() < 0.3 else "master")
        assert task.error is None
        changer.kill()
        cluster.runtime.sleep(15)
        assert acknowledged.items() <= machine.contents(cluster).items()
        cluster.check_tiling()
        until(cluster, lambda: not any(one.is_merging() for one in tablets(cluster)))

    cluster.runtime.run(body)


@pytest.mark.parametrize("seeds", quick_first([range(31000, 31001), range(31001, 31006), range(31006, 31012)], 0, 1))
def test_it_is_safe_beside_everything_else_an_operator_does(quiet, seeds):
    """As simulation/test_cluster.py: lost and repeated messages, masters that were deposed and do not know."""
    done = 0
    chores = ("normalize", "split", "normalize", "move", "merge", "decommission", "compact", "balance")
    for seed in seeds:
        outcome = Schedule(seed, chores=chores, gap_seconds=0.0 if seed % 2 else 1.0).run()
        assert not outcome.violations, f"seed {seed}: {outcome.violations[0]}"
        done += outcome.count["merged by the normalizer"]
    assert done >= 1
