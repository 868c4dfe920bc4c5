"""A slice of the simulation campaign: `make verify` runs more, `make sim` 200 schedules."""

import pytest

from hbtable.errors import HbtableError
from tests.campaigns.simulation import Schedule
from tests.harness.fresh_seed import fresh_seed
from tests.harness.tiers import quick_first, taking_turns

pytestmark = pytest.mark.usefixtures("quiet")


@pytest.mark.parametrize("seed", quick_first(range(1, 21), 1, 2))
def test_nothing_acknowledged_is_lost_when_the_power_goes(seed: int) -> None:
    assert acknowledged_and_kept(seed) > 0


@pytest.mark.parametrize("beyond", taking_turns(range(0, 30, 10), 3))
def test_nothing_acknowledged_is_lost_at_moments_that_no_run_has_seen_before(beyond: int) -> None:
    first = fresh_seed() + beyond
    assert sum(acknowledged_and_kept(seed) for seed in range(first, first + 10)) > 0


def acknowledged_and_kept(seed: int) -> int:
    """How many operations were; AssertionError with the seed when one was not kept."""
    schedule = Schedule(seed, break_sync=False)
    schedule.run()
    return sum(worker.promises.acknowledged for worker in schedule.workers)


def test_a_broken_order_of_sync_and_acknowledgement_is_found() -> None:
    def all_seeds() -> None:
        for seed in range(1, 21):
            Schedule(seed, break_sync=True).run()

    with pytest.raises((AssertionError, HbtableError)):
        all_seeds()
