"""A slice of the kill -9 campaign; `make crash` runs 50 rounds."""

from pathlib import Path

import pytest

from tests.campaigns import kill_servers
from tests.campaigns.kill_nine import campaign
from tests.harness.tiers import taking_turns


@pytest.mark.integration
@pytest.mark.parametrize("durability", ["sync", *taking_turns(["os"], 2)])
def test_acknowledged_operations_survive_kill_nine(tmp_path: Path, durability: str) -> None:
    assert campaign(rounds=3, seed=20061106, durability=durability, folder=tmp_path, loud=False) > 0


@pytest.mark.integration
@pytest.mark.slow
def test_acknowledged_operations_survive_the_deaths_of_server_processes_and_of_the_launcher(tmp_path: Path) -> None:
    assert kill_servers.campaign(rounds=6, seed=20061106, durability="sync", folder=tmp_path, loud=False) > 0
