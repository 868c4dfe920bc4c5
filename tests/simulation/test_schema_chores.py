"""A cluster under faults while an operator changes the table's schema: promises as in test_cluster.py, and those of a
family that is dropped and added again and again (harness/sim_schema_chores.py)."""

from collections import Counter
from functools import partial

import pytest

from tests.harness.sim_schedule import run_seed
from tests.harness.sim_seeds import outcomes
from tests.harness.tiers import quick_first

SEEDS = range(60000, 60016)
CHORES = ("family", "family", "regroup", "read_only", "split", "move", "compact")
FAULTS = ("kill", "cut", "pause", "expire", "island")
"""Not those that carry a call out long after its caller gave up: a late write belongs to the family of its day."""


@pytest.mark.parametrize("seeds", quick_first([SEEDS[:4], SEEDS[4:]], 0, 1))
def test_families_come_and_go_while_servers_fail(seeds: range) -> None:
    total: Counter[str] = Counter()
    for outcome in outcomes(partial(run_seed, chores=CHORES, kinds=FAULTS, gap_seconds=1.5), seeds):
        assert not outcome.violations, f"seed {outcome.seed}: {outcome.violations[0]}"
        total += outcome.count
    print(dict(total))
    for kind in set(CHORES):
        assert total[f"chore: {kind} done"], f"no {kind} in {len(seeds)} seeds"
