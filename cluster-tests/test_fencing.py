"""Zombies against two fencers on the real HDFS (tests/campaigns/fencing.py, which runs more trials of the same)."""

import pytest

from tests.campaigns.fencing import on_real_servers
from tests.harness.real_servers import HdfsServers
from tests.harness.tiers import taking_turns

TRIALS = 10
"""Of three seconds each. tests/simulation/test_fencing_trials.py has more over fakes of both, in less time."""


def _address(servers: HdfsServers, adapter: str, folder: str) -> str:
    return servers.webhdfs(folder) if adapter == "webhdfs" else servers.hdfs(folder)


@pytest.mark.parametrize("adapter", taking_turns(["webhdfs", "hdfs"], 2))
def test_whatever_a_zombie_acknowledged_is_in_the_manifest(
    hdfs_servers: HdfsServers, own_folder: str, adapter: str
) -> None:
    tally = on_real_servers(_address(hdfs_servers, adapter, own_folder), TRIALS, 1)
    assert tally.acknowledged > 2 * tally.trials
    assert not tally.lost, str(tally)
    assert tally.stopped == tally.trials


@pytest.mark.parametrize("adapter", taking_turns(["webhdfs", "hdfs"], 2))
def test_a_writer_that_does_not_look_for_the_marker_is_caught(
    hdfs_servers: HdfsServers, own_folder: str, adapter: str
) -> None:
    address = _address(hdfs_servers, adapter, own_folder)
    # Chance decides in each trial whether it hits the moment between the end of a file and the look at the marker.
    assert any(on_real_servers(address, 1, seed, "marker").with_loss for seed in range(1, 11))
