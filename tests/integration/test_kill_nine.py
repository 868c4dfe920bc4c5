"""A slice of the kill -9 campaign; `make crash` runs 50 rounds."""

from pathlib import Path

import pytest

from tests.campaigns.kill_nine import campaign


@pytest.mark.integration
@pytest.mark.parametrize("durability", ["sync", "os"])
def test_acknowledged_operations_survive_kill_nine(tmp_path: Path, durability: str) -> None:
    assert campaign(rounds=3, seed=20061106, durability=durability, folder=tmp_path, loud=False) > 0
