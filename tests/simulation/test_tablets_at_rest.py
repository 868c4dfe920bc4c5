"""Maintenance looks at tablets at rest only in passing, and knows of each what a look from near would say."""

import random

import pytest

from hbtable.errors import HbtableError
from hbtable.launch.embedded_cluster import EmbeddedCluster
from hbtable.model.mutation import DELETE_FAMILY, RowMutation
from hbtable.model.read import EVERYTHING, ScanRequest
from hbtable.model.schema import FOREVER_SECONDS, FamilySchema, TableSchema
from hbtable.tablet.tablet import Tablet
from hbtable.tabletserver.maintenance import Maintenance
from hbtable.tabletserver.maintenance_plan import TabletFacts
from tests.simulation.conftest import Machine

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
        counts["wrong"] += known != found(self, tablet, minute, bool(self._shared.out_of_space))
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
