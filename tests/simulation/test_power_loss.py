"""A slice of the simulation campaign; `make sim` runs 200 schedules."""

import logging
from collections.abc import Iterator

import pytest

from hbtable.errors import HbtableError
from tests.campaigns.simulation import Schedule


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("seed", range(1, 21))
def test_nothing_acknowledged_is_lost_when_the_power_goes(seed: int) -> None:
    schedule = Schedule(seed, break_sync=False)
    schedule.run()
    assert sum(worker.promises.acknowledged for worker in schedule.workers) > 0


def test_a_broken_order_of_sync_and_acknowledgement_is_found() -> None:
    def all_seeds() -> None:
        for seed in range(1, 21):
            Schedule(seed, break_sync=True).run()

    with pytest.raises((AssertionError, HbtableError)):
        all_seeds()
