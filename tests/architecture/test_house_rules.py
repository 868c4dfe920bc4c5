"""House rules that no linter knows: sizes, vocabulary, docstrings, clocks. The message says what to do instead."""

import ast
import re
from pathlib import Path

from tests.architecture.product_trees import ROOT, product_files, product_tree

PRODUCT_FILES = product_files()
EMPTY_WORDS = {"util", "utils", "helper", "helpers", "manager", "common", "misc", "data", "info"}
CLOCKS = re.compile(
    r"\btime\.(time|monotonic|perf_counter|sleep)\(|(?<![\w.])random\.(random|randrange|choice|randint)\("
)
EDGE = ("hbtable/happybase/", "hbtable/hbase/", "hbtable/shell/", "hbtable/library/", "hbtable/dataflow/")
"""Packages that speak to HBase's users in their words."""
LONG_FUNCTIONS = {
    # Every read passes through it for each cell. Cut into a generator of cells and one of rows it takes a third more
    # time for rows of ten cells, and twice as much for rows of one.
    ("hbtable/merge/visibility.py", "rows"): 90,
    # Every compaction passes through it for each cell; what one of a thousand cells needs is in other functions.
    ("hbtable/merge/compacting.py", "compacted"): 80,
}
"""Functions that may be longer than 60 lines, how long, and why."""


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_a_file_is_one_idea() -> None:
    long = {name: length for name, length in map(_length, PRODUCT_FILES) if length > 400}
    assert long == {}, "split it: one idea per file"
    assert [_name(path) for path in PRODUCT_FILES if path.stem in EMPTY_WORDS] == [], "name the idea"


def _length(path: Path) -> tuple[str, int]:
    """Without the marks: docstrings said before what they say."""
    return _name(path), sum(line.strip() != "@switches" for line in path.read_text().splitlines())


def test_the_first_lines_of_a_file_say_what_it_is() -> None:
    assert [_name(path) for path in PRODUCT_FILES if not ast.get_docstring(product_tree(path))] == []


def test_functions_stay_short() -> None:
    long = {
        (_name(path), node.name): length
        for path in PRODUCT_FILES
        for node in ast.walk(product_tree(path))
        if isinstance(node, ast.FunctionDef)
        and (length := _lines(node)) > LONG_FUNCTIONS.get((_name(path), node.name), 60)
    }
    assert long == {}, "give a part of it a name"


def _lines(node: ast.FunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def test_every_long_function_that_is_allowed_is_still_long() -> None:
    for name, function in LONG_FUNCTIONS:
        functions = [node for node in ast.walk(product_tree(ROOT / name)) if isinstance(node, ast.FunctionDef)]
        lengths = [_lines(node) for node in functions if node.name == function]
        assert max(lengths, default=0) > 60, f"take {function} off the list"


def test_region_is_a_word_of_the_edge_only() -> None:
    inside = [path for path in PRODUCT_FILES if not _name(path).startswith(EDGE)]
    found = [_name(path) for path in inside if re.search(r"\bregions?\b", path.read_text(), re.IGNORECASE)]
    assert found == [], "inside, the paper's word is tablet"


def test_public_classes_say_what_they_are() -> None:
    silent = [
        (_name(path), node.name)
        for path in PRODUCT_FILES
        for node in product_tree(path).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and not ast.get_docstring(node)
    ]
    assert silent == [], "give it a docstring"


def test_time_and_chance_come_from_the_runtime() -> None:
    others = [path for path in PRODUCT_FILES if not _name(path).startswith("hbtable/runtime/")]
    found = [_name(path) for path in others if CLOCKS.search(path.read_text())]
    assert found == [], "take it from the Runtime handed in, or the simulation cannot replay it"


def test_no_file_carries_a_machine_path() -> None:
    wrong = re.compile(r"/wor[k]/(main|shared|\.library)|/roo[t]/|Co-Authored[-]By")
    for pattern in ("*.py", "*.md", "*.toml", "*.cfg", "Makefile", "*.thrift"):
        for path in ROOT.rglob(pattern):
            if ".venv" not in path.parts:
                assert not wrong.search(path.read_text(errors="replace")), f"{path} names one machine's folders"


def test_no_file_has_both_sides_of_a_conflict() -> None:
    """Of Markdown nothing else goes red: it is valid, and the rest of a table becomes a quotation."""
    marker = re.compile(r"^(<{7} |>{7} )", re.MULTILINE)
    for pattern in ("*.py", "*.md", "*.toml", "*.cfg", "Makefile", "*.thrift", "*.txt", "*.json"):
        for path in ROOT.rglob(pattern):
            if not {".venv", ".mypy_cache"} & set(path.parts):
                assert not marker.search(path.read_text(errors="replace")), f"{path} was merged by half"
