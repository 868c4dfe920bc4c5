"""Maintenance looks at tablets at rest only in passing, and knows of each what a look from near would say."""

import random
from dataclasses import replace

import pytest

from hbtable.errors import HbtableError
from hbtable.launch.embedded_cluster import EmbeddedCluster
from hbtable.model.mutation import DELETE_FAMILY, RowMutation
from hbtable.model.read import EVERYTHING, ScanRequest
from hbtable.model.schema import FOREVER_SECONDS, FamilySchema, TableSchema
from hbtable.tablet.tablet import Tablet
from hbtable.tabletserver.maintenance import Maintenance
from hbtable.tabletserver.maintenance_plan import TabletFacts
from tests.simulation.conftest import SMALL, Machine

ROWS = 200


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Compares every answer with a look from near; the numbers of both, and of those that differ."""
    counts = {"all": 0, "near": 0, "wrong": 0}
    facts, found = Maintenance._facts, Maintenance._found

    def compared(self: Maintenance, tablet_id: int, tablet: Tablet) -> TabletFacts | None:
        counts["all"] += 1
        said = facts(self, tablet_id, tablet)
        known = self._resting[tablet_id].facts if said is None else said
        minute = (int(self._runtime.clock_seconds()) + 7 * tablet_id) // 60
        from_near = found(self, tablet, minute, bool(self._shared.out_of_space))
        due = from_near.memtable_age_seconds > self._options.flush_age_seconds
        counts["wrong"] += known._replace(memtable_age_seconds=0.0) != from_near._replace(memtable_age_seconds=0.0)
        counts["wrong"] += said is None and due
        return said

    def counted(self: Maintenance, tablet: Tablet, minute: int, full_disk: bool) -> TabletFacts:
        counts["near"] += 1
        return found(self, tablet, minute, full_disk)

    monkeypatch.setattr(Maintenance, "_facts", compared)
    monkeypatch.setattr(Maintenance, "_found", counted)
    return counts


def at_random(machine: Machine, cluster: EmbeddedCluster, chance: random.Random) -> None:
    """One thing that a client may do."""
    admin, table, row = cluster.client.admin, cluster.client.table(b"t"), b"%05d" % chance.randrange(ROWS)
    match chance.randrange(9):
        case 0 | 1:
            table.mutate([machine.put(row, b"v" * chance.choice([10, 3000]))])
        case 2:
            table.mutate([RowMutation(row, [(DELETE_FAMILY, b"f", b"", -1, b"")])])
        case 3:
            table.read_rows([row], EVERYTHING)
        case 4:
            table.scan_page(ScanRequest())
        case 5:
            admin.flush(b"t")
        case 6:
            admin.major_compact(b"t")
        case 7:
            admin.split(b"t", row)
        case _:
            schema = admin.schema(b"t")
            family = FamilySchema(b"f", ttl_seconds=chance.choice([60, FOREVER_SECONDS]))
            admin.alter_table(TableSchema(b"t", {b"f": family}, version=schema.version + 1))


def lived(machine: Machine, seed: int) -> None:
    def life(cluster: EmbeddedCluster) -> None:
        chance = random.Random(seed)
        cluster.client.admin.create_table(machine.schema(), [b"00050", b"00100", b"00150"])
        for _ in range(60):
            try:
                at_random(machine, cluster, chance)
            except HbtableError:
                pass
            machine.runtime.sleep(chance.choice([0.0, 0.1, 0.3, 2.0, 10.0]))

    machine.life(life)


@pytest.mark.parametrize("seed", range(2))
def test_what_is_kept_of_a_tablet_at_rest_is_what_a_look_would_find(looks: dict[str, int], seed: int) -> None:
    lived(Machine(seed), seed)
    assert not looks["wrong"]
    assert looks["near"] < looks["all"] / 2


def test_a_stamp_that_says_too_little_is_found(looks: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tablet, "stamp_at_rest", lambda self: (self._state.keeper.record,))
    lived(Machine(0), 0)
    assert looks["wrong"]


def test_a_hundred_tablets_at_rest_are_looked_at_from_near_once_in_a_minute(looks: dict[str, int]) -> None:
    machine = Machine(1)

    def life(cluster: EmbeddedCluster) -> None:
        cluster.client.admin.create_table(machine.schema(), [b"%05d" % number for number in range(1, 100)])
        machine.runtime.sleep(5.0)
        looks["all"] = looks["near"] = 0
        machine.runtime.sleep(60.0)
        assert not looks["wrong"]
        assert looks["all"] > 100 * 200
        assert looks["near"] < looks["all"] / 20

    machine.life(life)


MANY = 100


def with_a_row_each(machine: Machine, cluster: EmbeddedCluster, number: int = MANY) -> None:
    cluster.client.admin.create_table(machine.schema(), [b"row%06d" % row for row in range(1, number)])
    machine.write(cluster, range(number))


def test_a_hundred_tablets_that_hold_something_in_memory_rest_as_well(looks: dict[str, int]) -> None:
    machine = Machine(2)

    def life(cluster: EmbeddedCluster) -> None:
        with_a_row_each(machine, cluster)
        machine.runtime.sleep(5.0)
        looks["all"] = looks["near"] = 0
        machine.runtime.sleep(60.0)
        assert not looks["wrong"]
        assert looks["all"] > MANY * 200
        assert looks["near"] < looks["all"] / 20

    machine.life(life)


def test_a_look_goes_not_over_all_recovered_tablets_after_each_flush(looks: dict[str, int]) -> None:
    """Each memtable that came from a log is flushed soon. A look at all of them, after each, made the work for a tablet
    grow with their number."""
    machine = Machine(3)
    machine.life(lambda cluster: with_a_row_each(machine, cluster), clean=False)
    looks["near"] = 0

    def life(cluster: EmbeddedCluster) -> None:
        machine.runtime.sleep(5.0)
        assert not any(tablet.needs_old_logs for tablet in cluster.server._online_tablets.tablets.values())
        assert looks["near"] < 12 * MANY, looks

    machine.life(life)


def a_quiet_memtable(machine: Machine, cluster: EmbeddedCluster) -> Tablet:
    """A tablet at rest, with something in memory, of table `q`."""
    cluster.client.admin.create_table(machine.schema(b"q"))
    machine.write(cluster, range(20), name=b"q")
    machine.runtime.sleep(2.0)
    maintenance = cluster.server._maintenance
    (record,) = cluster.client.admin.tablets(b"q")
    assert record.tablet_id in maintenance._resting
    tablet = cluster.server._online_tablets.tablets[record.tablet_id]
    assert tablet.memtable_bytes
    return tablet


def test_a_memtable_at_rest_is_flushed_when_it_is_old() -> None:
    maintenance = replace(SMALL.server.maintenance, flush_age_seconds=33.0)
    machine = Machine(4, replace(SMALL, server=replace(SMALL.server, maintenance=maintenance)))

    def life(cluster: EmbeddedCluster) -> None:
        tablet = a_quiet_memtable(machine, cluster)
        machine.runtime.sleep(30.0)
        assert tablet.memtable_bytes
        machine.runtime.sleep(2.0)
        assert not tablet.memtable_bytes

    machine.life(life)


@pytest.mark.parametrize("bound", ["total_memtable_bytes", "log_bytes"])
def test_memtables_at_rest_are_flushed_when_all_together_or_the_log_are_too_large(bound: str) -> None:
    small = replace(SMALL.server.maintenance, **{bound: 100_000})
    tablets = replace(SMALL.server.tablet, memtable_bytes=90_000)
    machine = Machine(5, replace(SMALL, server=replace(SMALL.server, maintenance=small, tablet=tablets)))

    def life(cluster: EmbeddedCluster) -> None:
        cluster.client.admin.create_table(machine.schema(b"u", b"f"))
        machine.write(cluster, range(200), name=b"u")
        tablet = a_quiet_memtable(machine, cluster)
        for number in range(30):
            cluster.client.admin.create_table(machine.schema(b"t%d" % number))
            machine.write(cluster, range(60), name=b"t%d" % number)
        machine.runtime.sleep(5.0)
        (large,) = cluster.client.admin.tablets(b"u")
        assert not cluster.server._online_tablets.tablets[large.tablet_id].memtable_bytes
        assert bound == "total_memtable_bytes" or not tablet.memtable_bytes

    machine.life(life)
