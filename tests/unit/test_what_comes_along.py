"""What docs/manual/production.md says of the packages that hbtable brings along."""

import re
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.harness.commands import ROOT

PAGE = Path(ROOT, "docs", "manual", "production.md").read_text()


def brought_along() -> set[str]:
    """All that is installed with hbtable and without an extra."""
    found: set[str] = set()
    new = ["hbtable"]
    while new:
        name = canonicalize_name(new.pop())
        if name not in found:
            found.add(name)
            needs = map(Requirement, distribution(name).requires or ())
            new.extend(need.name for need in needs if need.marker is None or need.marker.evaluate({"extra": ""}))
    return found - {"hbtable"}


def test_the_page_counts_the_packages() -> None:
    """Their newer versions may need one more or less: these two are no reason to change the page."""
    said = re.search(r"It brings (\d+) packages along", PAGE)
    assert said is not None
    assert abs(int(said[1]) - len(brought_along())) <= 2, sorted(brought_along())


def test_whose_commands_come_with_ours_is_said() -> None:
    others = {
        name
        for name in brought_along()
        if any(entry.group == "console_scripts" for entry in distribution(name).entry_points)
    }
    said = re.search(r"Some of them \((.*?)\) have commands", PAGE)
    assert said is not None
    assert others == set(said[1].split(", "))
