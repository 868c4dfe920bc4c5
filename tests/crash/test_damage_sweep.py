"""A seeded slice of the damage campaign: each kind of file and damage, never a wrong answer, always a way back."""

import logging
import random

import pytest

from hbtable.fs.interface import HDFS, WEBHDFS
from tests.campaigns.damage import Case, Outcome, cases, check, run_case, table
from tests.campaigns.damage_life import Life, live
from tests.campaigns.damage_store import ZOOKEEPER
from tests.harness.tiers import taking_turns

pytestmark = pytest.mark.usefixtures("quiet")  # each damage is logged

SEED = 20261122
CASES_OF_A_KIND = 1


PARTS = 4
OF_ONE_SERVER = ["local stopped", "local killed"]
OF_CLUSTERS = [f"{kind} {how}" for kind in (HDFS, WEBHDFS) for how in ("stopped", "killed")]
"""With their lock services; to damage each file takes 40 s of the processor."""
CELLS = [
    *(pytest.param(folder, 0, marks=pytest.mark.slow) for folder in OF_ONE_SERVER),
    *taking_turns([pytest.param(folder, part) for folder in OF_ONE_SERVER for part in range(1, PARTS)], 6),
    *taking_turns([pytest.param(folder, part) for folder in OF_CLUSTERS for part in range(PARTS)]),
]
"""Folders, and parts of the damages done to each."""


@pytest.fixture(scope="module")
def life(request: pytest.FixtureRequest) -> Life:
    logging.disable(logging.CRITICAL)
    kind, how = request.param.split()
    return live(SEED, how == "stopped", kind)


def some_of_each_kind(life: Life) -> list[Case]:
    groups: dict[tuple[str, str], list[Case]] = {}
    chance = random.Random(SEED)
    for case in cases(life, chance, 1):
        groups.setdefault((case.kind(), case.damage), []).append(case)
    return [case for group in groups.values() for case in chance.sample(group, min(CASES_OF_A_KIND, len(group)))]


@pytest.mark.parametrize(
    "life",
    [pytest.param(OF_ONE_SERVER[0], marks=pytest.mark.slow), *taking_turns([OF_ONE_SERVER[1], *OF_CLUSTERS], 5)],
    indirect=True,
)
def test_every_record_that_the_root_tablet_ever_had_may_be_put_back(life: Life) -> None:
    """From a backup of any moment, also of the one before the last change, in which a crash leaves the record, too."""
    faults = {}
    for path in ("lockservice/files/root-tablet", f"{ZOOKEEPER}/root-tablet", "metadata/root-tablet"):
        for number, content in enumerate(life.versions.get(path, [])):
            if content != bytes(life.disk.files[path].content):
                outcome = run_case(life, Case(path, f"version {number}", content), SEED + 50 * number)
                faults[path, number] = outcome.faults
    assert len(faults) > 10
    assert not {where: found for where, found in faults.items() if found}


@pytest.mark.parametrize(("life", "part"), CELLS, indirect=["life"])
def test_damage_is_noticed_never_served_and_repaired(life: Life, part: int) -> None:
    assert check(life.disk, 1, life.kind) == []
    outcomes: list[Outcome] = []
    for number, case in [*enumerate(some_of_each_kind(life))][part::PARTS]:
        outcomes.append(run_case(life, case, SEED + 100 * number))
    print("\n".join(table(outcomes)))
    assert len(outcomes) > 5
    faults = {f"{one.case.path} {one.case.damage}": one.faults for one in outcomes if one.faults}
    assert not faults
