"""Documents that must not fall behind the code."""

import itertools
import json
import re
import tomllib
from pathlib import Path

import pytest

from hbtable.launch.config.cluster_configuration import CLUSTER_DEFAULTS, CLUSTER_SECTIONS, example_file
from hbtable.launch.config.configuration import Defaults, keys_of, load
from hbtable.launch.config.example_configuration import example
from hbtable.launch.config.sections import SECTIONS

ROOT = Path(__file__).resolve().parents[2]


def test_every_accepted_deviation_is_explained() -> None:
    rules = json.loads((ROOT / "compat-tests" / "recorded" / "deviations.json").read_text())
    explained = (ROOT / "docs" / "deviations.md").read_text()
    assert [rule["id"] for rule in rules if f"`{rule['id']}`" not in explained] == []


@pytest.mark.parametrize(
    ("file", "text", "option"),
    [("hbtable.toml", example(SECTIONS), ""), ("cluster.toml", example_file(), "--cluster ")],
)
def test_the_example_configuration_is_up_to_date(file: str, text: str, option: str) -> None:
    shown = (ROOT / "conf" / file).read_text()
    assert shown == text, f"run: hbtable config {option}--example > conf/{file}"


@pytest.mark.parametrize(
    ("file", "sections", "defaults"),
    [("hbtable.toml", SECTIONS, {}), ("cluster.toml", CLUSTER_SECTIONS, CLUSTER_DEFAULTS)],
)
def test_every_key_has_a_message_and_its_commented_default_is_the_default(
    file: str, sections: dict[str, type], defaults: Defaults, tmp_path: Path
) -> None:
    lines = (ROOT / "conf" / file).read_text().splitlines()
    uncommented = tmp_path / "all.toml"
    keys = [line[2:] if " = " in line and line[2:].split(" = ")[0].isidentifier() else line for line in lines]
    uncommented.write_text("\n".join(keys))
    written = tomllib.loads(uncommented.read_text())
    empty = tmp_path / "empty.toml"
    empty.write_text("")
    filled, default = load(sections, str(uncommented), {}), load(sections, str(empty), {}, (), defaults)
    for section, kind in sections.items():
        assert filled.options(section, kind) == default.options(section, kind), section
        assert len(written[section]) == len(keys_of(kind)), section
    for before, line in itertools.pairwise(lines):
        if line.startswith("# ") and line[2:].split(" = ")[0].isidentifier() and " = " in line:
            assert before.startswith("# "), f"no message for {line}"


def test_every_link_between_documents_and_code_leads_somewhere() -> None:
    documents = sorted((ROOT / "docs").rglob("*.md"))
    prose = {page: re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL) for page in documents}
    links = [(page, link) for page in documents for link in re.findall(r"\]\(([^)#]+)\)", prose[page])]
    assert len(links) > 100
    assert [(page.name, link) for page, link in links if "://" not in link and not (page.parent / link).exists()] == []


def test_every_test_that_a_document_names_is_there() -> None:
    folders = (ROOT / "tests", ROOT / "compat-tests", ROOT / "cluster-tests")
    files = [path for folder in folders for path in folder.rglob("test_*.py")]
    there = {path.name for path in files} | {path.stem for path in files}
    there |= {name for path in files for name in re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE)}
    named = [
        (page.name, name)
        for page in sorted((ROOT / "docs").rglob("*.md"))
        for name in re.findall(r"`(test_\w+(?:\.py)?)`", page.read_text())
    ]
    assert len(named) > 40
    assert [one for one in named if one[1] not in there] == []


def test_every_package_has_a_chapter_in_the_architecture() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    packages = [path.parent.name for path in (ROOT / "hbtable").glob("*/__init__.py")]
    assert [package for package in packages if f"### {package}\n" not in text] == []


def test_decisions_are_numbered_without_a_gap() -> None:
    files = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    assert [int(path.name[:4]) for path in files] == list(range(1, len(files) + 1))
    for path in files:
        text = path.read_text()
        assert text.startswith(f"# {int(path.name[:4])}. "), path.name
        assert all(f"**{part}.**" in text for part in ("Context", "Choice", "Price")), path.name
