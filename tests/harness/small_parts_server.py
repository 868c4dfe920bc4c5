"""hbtable's command with every part of long work as small as it can be, and each table in several tablets.

Answers are put together, lists are read, sorted and freed, and others run, behind each two things, which usually
happens behind hundreds. So small rows show what would be wrong with long ones: of a row of 5,000 cells that was asked
for twice, beside rows of another tablet, the second answer had a part, as its list had been freed behind the first.

    python -m tests.harness.small_parts_server ARGUMENTS...
"""

import pkgutil
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

import hbtable
from hbtable.client.admin import Admin
from hbtable.launch.cli.command import main
from hbtable.model.schema import TableSchema

SPLITS = [b"a\x00", b"b", b"c", b"m", b"r1", b"row2"]
SMALL = 2
SMALL_BYTES = 16
_PARTS = re.compile(
    r"_?([A-Z_]+_(AT_ONCE|BETWEEN_PAUSES)|FREED_AT_ONCE|MANY_(CELLS|ROWS|PIECES)|CHUNK|LONG_ROW|LONGEST)"
)
_PARTS_IN_BYTES = re.compile(r"_?([A-Z_]+_AT_ONCE_BYTES|LARGE_VALUE_BYTES|PIECE_BYTES|PART_BYTES)")
LEFT = {"ADDED_AT_ONCE"}
"""With each write in a memtable of its own there are flushes at other times, and each drops excess versions."""
OTHERS = (
    "hbtable.shell",
    "hbtable.library",
    "hbtable.dataflow",
    "hbtable.mapreduce",
    "hbtable.testing",
    "hbtable.plugin",
)
"""Packages that no server runs; some need what is not installed everywhere."""


def shrink(module: ModuleType) -> list[str]:
    """Makes the parts small that the module's constants bound. Returns the constants' names."""
    found = []
    for name, value in list(vars(module).items()):
        if type(value) is int and (small := _small(name)) is not None and value > small:
            setattr(module, name, small)
            found.append(f"{module.__name__}.{name}")
    return found


def _small(name: str) -> int | None:
    if name in LEFT:
        return None
    if _PARTS_IN_BYTES.fullmatch(name):
        return SMALL_BYTES
    return SMALL if _PARTS.fullmatch(name) else None


def shrink_all() -> list[str]:
    """Of all that a server runs."""
    found = []
    for one in pkgutil.walk_packages(hbtable.__path__, "hbtable."):
        if not one.name.startswith(OTHERS) and not one.name.endswith("__main__"):
            try:
                module = import_module(one.name)
            except ImportError:
                continue  # what needs an extra
            found += shrink(module)
    return found


def split_tables() -> None:
    """Each table that is made has several tablets, where it is not asked for some."""
    create = Admin.create_table

    def create_table(self: Admin, schema: TableSchema, split_rows: Sequence[bytes] = (), creator: str = "") -> None:
        create(self, schema, split_rows or SPLITS, creator)

    Admin.create_table = create_table  # type: ignore[method-assign]


if __name__ == "__main__":
    assert len(shrink_all()) > 40
    split_tables()
    main(sys.argv[1:])
