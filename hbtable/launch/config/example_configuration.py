"""conf/hbtable.toml and conf/cluster.toml, made from the Options dataclasses: every key, its default, and the docstring
that stands under it.

The text is generated so that it cannot fall behind; a test compares it with the files in conf/.
"""

import ast
import inspect
import textwrap
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from hbtable.launch.config.configuration import Defaults, keys_of

HEAD: Final = """\
# hbtable's configuration: every key with its default. `hbtable config` prints what is in effect, and where from.
#
# Looked for at --config, $HBTABLE_CONFIG, ./hbtable.toml, ~/.config/hbtable/hbtable.toml, /etc/hbtable/hbtable.toml.
# A key is overridden by the environment (HBTABLE_LOG__DURABILITY=os) and by -D log.durability=os, in that order.
# Sizes may be written "64 MiB", times "250 ms", "5s", "2h"; a bare number is in the unit its key ends in.
# An unknown key is an error, not ignored.
"""


def example(sections: Mapping[str, type], head: str = HEAD, defaults: Defaults = MappingProxyType({})) -> str:
    """The whole file; every key commented out."""
    parts = [head]
    for section, kind in sections.items():
        parts.append(f"\n[{section}]")
        documented = _documented(kind)
        for field in keys_of(kind):
            parts.extend(f"# {line}" for line in textwrap.wrap(documented.get(field.name, ""), 116))
            parts.append(f"# {field.name} = {_toml(field.name, defaults.get((section, field.name), field.default))}\n")
    return "\n".join(parts).rstrip() + "\n"


def _documented(kind: type) -> dict[str, str]:
    """Field name -> the string that stands right below it in the class."""
    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(body, ast.ClassDef)
    found: dict[str, str] = {}
    name = ""
    for node in body.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            name = node.target.id
        elif name and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            found[name] = " ".join(str(node.value.value).split())
            name = ""
    return found


def _toml(name: str, value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and name.endswith("_bytes") and value and value % 1024 == 0:
        for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
            if value % size == 0:
                return f'"{value // size} {unit}"'
    return repr(value) if isinstance(value, (int, float)) else f'"{value}"'
