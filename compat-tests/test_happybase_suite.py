"""happybase 1.3.0's own test suite against one server, for every HBase version it knows."""

from pathlib import Path

import pytest

from tests.harness import happybase_suite
from tests.harness.tiers import crossed, taking_turns

CASES = crossed(["0.90", "0.92", "0.94", "0.96", "0.98"], ["buffered", "framed"])


@pytest.mark.parametrize(("compat", "transport"), taking_turns(CASES, 2))
def test_happybase_own_suite(address: tuple[str, int], tmp_path: Path, compat: str, transport: str) -> None:
    happybase_suite.passes(address, tmp_path, compat, transport)


@pytest.mark.parametrize("library", [happybase_suite.CONNECTS, happybase_suite.OPENS], ids=["connect", "open"])
def test_happybase_own_suite_over_the_library(address: tuple[str, int], tmp_path: Path, library: str) -> None:
    happybase_suite.passes(address, tmp_path, "0.98", "buffered", library)
