"""What is imported is declared in setup.cfg, not only brought along by something else; what is declared is imported."""

import ast
import configparser
import re
import sys
from collections.abc import Iterator
from functools import cache

from tests.architecture.product_trees import ROOT, product_files, product_tree

PROVIDES = {"python-snappy": "snappy", "google-re2": "re2", "cel-expr-python": "cel_expr_python"}
"""Packages whose module has another name than the package; of the rest only - and _ differ."""


def required() -> dict[str, set[str]]:
    """Modules by extra; "" is what everybody gets."""
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg", encoding="utf-8")
    texts = {"": settings["options"]["install_requires"], **settings["options.extras_require"]}
    return {extra: set(modules(text)) for extra, text in texts.items()}


def modules(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if found := re.match(r"[A-Za-z0-9_-]+", line.strip()):
            yield PROVIDES.get(found[0], found[0].replace("-", "_"))


@cache
def imported() -> dict[str, set[str]]:
    """Foreign modules, and which files import them."""
    found: dict[str, set[str]] = {}
    for path in product_files():
        for node in ast.walk(product_tree(path)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module]
            for top in {name.split(".")[0] for name in names} - sys.stdlib_module_names - {"hbtable"}:
                found.setdefault(top, set()).add(str(path.relative_to(ROOT)))
    return found


def test_every_imported_package_is_declared() -> None:
    declared = required()
    known = declared[""] | declared["native"] | declared["parquet"] | declared["kerberos"] | declared["happybase"]
    known |= declared["polars"] | declared["dask"] | declared["spark"] | declared["cel"] | declared["ray"]
    known |= declared["beam"]
    known |= {"pytest"}  # who has it loads hbtable.pytest_plugin, and nobody else
    assert {name: files for name, files in imported().items() if name not in known} == {}


def test_every_declared_package_is_imported() -> None:
    assert required()[""] - imported().keys() == set()
