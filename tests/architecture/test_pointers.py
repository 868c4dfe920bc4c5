"""What comments point at exists: bug classes, documents and their headings, sections of the paper."""

import re
from functools import cache
from pathlib import Path

from tests.harness import planted_bugs, sim_bugs
from tests.harness.planted_bugs import PLANTED
from tests.harness.sim_bugs import BUGS
from tests.simulation.test_cluster import ENOUGH

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(
    path for folder in ("hbtable", "tests", "compat-tests", "cluster-tests") for path in (ROOT / folder).rglob("*.py")
)

BUG_CLASS = re.compile(r"bug class(?:es)? (\d+)(?: and (\d+))?")
DOCUMENT = re.compile(r"(docs/[\w/.-]+\.md)(?:: ([A-Za-z' ]+))?")
OUTSIDE = re.compile(
    r"storage-and-faults|\breference(: |[ /])(\d|hbase-|libraries)|\bdesign(\.md)?,? section|operations \d\.\d"
)
NAMED = re.compile(r"\]\((?:\.\./)+(\S+\.py)\),? `([\w.]+)`")
"""A name behind the link to the file that has it."""
ROW = re.compile(r"^\| (\d+) \|(.*)\|$", re.MULTILINE)
PLANTED_LINE = re.compile(r"^    (\w+) +(\d+)   ", re.MULTILINE)
SECTIONS = {"1", "2", "3", "4", "5", "5.1", "5.2", "5.3", "5.4", "6", "7", "8", "8.1", "8.2", "8.3", "9", "10", "11"}
PAPER = re.compile(r"paper, (?:sections? )?(\d+(?:\.\d+)?)")


def bug_classes() -> dict[str, list[str]]:
    rows = ROW.findall((ROOT / "docs/bug-classes.md").read_text())
    return {number: [cell.strip() for cell in cells.split("|")] for number, cells in rows}


def test_every_pointer_in_code_resolves() -> None:
    classes = set(bug_classes())
    found = {
        str(path.relative_to(ROOT)): wrong
        for path in SOURCES
        if path != Path(__file__) and (wrong := wrong_pointers(path.read_text(), classes))
    }
    assert found == {}


def wrong_pointers(text: str, classes: set[str]) -> list[str]:
    """Pointers of this text that resolve to nothing; `classes`: the numbers of docs/bug-classes.md."""
    text = " ".join(text.split())
    wrong = [
        f"{found[0]!r} is not in docs/bug-classes.md"
        for found in BUG_CLASS.finditer(text)
        if not set(filter(None, found.groups())) <= classes
    ]
    for path, heading in DOCUMENT.findall(text):
        if not (ROOT / path).exists():
            wrong.append(f"{path} does not exist")
        elif heading and not any(one.startswith(heading.lower()) for one in headings(path)):
            wrong.append(f"{path} has no {heading!r}")
    wrong += [f"the paper has no section {section}" for section in PAPER.findall(text) if section not in SECTIONS]
    if outside := OUTSIDE.search(text):
        wrong.append(f"{outside[0]!r} is not in this repository: bring what it says into docs/")
    return wrong


@cache
def headings(path: str) -> list[str]:
    lines = (ROOT / path).read_text().splitlines()
    return [line.lstrip("# ").lower() for line in lines if line.startswith("#")]


def test_a_wrong_pointer_is_found() -> None:
    known = {"1", "2"}
    assert wrong_pointers("bug class 2; docs/faults.md; docs/testing.md: Bytecode; paper, section 5.3", known) == []
    assert len(wrong_pointers("bug class 3, and bug classes 1 and 4", known)) == 2
    assert len(wrong_pointers("docs/nowhere.md, docs/testing.md: Nonsense", known)) == 2
    assert len(wrong_pointers("paper, section 12; design, section 7", known)) == 2


def test_what_a_document_names_behind_a_link_is_in_that_file() -> None:
    texts = {str(path.relative_to(ROOT)): path.read_text() for path in (ROOT / "docs").rglob("*.md")}
    assert {path: wrong for path, text in texts.items() if (wrong := wrong_names(text))} == {}
    assert wrong_names("[writing.py](../hbtable/tablet/writes/writing.py), `TabletWriter.mutate`") == []
    assert len(wrong_names("[writing.py](../hbtable/tablet/writes/writing.py),\n`Writer.mutate`")) == 1


def wrong_names(text: str) -> list[str]:
    return [
        f"{path} has no {name}"
        for path, name in NAMED.findall(" ".join(text.split()))
        for part in name.split(".")
        if not re.search(rf"^\s*(?:(?:class|def) {part}\b|{part}\b *[:=])", (ROOT / path).read_text(), re.MULTILINE)
    ]


def test_every_bug_class_is_kept_in_a_file_and_found_by_a_file() -> None:
    rows = bug_classes()
    assert list(rows) == [str(number) for number in range(1, len(rows) + 1)]
    for number, (_, _, kept_in, _, found_by) in rows.items():
        assert (ROOT / kept_in).exists(), f"class {number}: {kept_in} does not exist"
        for path in found_by.split(", "):
            assert (ROOT / path).exists(), f"class {number}: {path} does not exist"


def test_every_bug_class_has_a_planted_bug_and_a_test_that_finds_it() -> None:
    """The modules say of each planted bug of which class it is, and so does the document."""
    of_class = {row[3]: number for number, row in bug_classes().items()}
    assert "-" not in of_class, f"class {of_class['-']} has no planted bug"
    for module, bugs in ((sim_bugs, BUGS), (planted_bugs, PLANTED)):
        said = dict(PLANTED_LINE.findall(module.__doc__ or ""))
        assert said.keys() == bugs.keys(), f"the bugs of {module.__name__} are not those that its docstring lists"
        assert said.items() <= of_class.items(), f"docs/bug-classes.md and {module.__name__} differ"
    assert of_class.keys() == BUGS.keys() | PLANTED.keys()
    assert ENOUGH.keys() == BUGS.keys(), "test_cluster.py looks for other bugs than those of sim_bugs.py"
    for bug, number in of_class.items():
        found_by, *_ = bug_classes()[number][4].split(", ")
        assert plants(ROOT / found_by, bug), f"{found_by} does not look for {bug!r}"


def plants(test: Path, bug: str) -> bool:
    """Whether this test puts the bug in the place of a right part. test_cluster.py does with every bug of ENOUGH."""
    if bug in PLANTED:
        return f'is_found("{bug}"' in test.read_text()
    return test.name == "test_cluster.py" or f'"{bug}").with_loss' in test.read_text()
