"""Documents that must not fall behind the code."""

import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_every_accepted_deviation_is_explained() -> None:
    rules = json.loads((ROOT / "compat-tests" / "recorded" / "deviations.json").read_text())
    explained = (ROOT / "docs" / "deviations.md").read_text()
    assert [rule["id"] for rule in rules if f"`{rule['id']}`" not in explained] == []
