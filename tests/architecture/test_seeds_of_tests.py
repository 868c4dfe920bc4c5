"""What a test generates comes from a constant or from the seed of the run, so that each run can be had again."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("tests", "compat-tests", "cluster-tests")
FILES = sorted(
    path
    for folder in FOLDERS
    for path in (ROOT / folder).rglob("*.py")
    if not path.is_relative_to(ROOT / "tests" / "campaigns") and not path.is_relative_to(ROOT / "tests" / "bench")
)
ALLOWED = {
    "tests/harness/fresh_seed.py": "chooses the seed of the run",
    "tests/harness/free_ports.py": "looks for free ports",
    "cluster-tests/conftest.py": "names of folders that no other test uses",
    "cluster-tests/test_recovery_time.py": "values that cannot be compressed",
    "compat-tests/languages/python/program.py": "names of tables that no other run uses",
    "compat-tests/languages/python-thrift2/program.py": "names of tables that no other run uses",
    "compat-tests/test_kerberos.py": "a token that is none",
}
"""Files whose random bytes decide nothing that a test looks at."""
SOURCES = {"os.urandom", "random.SystemRandom", "uuid.uuid1", "uuid.uuid4"}


def unseeded(tree: ast.Module) -> Iterator[int]:
    """Lines that draw from what nobody can seed again. (A generator in a parameter named `random` is none of them.)"""
    modules = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in ("random", "secrets") and _names(node) != {"Random"}:
            yield node.lineno
        if (
            isinstance(node, ast.Call)
            and ast.unparse(node.func) in ("random.Random", "Random")
            and not _is_seed(node.args)
        ):
            yield node.lineno
    yield from _drawn_from_modules(tree, modules)


def _in_file(path: Path) -> list[int]:
    text = path.read_text("utf-8")
    return list(unseeded(ast.parse(text))) if re.search("random|secrets|uuid", text, re.IGNORECASE) else []


def _is_seed(arguments: list[ast.expr]) -> bool:
    calls = {ast.unparse(one.func) for given in arguments for one in ast.walk(given) if isinstance(one, ast.Call)}
    return bool(arguments) and not calls & {"time.time", "time.time_ns", "os.getpid", "hash", "id"}


def _names(node: ast.ImportFrom) -> set[str]:
    return {alias.name for alias in node.names}


def _drawn_from_modules(node: ast.AST, modules: set[str]) -> Iterator[int]:
    """`modules`: those that no parameter or variable hides here."""
    if isinstance(node, ast.FunctionDef | ast.Lambda):
        modules = modules - {one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)}
    if isinstance(node, ast.FunctionDef):
        stored = (one for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store))
        modules = modules - {one.id for one in stored}
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
        of_module = node.value.id in ("random", "secrets") and node.attr != "Random"
        if of_module or ast.unparse(node) in SOURCES:
            yield node.lineno
    for child in ast.iter_child_nodes(node):
        yield from _drawn_from_modules(child, modules)


def test_what_is_generated_can_be_generated_again() -> None:
    found = {str(path.relative_to(ROOT)): _in_file(path) for path in FILES}
    drawn = {name: lines for name, lines in found.items() if lines and name not in ALLOWED}
    assert drawn == {}, "take a random.Random of a constant, runtime.random, or tests.harness.fresh_seed"
    assert [name for name in ALLOWED if not found[name]] == [], "take it off the list"


def test_it_would_be_found() -> None:
    def lines(text: str) -> list[int]:
        return sorted(unseeded(ast.parse(text)))

    assert lines("import random\nrandom.shuffle([])\nrandom.Random(3).random()\nrandom.Random()\n") == [2, 4]
    assert lines("import random\nrandom.Random(hash('a'))\nrandom.Random(len('a'))\n") == [2]
    assert lines("import os, uuid\nos.urandom(3)\nuuid.uuid4()\nuuid.UUID('')\n") == [2, 3]
    assert lines("from random import shuffle\nfrom secrets import token_hex\n") == [1, 2]
    assert lines("import random\ndef f(random: random.Random) -> None:\n    random.random()\n") == []
    assert lines("import random\ndef f() -> None:\n    random = g()\n    return lambda: random.random()\n") == []


def test_ci_takes_the_seed_of_what_is_committed() -> None:
    def seed() -> str:
        return subprocess.run([ROOT / ".ci" / "seed"], capture_output=True, text=True, check=True).stdout.strip()

    assert 0 < int(seed()) < 1 << 32, "Python takes it as PYTHONHASHSEED, too"
    assert seed() == seed()
