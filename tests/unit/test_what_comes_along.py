"""What docs/manual/production.md says of the packages that hbtable brings along."""

import re
from importlib.metadata import distribution
from pathlib import Path

import pytest
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


def test_the_page_says_how_large_they_are() -> None:
    """Within a fifth, as they grow from release to release."""
    said = re.search(r"packages along: (\d+) MB together, .* hbtable itself is (\d+) MB", PAGE)
    assert said is not None
    own = sum(path.stat().st_size for path in Path(ROOT, "hbtable").rglob("*") if path.is_file() and is_counted(path))
    others = sum(
        path.stat().st_size
        for name in brought_along()
        for file in distribution(name).files or ()
        if is_counted(path := Path(str(file.locate()))) and path.exists()
    )
    assert own / 1e6 == pytest.approx(int(said[2]), abs=1.0)
    assert (own + others) / 1e6 == pytest.approx(int(said[1]), rel=0.2)


def is_counted(path: Path) -> bool:
    return path.suffix != ".pyc"


def test_whose_commands_come_with_ours_is_said() -> None:
    others = {
        name
        for name in brought_along()
        if any(entry.group == "console_scripts" for entry in distribution(name).entry_points)
    }
    said = re.search(r"Some of them \((.*?)\) have commands", PAGE)
    assert said is not None
    assert others == set(said[1].split(", "))
