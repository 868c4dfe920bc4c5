"""A test asserts what a process has written only after that process has ended; before, it waits for the line.

A server answers, and writes what it says of it in a thread of its own: a test that looks at once finds the line on a
machine that is quick, and one time in a thousand not.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = sorted(path for folder in ("tests", "compat-tests", "cluster-tests") for path in (ROOT / folder).rglob("*.py"))
ENDS = {"stop", "kill", "end", "wait", "wait_until_ready", "communicate", "kill_all"}
"""Methods after which all that a process had to say of what came before is written; of a role that gets ready, too."""


def hasty(tree: ast.Module) -> Iterator[int]:
    """Lines that assert what is in the log of a process which runs."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        ended: dict[str, int] = {}
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ENDS:
                whose = _root(node.func.value)
                ended[whose] = min(node.lineno, ended.get(whose, node.lineno))
        for node in ast.walk(function):
            if isinstance(node, ast.Assert):
                for whose in _read(node.test):
                    if ended.get(whose, node.lineno + 1) > node.lineno:
                        yield node.lineno


def _read(test: ast.expr) -> Iterator[str]:
    """Whose log has to contain something, so that this holds."""
    for node in ast.walk(test):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.Eq):
            for side in (node.left, *node.comparators):
                if isinstance(side, ast.Call) and ast.unparse(side.func).endswith((".log", ".errors.read_text")):
                    yield _root(side)


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def test_who_asserts_a_line_of_a_log_has_waited_for_it() -> None:
    found = {str(path.relative_to(ROOT)): lines for path in TESTS if (lines := _lines(path))}
    assert found == {}, "wait for the line with tests.harness.waiting.eventually, or end the process before"


def _lines(path: Path) -> list[int]:
    text = path.read_text(encoding="utf-8")
    has_one = ".log()" in text or ".errors.read_text(" in text  # most have none, and need not be parsed
    return list(hasty(ast.parse(text))) if has_one else []


def test_it_would_be_found() -> None:
    for early in ("assert 'lost' in master.log()", "assert 'lost' in server.errors.read_text()"):
        assert list(hasty(ast.parse(f"def test(master, server):\n    server.put()\n    {early}\n"))) == [3]
    other = "def test(master, server):\n    server.stop()\n    assert 'lost' in master.log()\n"
    assert list(hasty(ast.parse(other))) == [3]
    for late in (
        "server.process.wait(60)\n    assert 'lost' in server.errors.read_text()",
        "eventually(lambda: 'lost' in server.log(), SOON_SECONDS, 'a line')",
        "assert 'Traceback' not in server.log()",
    ):
        assert list(hasty(ast.parse(f"def test(server):\n    {late}\n"))) == []
