"""What comments point at exists: bug classes, documents and their headings, sections of the paper."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(
    path for folder in ("hbtable", "tests", "compat-tests", "cluster-tests") for path in (ROOT / folder).rglob("*.py")
)
NAMES = [str(path.relative_to(ROOT)) for path in SOURCES if path != Path(__file__)]

BUG_CLASS = re.compile(r"bug class(?:es)? (\d+)(?: and (\d+))?")
DOCUMENT = re.compile(r"(docs/[\w/.-]+\.md)(?:: ([A-Za-z' ]+))?")
OUTSIDE = re.compile(
    r"storage-and-faults|\breference[ /](\d|hbase-|libraries)|\bdesign(\.md)?,? section|operations \d\.\d"
)
ROW = re.compile(r"^\| (\d+) \|(.*)\|$", re.MULTILINE)
SECTIONS = {"1", "2", "3", "4", "5", "5.1", "5.2", "5.3", "5.4", "6", "7", "8", "8.1", "8.2", "8.3", "9", "10", "11"}
PAPER = re.compile(r"paper, (?:sections? )?(\d+(?:\.\d+)?)")


def bug_classes() -> dict[str, list[str]]:
    rows = ROW.findall((ROOT / "docs/bug-classes.md").read_text())
    return {number: [cell.strip() for cell in cells.split("|")] for number, cells in rows}


@pytest.mark.parametrize("name", NAMES)
def test_every_pointer_in_code_resolves(name: str) -> None:
    text = " ".join((ROOT / name).read_text().split())
    for found in BUG_CLASS.finditer(text):
        assert set(filter(None, found.groups())) <= set(bug_classes()), f"{found[0]!r} is not in docs/bug-classes.md"
    for path, heading in DOCUMENT.findall(text):
        assert (ROOT / path).exists(), f"{path} does not exist"
        headings = [line.lstrip("# ") for line in (ROOT / path).read_text().splitlines() if line.startswith("#")]
        assert not heading or any(heading.lower().startswith(one.lower()) for one in headings), (
            f"{path} has no {heading!r}"
        )
    for section in PAPER.findall(text):
        assert section in SECTIONS, f"the paper has no section {section}"
    outside = OUTSIDE.search(text)
    assert outside is None, f"{outside and outside[0]!r} is not in this repository: bring what it says into docs/"


def test_the_table_of_bug_classes_is_the_codes() -> None:
    rows = bug_classes()
    assert list(rows) == [str(number) for number in range(1, len(rows) + 1)]
    bugs = (ROOT / "tests/harness/sim_bugs.py").read_text()
    planted = set(re.findall(r'^    "(\w+)": Bug\(', bugs, re.MULTILINE))
    for number, (_, _, kept_in, bug, found_by) in rows.items():
        assert (ROOT / kept_in).exists(), f"class {number}: {kept_in} does not exist"
        assert (ROOT / found_by).exists(), f"class {number}: {found_by} does not exist"
        assert bug == "-" or bug in planted, f"class {number}: sim_bugs.py plants no {bug!r}"
    named = {row[3] for row in rows.values()} - {"-"}
    assert planted - named == set(), "name these planted bugs in docs/bug-classes.md"
