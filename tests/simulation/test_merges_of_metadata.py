"""METADATA's own tablets become one (paper, section 5.1) while clients write, user tablets split, and servers and
masters die: every row stays findable, and whoever cached a place of METADATA looks again."""

import random

import pytest

from hbtable.client.client import Client
from hbtable.errors import HbtableError, InvalidRequest
from hbtable.master.reconciler import Reconciler
from hbtable.master.tablets.normalizing import NormalizerOptions
from hbtable.metadata import layout
from hbtable.metadata.catalog import Catalog
from hbtable.metadata.tiling import standing, verify_tiling
from hbtable.model.ranges import RowRange
from hbtable.model.tablet import METADATA_TABLE_ID, ROOT_TABLET_ID
from tests.harness.fresh_seed import fresh_seed, slice_of
from tests.harness.many_servers import Cluster
from tests.harness.sim_schedule import Schedule
from tests.harness.tiers import quick_first

META = layout.SCHEMA.name
SPLITS = [b"row000%03d" % n for n in range(25, 300, 25)]


@pytest.fixture
def cluster_of(machine):
    return lambda seed: Cluster(seed, machine.options)


def metadata(cluster):
    """Its tablets but the root, ascending."""
    rows = cluster.client.catalog.tablet_rows(METADATA_TABLE_ID)
    return [row for row in standing(rows) if row.tablet_id != ROOT_TABLET_ID]


def split(cluster, key):
    """METADATA's tablet of this row of METADATA, right there."""
    (tablet,) = [one for one in metadata(cluster) if one.range.holds(key)]
    return cluster.transport.tablet_admin(tablet.owner).split(tablet.tablet_id, key)


def keys_to_split_at(cluster, name=b"t"):
    table = cluster.client.catalog.read_table(name)
    return [layout.tablet_key(table.table_id, row) + b"\x00" for row in SPLITS[::3]] + [b"table/"]


def merge(cluster, tablets):
    cluster.client.admin.merge_tablets(META, [one.tablet_id for one in tablets])


def until(cluster, holds, seconds=60):
    clock = cluster.runtime.clock_seconds
    latest = clock() + seconds
    while True:
        try:
            if holds():
                return
        except HbtableError:
            pass
        assert clock() < latest, (metadata(cluster), cluster.master.last_message)
        cluster.runtime.sleep(0.1)


def check(cluster):
    """METADATA is whole, each of its tablets is served, and nothing of a merge is left."""
    rows = cluster.client.catalog.tablet_rows(METADATA_TABLE_ID)
    verify_tiling(rows)
    assert not any(row.is_merging() or row.left for row in rows)
    assert {row.owner for row in rows} <= set(cluster.servers)


def test_tablets_of_metadata_become_one_and_can_split_again(cluster_of, machine):
    cluster = cluster_of(1)

    def body():
        cluster.start(3)
        cluster.client.admin.create_table(machine.schema(), SPLITS)
        machine.write(cluster, range(300))
        for key in keys_to_split_at(cluster):
            assert split(cluster, key)
        assert len(metadata(cluster)) == 6
        # This one learned where they are before they were merged.
        old = Client(cluster.runtime, cluster.lock_service.open_session("old"), cluster.transport)
        before = old.admin.tablets(b"t")
        merge(cluster, metadata(cluster)[:3])
        merge(cluster, metadata(cluster))
        (one,) = metadata(cluster)
        assert one.range == RowRange(layout.ROOT_STOP, b"")
        assert old.admin.tablets(b"t") == before
        assert cluster.client.admin.split(b"t", b"row000010")
        assert len(old.admin.tablets(b"t")) == len(before) + 1
        assert split(cluster, keys_to_split_at(cluster)[0])
        check(cluster)
        cluster.kill_server(metadata(cluster)[0].owner)
        assert machine.contents(cluster) == machine.expected(range(300))
        until(cluster, lambda: {row.owner for row in metadata(cluster)} <= set(cluster.servers))
        check(cluster)

    cluster.runtime.run(body)


def test_the_root_tablet_and_what_is_no_neighbour_stay(cluster_of, machine):
    cluster = cluster_of(2)

    def body():
        cluster.start(2)
        cluster.client.admin.create_table(machine.schema(), SPLITS)
        for key in keys_to_split_at(cluster):
            assert split(cluster, key)
        first, second, third, *_ = metadata(cluster)
        root = cluster.client.catalog.read_root()
        for chosen, message in (
            ([root, first], "root tablet is never merged"),
            ([first, third], "not neighbours"),
            ([first], "at least two"),
        ):
            with pytest.raises(InvalidRequest, match=message):
                merge(cluster, chosen)
        with pytest.raises(InvalidRequest, match="no tablet 77777"):
            cluster.client.admin.merge_tablets(META, [second.tablet_id, 77777])
        check(cluster)

    cluster.runtime.run(body)


class Moment:
    """The n-th change that the master makes of a row of METADATA's tablets, before or after it was made."""

    def __init__(self, cluster, monkeypatch, number, made):
        self.reached = cluster.runtime.event()
        self._left, self._made = number, made
        self.on = False
        for name in ("replace_tablet", "retire_tablet"):
            monkeypatch.setattr(Catalog, name, self._stopping(cluster, getattr(Catalog, name)))

    def _stopping(self, cluster, change):
        def changed(catalog, expected, new):
            here = self.on and expected.table_id == METADATA_TABLE_ID and catalog is cluster.master._catalog
            self._left -= here
            if not here or self._left != -1:
                return change(catalog, expected, new)
            if self._made:
                change(catalog, expected, new)
            self.reached.set()
            cluster.master_node.runtime.sleep(1.0)
            return None if self._made else change(catalog, expected, new)

        return changed


def die_at(cluster, machine, monkeypatch, kind, number, made):
    """At the number-th change of a merge of METADATA's first four tablets. False: there are not so many."""
    moment = Moment(cluster, monkeypatch, number, made)

    def body():
        cluster.start(3)
        cluster.client.admin.create_table(machine.schema(), SPLITS)
        machine.write(cluster, range(60))
        for key in keys_to_split_at(cluster):
            assert split(cluster, key)
        victim = random.Random(number).choice(metadata(cluster)).owner

        def work():
            try:
                merge(cluster, metadata(cluster)[:4])
            except HbtableError:
                pass

        moment.on = True
        task = cluster.runtime.spawn(work, name="merge")
        reached = moment.reached.wait(20.0)
        moment.on = False
        if reached and kind == "master":
            cluster.kill_master()
            cluster.start_master()
        elif reached:
            cluster.kill_server(victim)
            cluster.start_server()
        until(cluster, lambda: {row.owner for row in metadata(cluster)} <= set(cluster.servers))
        until(cluster, lambda: machine.contents(cluster) == machine.expected(range(60)))
        until(cluster, lambda: check(cluster) is None)
        cluster.client.admin.create_table(machine.schema(b"u"))
        task.kill()
        return reached

    return cluster.runtime.run(body)


@pytest.mark.parametrize("kind", ["master", "server"])
@pytest.mark.parametrize("made", [False, True])
@pytest.mark.parametrize("number", quick_first(range(12), 2, 4))
def test_whatever_dies_at_any_change_of_a_merge_metadata_is_served_again(
    cluster_of, machine, monkeypatch, kind, made, number
):
    assert die_at(cluster_of(900 + number), machine, monkeypatch, kind, number, made)


@pytest.mark.parametrize("seed", quick_first(range(12), 1, 3))
def test_merges_of_metadata_under_splits_deaths_and_new_masters_lose_nothing(cluster_of, machine, seed):
    cluster = cluster_of(700 + seed)
    chance = cluster.chance
    acknowledged = {}
    done = []

    def change():
        while True:
            try:
                found = metadata(cluster)
                place = chance.randrange(len(found))
                choice = chance.random()
                if choice < 0.3:
                    cluster.client.admin.split(b"t", b"row%06d" % chance.randrange(300))
                elif len(found) < 3 or choice < 0.55:
                    split(cluster, chance.choice(keys_to_split_at(cluster)))
                elif found[place + 1 :]:
                    merge(cluster, found[place : place + chance.randint(2, 3)])
                    done.append(place)
            except HbtableError:
                cluster.runtime.sleep(0.1)

    def body():
        cluster.start(3)
        cluster.client.admin.create_table(machine.schema(), SPLITS)
        task = cluster.runtime.spawn(cluster.write_at_random, machine.put, 400, acknowledged, name="work")
        changer = cluster.runtime.spawn(change, name="change")
        while not task.join(chance.random()):
            if chance.random() < 0.5:
                cluster.replace("server" if chance.random() < 0.4 else "master")
        assert task.error is None
        changer.kill()
        cluster.runtime.sleep(10)
        until(cluster, lambda: check(cluster) is None)
        assert acknowledged.items() <= machine.contents(cluster).items()
        cluster.check_tiling()
        print("merges:", len(done), "tablets of METADATA:", len(metadata(cluster)))

    cluster.runtime.run(body)


def test_the_normalizer_merges_small_tablets_of_metadata_when_it_is_named(cluster_of, machine):
    cluster = cluster_of(3)
    cluster.normalizer = NormalizerOptions(period_seconds=5.0, min_age_seconds=0.0, emptied_age_seconds=0.0)

    def body():
        cluster.start(3)
        admin = cluster.client.admin
        rows = [b"row%06d" % number for number in range(1, 100)]
        admin.create_table(machine.schema(), rows)
        table = cluster.client.catalog.read_table(b"t")
        for row in rows[2:5:2]:
            assert split(cluster, layout.tablet_key(table.table_id, row) + b"\x00")
        for one in metadata(cluster):
            cluster.transport.tablet_admin(one.owner).compact(one.tablet_id, True)
        first, second, third = metadata(cluster)
        assert admin.normalize([])
        cluster.runtime.sleep(30)
        assert metadata(cluster) == [first, second, third], "not by itself, nor with all tables"
        assert admin.normalize([META])
        until(cluster, lambda: len(metadata(cluster)) == 2)
        assert metadata(cluster)[0].range == RowRange(first.range.start, second.range.stop)
        check(cluster)
        assert len(admin.tablets(b"t")) == 100

    cluster.runtime.run(body)


def merges_under_faults(seeds):
    """Of seeds of the cluster simulation, with an operator who splits and merges METADATA besides: how many merges."""
    done = 0
    for seed in seeds:
        chores = ("split_metadata", "merge_metadata", "split", "merge_metadata", "move")
        outcome = Schedule(seed, chores=chores, gap_seconds=0.0 if seed % 2 else 1.0).run()
        assert not outcome.violations, f"seed {seed}: {outcome.violations[0]}"
        done += outcome.count["chore: merge_metadata done"]
    return done


@pytest.mark.parametrize("seeds", quick_first([range(31000, 31002), range(31002, 31007), range(31007, 31012)], 0, 1))
def test_merges_of_metadata_through_lost_and_repeated_messages_and_deposed_masters(quiet, seeds):
    assert merges_under_faults(seeds) >= max(1, len(seeds) // 3)


@pytest.mark.verify
def test_merges_of_metadata_under_faults_that_no_run_has_seen_before(quiet):
    merges_under_faults(range(fresh_seed(), fresh_seed() + slice_of(12)))


def served_alone(self, reports):
    """The cycle as it was before METADATA could be merged: nobody ends what a master began."""
    return self._place_system(self._settled_rows(METADATA_TABLE_ID), reports)


def test_a_master_that_ends_no_merge_of_metadata_is_found(cluster_of, machine, monkeypatch):
    monkeypatch.setattr(Reconciler, "_serve_metadata", served_alone)
    with pytest.raises(AssertionError):
        die_at(cluster_of(900), machine, monkeypatch, "master", 1, True)
