"""A task that lives as long as its process is supervised: if it died of a bug, nobody would notice otherwise.

Such a task is recognised by its loop: `while` around a sleep or a wait.
"""

import ast
from pathlib import Path

import pytest

PRODUCT = Path(__file__).parents[2] / "hbtable"
WAITS = {"sleep", "wait"}
OTHERWISE_WATCHED = {}


def spawned(tree: ast.Module) -> list[tuple[str, ast.FunctionDef]]:
    """Methods handed to spawn(), by the name of class and method."""
    found = []
    for cls in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
        methods = {node.name: node for node in cls.body if isinstance(node, ast.FunctionDef)}
        for call in (node for node in ast.walk(cls) if isinstance(node, ast.Call)):
            if not (isinstance(call.func, ast.Attribute) and call.func.attr == "spawn" and call.args):
                continue
            target = call.args[0]
            if isinstance(target, ast.Attribute) and target.attr in methods:
                found.append((f"{cls.name}.{target.attr}", methods[target.attr]))
    return found


def lives_on(function: ast.FunctionDef) -> bool:
    return any(
        isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr in WAITS
        for loop in ast.walk(function)
        if isinstance(loop, ast.While)
        for inner in ast.walk(loop)
    )


def unsupervised(text: str) -> list[str]:
    return [name for name, function in spawned(ast.parse(text)) if lives_on(function)]


def test_every_task_that_lives_on_is_supervised() -> None:
    paths = [path for path in PRODUCT.rglob("*.py") if "simulated" not in path.name and "memory" not in path.name]
    found = {name: path.name for path in paths for name in unsupervised(path.read_text())}
    assert {name: where for name, where in found.items() if name not in OTHERWISE_WATCHED} == {}


@pytest.mark.parametrize("waiting", ["self.runtime.sleep(1.0)", "self.wake.wait()"])
def test_one_that_is_not_is_found(waiting: str) -> None:
    text = f"""
class Work:
    def start(self):
        self.runtime.spawn(self._live, name="work")

    def _live(self):
        while True:
            {waiting}
"""
    assert unsupervised(text) == ["Work._live"]
    assert unsupervised(text.replace("self.runtime.spawn(self._live", "supervise(self.runtime, self._live")) == []
