"""A slice of the campaign damaged_lives: one server's store, damaged between its lives, again and again.

`make damaged-lives` runs many more, by a seed that changes. What must hold is said there; the bugs that are planted
for it are in tests/harness/store_damage_bugs.py.
"""

from collections import Counter

import pytest

from tests.campaigns.damaged_lives import DamagedLives
from tests.harness.store_damage import KINDS
from tests.harness.store_damage_bugs import STORE_DAMAGE_BUGS, planted
from tests.harness.tiers import long_test, quick_first, taking_turns

pytestmark = pytest.mark.usefixtures("quiet")  # each damage is logged

SEEDS = range(800_000, 800_040)
ENOUGH = 100
"""Seeds within which each planted bug must be found."""


@pytest.mark.parametrize("seed", quick_first(range(3), 1))
def test_some_lives(seed: int) -> None:
    DamagedLives(seed).run()


@long_test("each kind of damage to a store")
def test_each_kind_of_damage() -> None:
    total: Counter[str] = Counter()
    for number, kind in enumerate(KINDS):
        for seed in range(100 * number, 100 * number + 20):
            total += DamagedLives(seed, (kind,)).run()
            if total[f"damaged: {kind}"]:
                break  # else there was nothing of the kind
        assert total[f"damaged: {kind}"], f"twenty seeds without {kind}"
    # Runs in which everything is closed, or nothing is, would prove little.
    assert total["damaged again"] > 0
    assert total["rows refused"] > 50
    assert total["rows read"] > 300
    assert total["written"] > 300
    assert min(total[chore] for chore in ("drop", "add", "regroup", "split", "compact", "new tables")) > 0


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(107, id="the damaged last block of a METADATA SSTable"),
        pytest.param(1016, id="cells that a repair saved, of a clock that was ahead"),
        pytest.param(3264, id="writes beside a file that cannot be opened, of a clock that was ahead"),
    ],
)
def test_seeds_that_found_a_defect(seed: int) -> None:
    DamagedLives(seed).run()


@pytest.mark.parametrize("first", taking_turns(SEEDS[::5]))
def test_many_lives(first: int) -> None:
    for seed in range(first, first + 5):
        DamagedLives(seed).run()


@pytest.mark.parametrize("name", taking_turns(sorted(STORE_DAMAGE_BUGS), 4))
def test_a_planted_bug_is_found_and_the_same_seed_without_it_is_clean(name: str) -> None:
    bug = STORE_DAMAGE_BUGS[name]
    for seed in range(1, ENOUGH + 1):
        try:
            with planted(bug):
                DamagedLives(seed, bug.kinds).run()
        except AssertionError as found:
            print(f"{name}: found after {seed} seeds: {str(found)[:300]}")
            DamagedLives(seed, bug.kinds).run()
            return
    pytest.fail(f"{name} was not found in {ENOUGH} seeds")
