"""Every call about a wide row answers, and takes no more memory than an answer; `make wide-rows` does it with ten
million cells, and measures."""

from pathlib import Path

import pytest

from tests.campaigns.wide_rows import Bounds, campaign
from tests.harness.tiers import taking_turns

NO_TIMES = Bounds(stretch_seconds=600.0, seek_seconds=600.0, linear_seconds=600.0)


@pytest.mark.integration
@pytest.mark.parametrize("kind", taking_turns(["served", "embedded"], 2))
def test_calls_about_a_wide_row(tmp_path: Path, kind: str) -> None:
    assert campaign(tmp_path, 40_000, 100, kind, "", NO_TIMES, loud=False) == []
