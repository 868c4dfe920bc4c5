"""A seeded slice of the damage campaign: each kind of file and damage, never a wrong answer, always a way back."""

import logging
import random

import pytest

from hbtable.fs.interface import HDFS, LOCAL, WEBHDFS
from tests.campaigns.damage import Case, Outcome, cases, check, run_case, table
from tests.campaigns.damage_life import Life, live
from tests.campaigns.damage_store import ZOOKEEPER
from tests.harness.tiers import taking_turns

pytestmark = pytest.mark.usefixtures("quiet")  # each damage is logged

SEED = 20261122
CASES_OF_A_KIND = 1


IN_TURNS = [(kind, stopped) for kind in (HDFS, WEBHDFS) for stopped in (True, False)]
FOLDERS = [(LOCAL, True), (LOCAL, False), *taking_turns(IN_TURNS, 4)]
"""A single server's folder, and those of a cluster with its lock service, for 40 s of the processor each."""


def named(folder: tuple[str, bool]) -> str:
    kind, stopped = folder
    return f"{kind} {'stopped' if stopped else 'killed'}"


@pytest.fixture(scope="module", params=FOLDERS, ids=named)
def life(request: pytest.FixtureRequest) -> Life:
    logging.disable(logging.CRITICAL)
    kind, stopped = request.param
    return live(SEED, stopped, kind)


def some_of_each_kind(life: Life) -> list[Case]:
    groups: dict[tuple[str, str], list[Case]] = {}
    chance = random.Random(SEED)
    for case in cases(life, chance, 1):
        groups.setdefault((case.kind(), case.damage), []).append(case)
    return [case for group in groups.values() for case in chance.sample(group, min(CASES_OF_A_KIND, len(group)))]


@pytest.mark.slow
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


@pytest.mark.slow
def test_damage_is_noticed_never_served_and_repaired(life: Life) -> None:
    assert check(life.disk, 1, life.kind) == []
    outcomes: list[Outcome] = []
    for number, case in enumerate(some_of_each_kind(life)):
        outcomes.append(run_case(life, case, SEED + 100 * number))
    print("\n".join(table(outcomes)))
    faults = {f"{one.case.path} {one.case.damage}": one.faults for one in outcomes if one.faults}
    assert not faults
