"""No module of hbtable needs itself: imports go round in no circle, also not those inside functions or for types only.

The contracts of setup.cfg keep circles out between packages; within one a circle makes no order to read the files in.
"""

import ast
import graphlib
from pathlib import Path

import pytest

from tests.architecture.product_trees import ROOT, product_tree


def imports(root: Path) -> dict[str, set[str]]:
    """Each module below root/hbtable -> the modules there that it imports, anywhere in the file."""
    files = {module_name(path.relative_to(root)): path for path in (root / "hbtable").rglob("*.py")}
    found: dict[str, set[str]] = {}
    for module, path in files.items():
        named = set()
        for node in ast.walk(product_tree(path)):
            if isinstance(node, ast.Import):
                named |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                each = {f"{node.module}.{alias.name}" for alias in node.names}
                named |= {name if name in files else node.module for name in each}
        found[module] = (named & files.keys()) - {module}
    return found


def module_name(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def circle(found: dict[str, set[str]]) -> list[str]:
    """One of them, or none."""
    try:
        graphlib.TopologicalSorter(found).prepare()
    except graphlib.CycleError as error:
        return list(error.args[1])
    return []


def test_no_imports_go_round_in_a_circle() -> None:
    found = imports(ROOT)
    assert len(found) > 400
    assert circle(found) == [], "give what both need a file of its own, or let one say as a Protocol what it needs"


@pytest.mark.parametrize(
    "line", ["from hbtable.fs.b import it", "    from hbtable.fs import b", "    import hbtable.fs.b"]
)
def test_a_planted_circle_is_found(tmp_path: Path, line: str) -> None:
    folder = tmp_path / "hbtable" / "fs"
    folder.mkdir(parents=True)
    indented = line if not line.startswith(" ") else f"def later():\n{line}"
    (folder / "a.py").write_text(f"{indented}\n")
    (folder / "b.py").write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from hbtable.fs.a import A\n"
    )
    assert sorted(set(circle(imports(tmp_path)))) == ["hbtable.fs.a", "hbtable.fs.b"]
