"""Zombies against two fencers over the fakes of both remote file systems (tests/campaigns/fencing.py)."""

import pytest

from tests.campaigns.fencing import Tally, on_fake
from tests.harness.tiers import quick_first

FAKES = ["hdfs-fake", "webhdfs-fake"]


def _tally(adapter: str, trials: int, breaks: str = "") -> Tally:
    tally = Tally()
    for seed in range(trials):
        tally.add(on_fake(adapter, seed, breaks))
    return tally


@pytest.mark.parametrize("adapter", quick_first(FAKES, 1))
def test_whatever_a_zombie_acknowledged_is_in_the_manifest(adapter: str) -> None:
    tally = _tally(adapter, 30)
    assert tally.acknowledged > 300
    assert not tally.lost, str(tally)
    assert tally.stopped == tally.trials


@pytest.mark.parametrize("adapter", quick_first(FAKES, 1))
def test_a_writer_that_does_not_look_for_the_marker_is_caught(adapter: str) -> None:
    assert _tally(adapter, 5, "marker").with_loss > 3


def test_a_writer_that_believes_a_201_is_caught() -> None:
    assert _tally("webhdfs-fake", 10, "length").with_loss > 1


def test_a_seed_gives_the_same_trial_again() -> None:
    first, second = on_fake("webhdfs-fake", 3), on_fake("webhdfs-fake", 3)
    assert (first.acknowledged, first.found) == (second.acknowledged, second.found)
