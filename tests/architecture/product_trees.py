"""The product's files and their syntax trees: a dozen rules look at all of them, and each is parsed once."""

import ast
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
PRODUCT: Final = ROOT / "hbtable"


@cache
def product_files() -> tuple[Path, ...]:
    """Every Python file of the program, in order of their paths."""
    return tuple(sorted(PRODUCT.rglob("*.py")))


@cache
def product_tree(path: Path) -> ast.Module:
    """Its syntax tree, which is everybody's: look at it, and change nothing."""
    return ast.parse(path.read_text(encoding="utf-8"))
