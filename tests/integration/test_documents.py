"""Runs every block of the documents as a reader would: Python, commands, and what they print."""

import re
from pathlib import Path

import pytest

import hbtable.errors
from tests.harness.commands import ROOT, run_python
from tests.harness.document_blocks import Block, PageRun, blocks_of
from tests.harness.tiers import taking_turns

pytestmark = pytest.mark.integration

DOCS = Path(ROOT, "docs")
LIBRARY = [block for block in blocks_of(DOCS / "library.md") if block.language == "python"]
DATA = [
    pytest.param(block, marks=[pytest.mark.verify] if re.search("dask|polars", block.text) else [])
    for block in blocks_of(DOCS / "data.md")
    if block.language == "python" and not re.search("pyspark|import ray|apache_beam", block.text)
]
"""Engines are heavy, and installed for `make verify` alone; tests of Spark, Ray and Beam run theirs."""
FIRST_PAGES = [DOCS / "manual" / f"{name}.md" for name in ("tutorial", "concepts", "programs", "errors")]
PAGES = sorted({*(DOCS / "manual").glob("*.md")} - {*FIRST_PAGES, DOCS / "manual" / "api.md"})
EXAMPLES = sorted(page.parent.name for page in Path(ROOT, "examples").glob("*/README.md"))
RECORDING = DOCS / "pictures" / "recording.txt"


@pytest.mark.parametrize("block", LIBRARY, ids=lambda block: f"line{block.line}")
def test_a_block_of_the_library_runs_by_itself(block: Block, tmp_path: Path) -> None:
    done = run_python(block.text, str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("block", DATA, ids=lambda block: f"line{block.line}")
def test_a_block_about_jobs_runs_by_itself(block: Block, tmp_path: Path) -> None:
    done = run_python(block.text, str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("page", [*FIRST_PAGES, *taking_turns([*PAGES, RECORDING], 2)], ids=lambda page: page.stem)
def test_a_page_of_the_manual_runs_from_its_top_to_its_end(page: Path, tmp_path: Path) -> None:
    with PageRun(page, tmp_path) as run:
        for block in blocks_of(page):
            run.run(block)


@pytest.mark.parametrize("example", taking_turns(EXAMPLES, 2))
def test_the_page_of_an_example_runs_from_its_top_to_its_end(example: str, tmp_path: Path) -> None:
    page = Path(ROOT, "examples", example, "README.md")
    (tmp_path / "examples").symlink_to(page.parents[1])
    with PageRun(page, tmp_path) as run:
        for block in blocks_of(page):
            run.run(block)


@pytest.mark.parametrize(
    ("block", "what"),
    [
        ("```python\nprint(1)\n```\n```output\n2\n```\n", "page.md:4: it printed\n1"),
        ("```python\nnothing\n```\n", "NameError"),
        ("```console\n$ echo one; echo two\none\n```\n", "exit 0. printed\none\ntwo"),
        ("```console\n$ false &\nserving\n```\n", "false & ended"),
    ],
)
def test_a_block_that_does_something_else_is_noticed(block: str, what: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(block)
    with PageRun(page, tmp_path) as run:
        *before, last = blocks_of(page)
        for each in before:
            run.run(each)
        with pytest.raises(AssertionError, match=what):
            run.run(last)


def test_the_page_of_errors_names_each_class() -> None:
    listed = set(re.findall(r"`(\w+)`", (DOCS / "manual" / "errors.md").read_text().partition("## Examples")[0]))
    kinds = {name for name in hbtable.__all__ if hasattr(hbtable.errors, name)}
    assert kinds - {"HbtableError"} <= listed


def test_every_page_is_in_the_table_of_contents() -> None:
    contents = (DOCS / "index.md").read_text().splitlines()
    pages = {
        str(page.relative_to(DOCS).with_suffix(""))
        for folder in (DOCS, DOCS / "manual")
        for page in folder.glob("*.md")
    }
    assert pages - {"index"} == pages & set(contents)
