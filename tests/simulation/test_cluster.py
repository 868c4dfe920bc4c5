"""A whole cluster under seeded faults: what must hold is in harness/sim_schedule.py; here are the seeds of every run.

`make test-quick` runs a handful, `make test` 25, `make verify` those that find the planted bugs, and up to 120
that no run has seen before. `make cluster-sim` runs 2,000 of these.
"""

from collections import Counter
from functools import partial

import pytest

from tests.harness.bug_search import found_by
from tests.harness.fresh_seed import fresh_seed
from tests.harness.sim_bugs import BUGS, run_with
from tests.harness.sim_faults import KINDS
from tests.harness.sim_schedule import Outcome, run_seed
from tests.harness.sim_seeds import outcomes, outcomes_within
from tests.harness.tiers import quick_first, taking_turns

SEEDS = 50
FRESH = 120
PROCESSOR_SECONDS = 12.0
"""For each twenty of the fresh seeds: about half of them."""
ENOUGH = {
    "marker": 60,
    "released": 150,
    "redo": 20,
    "retry": 30,
    "apart": 20,
    "hasty": 60,
    "sync": 20,
    "lease": 60,
    "beside": 200,
    "believing": 30,
    "reborn": 30,
    "changed": 20,
    "trusted": 20,
    "ungiven": 60,
}
"""Seeds within which each bug must be found: about ten times as many as it takes in the mean, because every change of
the program makes other schedules of the same seeds."""
LIKELY = {"beside": 1005, "released": 1006}
"""The seed by which a bug was found last that is not found soon: it is tried first."""
DONE = (
    "splits",
    "minor compactions",
    "merging compactions",
    "balancer at work",
    "chore: move done",
    "chore: split done",
    "chore: compact done",
    "chore: balance done",
    "chore: stop done",
    "ended: stopped",
    "ended: gave up",
    "changed: seen",
    "changed: in memory",
)


def kept_its_promises(outcome: Outcome) -> None:
    replay = f"python -m tests.campaigns.cluster_simulation --seeds 1 --seed {outcome.seed}"
    assert not outcome.violations, f"{outcome.violations[0]}\n{replay}"


def test_a_handful_of_seeds() -> None:
    for outcome in outcomes(run_seed, range(1000, 1004)):
        kept_its_promises(outcome)


@pytest.mark.parametrize("seeds", quick_first([SEEDS // 2, SEEDS], 0, 1))
def test_a_cluster_keeps_its_promises_under_faults(seeds: int) -> None:
    total: Counter[str] = Counter()
    for outcome in outcomes(run_seed, range(seeds)):
        kept_its_promises(outcome)
        total += outcome.count
    print(dict(total))
    for kind in KINDS:
        assert total[f"fault: {kind}"], f"{seeds} seeds without {kind}"
    for what in DONE:
        assert total[what], f"{seeds} seeds without {what}"
    assert any(name.startswith("late: ") and total[name] for name in total), (
        "nothing came after its caller had given up"
    )
    # Runs in which little happened, or little could be said of it, would prove little.
    assert total["answered"] > 100 * seeds
    assert total["undecided rows"] < seeds // 5


@pytest.mark.parametrize("beyond", taking_turns(range(0, FRESH, 20), 3))
def test_a_cluster_keeps_its_promises_under_faults_that_no_run_has_seen_before(beyond: int) -> None:
    first = fresh_seed() + beyond
    for outcome in outcomes_within(run_seed, range(first, first + 20), PROCESSOR_SECONDS):
        kept_its_promises(outcome)


@pytest.mark.slow
def test_a_seed_runs_the_same_way_each_time() -> None:
    first, second = outcomes(run_seed, (17, 17))
    assert first.fingerprint == second.fingerprint
    assert first.count == second.count


@pytest.mark.parametrize("first", quick_first(range(2, 34, 4), 0, 1))
def test_a_cluster_keeps_its_promises_over_the_adapters_fakes(first: int) -> None:
    for outcome in outcomes(partial(run_seed, fakes=True), range(first, first + 4)):
        assert not outcome.violations, f"seed {outcome.seed}: {outcome.violations[0]}"


@pytest.mark.parametrize("name", taking_turns(sorted(ENOUGH), 4))
def test_a_known_bug_is_found_and_the_same_seed_without_it_is_clean(name: str) -> None:
    outcome = found_by(partial(run_with, name), LIKELY.get(name, 0), ENOUGH[name])
    assert outcome is not None, f"{name} was not found in {ENOUGH[name]} seeds"
    print(f"{name} (of {len(BUGS)}): found by seed {outcome.seed}: {outcome.violations[0][:300]}")
    (without,) = outcomes(partial(run_with, name, on=False), (outcome.seed,))
    assert not without.violations
