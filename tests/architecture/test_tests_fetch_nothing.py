"""No test fetches anything: what a test needs is installed by its make target, made by the test, or in the repository.

A test that downloads passes where a cache hides it, and fails on every fresh machine.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FETCHERS = {"pip", "npm", "mvn", "curl", "wget", "apt-get", "uv"}
FOLDERS = ("tests", "compat-tests", "cluster-tests")
NAMED = re.compile(rf"""["']({"|".join(sorted(FETCHERS))})["']""")
"""A text without these names runs none of them; most files need not be parsed."""
TESTS = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]


def commands(tree: ast.Module) -> Iterator[tuple[int, set[str]]]:
    """Lists of words that look like a command: what runs, or what Python is to run by -m."""
    for node in ast.walk(tree):
        if isinstance(node, ast.List):
            words = [element.value for element in node.elts if isinstance(element, ast.Constant)]
            texts = [word for word in words if isinstance(word, str)]
            first = node.elts[0] if node.elts else None
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield node.lineno, {first.value}
            if "-m" in texts[:1]:
                yield node.lineno, set(texts[1:2])


def found(text: str) -> list[int]:
    """Lines that run a fetcher."""
    if not NAMED.search(text):
        return []
    return [line for line, words in commands(ast.parse(text)) if words & FETCHERS]


def test_no_test_runs_what_downloads() -> None:
    lines = {str(path): lines for path in TESTS if (lines := found(path.read_text(encoding="utf-8")))}
    assert lines == {}, "let the make target do it (Makefile, .venv/.sources)"


def test_it_would_be_found() -> None:
    assert found('import sys\ncommand = [sys.executable, "-m", "pip", "download", "happybase"]\n') == [2]
    assert found('command = ["npm", "ci"]\n') == [1]
    assert found('COMMANDS = {"node": ["thrift", "node", "npm"]}\n') == []
