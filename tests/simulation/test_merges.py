"""Neighbouring tablets that become one, while clients write and servers and masters die: nothing is lost."""

import random

import pytest

from hbtable.errors import Corruption, HbtableError, InvalidRequest, TableNotEnabled, TableNotFound
from hbtable.metadata.tiling import verify_tiling
from tests.harness.many_servers import Cluster
from tests.harness.sim_schedule import Schedule
from tests.harness.tiers import quick_first

SPLITS = [b"row000%03d" % n for n in range(50, 300, 50)]


@pytest.fixture
def cluster_of(machine):
    return lambda seed: Cluster(seed, machine.options)


def tablets(cluster, name=b"t"):
    return cluster.client.admin.tablets(name)


def test_neighbours_of_several_servers_become_one_and_can_split_again(cluster_of, machine):
    cluster = cluster_of(1)

    def body():
        cluster.start(3)
        admin = cluster.client.admin
        admin.create_table(machine.schema(), SPLITS)
        machine.write(cluster, range(300))
        first, second, third, *others = tablets(cluster)
        admin.merge_tablets(b"t", [third.tablet_id, first.tablet_id, second.tablet_id])
        merged, *rest = tablets(cluster)
        assert (merged.range.start, merged.range.stop) == (b"", SPLITS[2])
        assert [one.tablet_id for one in rest] == [one.tablet_id for one in others]
        assert machine.contents(cluster) == machine.expected(range(300))
        machine.write(cluster, range(300), b"again")
        assert machine.contents(cluster) == machine.expected(range(300), b"again")
        # At the very row whose METADATA row says that a tablet is gone.
        assert admin.split(b"t", SPLITS[0])
        assert [one.range.start for one in tablets(cluster)][:3] == [b"", SPLITS[0], SPLITS[2]]
        cluster.kill_server(tablets(cluster)[0].owner)
        assert machine.contents(cluster) == machine.expected(range(300), b"again")
        cluster.check_tiling()

    cluster.runtime.run(body)


def test_children_of_a_split_share_no_files_when_they_are_merged_again(cluster_of, machine):
    cluster = cluster_of(2)

    def body():
        cluster.start(2)
        admin = cluster.client.admin
        admin.create_table(machine.schema())
        machine.write(cluster, range(100))
        for row in (b"row000050", b"row000025", b"row000075"):
            admin.split(b"t", row)
        before = tablets(cluster)
        assert len({ref.path for one in before for _, refs in one.files for ref in refs}) < 4
        admin.merge_tablets(b"t", [one.tablet_id for one in before])
        (merged,) = tablets(cluster)
        paths = [ref.path for _, refs in merged.files for ref in refs]
        assert len(paths) == len(set(paths)) >= 4
        assert machine.contents(cluster) == machine.expected(range(100))
        admin.major_compact(b"t")
        assert machine.contents(cluster) == machine.expected(range(100))

    cluster.runtime.run(body)


def test_a_shared_file_that_no_compaction_can_read_is_named(cluster_of, machine):
    """It said for ever to try again."""
    cluster = cluster_of(4)

    def body():
        cluster.start(2)
        admin = cluster.client.admin
        admin.create_table(machine.schema())
        machine.write(cluster, range(100))
        admin.split(b"t", b"row000050")
        both = tablets(cluster)
        shared = {ref.path for one in both for _, refs in one.files for ref in refs}
        for path in shared:
            cluster.disk.files[path].content[30] ^= 1
        for error in (Corruption, InvalidRequest, InvalidRequest):  # the first one is who meets it
            with pytest.raises(error) as caught:
                admin.merge_tablets(b"t", [one.tablet_id for one in both])
            assert any(path in str(caught.value) for path in shared)
        assert [one.range for one in tablets(cluster)] == [one.range for one in both]

    cluster.runtime.run(body)


def test_what_cannot_be_merged_is_refused(cluster_of, machine):
    cluster = cluster_of(3)

    def body():
        cluster.start(2)
        admin = cluster.client.admin
        admin.create_table(machine.schema(), SPLITS)
        first, second, third = (one.tablet_id for one in tablets(cluster)[:3])
        with pytest.raises(InvalidRequest, match="not neighbours"):
            admin.merge_tablets(b"t", [first, third])
        with pytest.raises(InvalidRequest, match="at least two"):
            admin.merge_tablets(b"t", [first, first])
        with pytest.raises(InvalidRequest, match="no tablet 7 "):
            admin.merge_tablets(b"t", [first, 7])
        with pytest.raises(TableNotFound):
            admin.merge_tablets(b"u", [first, second])
        admin.disable_table(b"t")
        with pytest.raises(TableNotEnabled):
            admin.merge_tablets(b"t", [first, second])

    cluster.runtime.run(body)


@pytest.mark.parametrize("seed", quick_first(range(8), 1, 3))
def test_merges_and_splits_under_writes_deaths_and_new_masters_lose_nothing(cluster_of, machine, seed):
    cluster = cluster_of(400 + seed)
    chance = cluster.chance
    acknowledged = {}
    done = []

    def change():
        while True:
            try:
                found = tablets(cluster)
                place = chance.randrange(len(found))
                if len(found) < 3 or chance.random() < 0.4:
                    cluster.client.admin.split(b"t", b"row%06d" % chance.randrange(300))
                elif found[place + 1 :]:
                    cluster.client.admin.merge_tablets(b"t", [one.tablet_id for one in found[place : place + 2]])
                    done.append(place)
            except HbtableError:
                cluster.runtime.sleep(0.1)

    def body():
        cluster.start(3)
        cluster.client.admin.create_table(machine.schema(), SPLITS)
        task = cluster.runtime.spawn(cluster.write_at_random, machine.put, 400, acknowledged, name="work")
        changer = cluster.runtime.spawn(change, name="change")
        while not task.join(chance.random()):
            cluster.replace("server" if chance.random() < 0.3 else "master")
        assert task.error is None
        changer.kill()
        cluster.runtime.sleep(10)
        assert acknowledged.items() <= machine.contents(cluster).items()
        cluster.check_tiling()
        assert {one.owner for one in tablets(cluster)} <= set(cluster.servers)
        assert not any(one.is_merging() for one in tablets(cluster))
        print("merges:", len(done), "tablets:", len(tablets(cluster)))

    cluster.runtime.run(body)


@pytest.mark.parametrize("seed", quick_first(range(10), 2, 4))
def test_the_power_goes_at_any_moment_of_a_merge(machine_of, seed):
    """The master and the only tablet server end at once, and what was not synced is gone."""
    machine = machine_of(500 + seed)
    chance = random.Random(seed)

    def make(cluster):
        cluster.client.admin.create_table(machine.schema(), SPLITS[:2])
        machine.write(cluster, range(120))

    def merge_and_split(cluster):
        admin = cluster.client.admin
        while True:
            admin.merge_tablets(b"t", [one.tablet_id for one in admin.tablets(b"t")[:2]])
            admin.split(b"t", b"row%06d" % chance.randrange(1, 50))

    def look(cluster):
        rows = cluster.client.catalog.tablet_rows(cluster.client.catalog.read_table(b"t").table_id)
        verify_tiling(rows)
        assert not any(row.is_merging() for row in rows)
        assert machine.contents(cluster) == machine.expected(range(120))

    machine.life(make)
    for _ in range(8):
        machine.crash_during(merge_and_split, chance.uniform(0.005, 0.6))
        machine.life(look)


@pytest.mark.parametrize("seeds", quick_first([range(30000, 30002), range(30002, 30008), range(30008, 30016)], 0, 1))
def test_merges_through_lost_and_repeated_messages_and_masters_that_were_deposed(quiet, seeds):
    """As simulation/test_cluster.py, with an operator who does little else. (Its default chores are without merges, so
    that its seeds stay what they are.)"""
    done = 0
    for seed in seeds:
        outcome = Schedule(seed, chores=("merge", "split", "merge", "move"), gap_seconds=0.0 if seed % 2 else 1.0).run()
        assert not outcome.violations, f"seed {seed}: {outcome.violations[0]}"
        done += outcome.count["chore: merge done"]
    assert done >= max(1, len(seeds) // 3)
