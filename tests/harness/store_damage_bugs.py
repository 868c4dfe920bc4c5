"""Bugs that the damaged lives of a single server's store (tests/campaigns/damaged_lives.py) have to find: those of the
simulated cluster (sim_damage_bugs.py) that a single server can have, and

    reborn          a family that is added again is taken for the one that was dropped
    no SSTables     a repair that makes METADATA anew leaves all SSTables of tables out
    no records      and one that leaves out what logs hold of them
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from hbtable.master.tables import alterations
from hbtable.model.schema import TableSchema
from hbtable.repair import table_rebuild
from hbtable.repair.rebuilding import rebuilt
from tests.harness.sim_damage_bugs import DAMAGE_BUGS, DamageBug


def _taken_for_the_old_one(old: TableSchema, new: TableSchema) -> TableSchema:
    return new


def _without_files(*evidence: Any) -> list[Any]:
    return [replace(tablet, files=()) for tablet in rebuilt(*evidence)]


def _as_in_the_cluster(name: str, *kinds: str) -> DamageBug:
    return DamageBug(kinds, DAMAGE_BUGS[name].patches)


_METADATA = ("metadata lost", "metadata flipped")
_LOGS = ("log flipped", "log cut", "log zeroed", "log lost")

STORE_DAMAGE_BUGS: dict[str, DamageBug] = {
    "passing over": _as_in_the_cluster("passing over", "sstable cut", "sstable lost"),
    "nameless": _as_in_the_cluster("nameless", "sstable flipped", "sstable lost"),
    "forgiving": _as_in_the_cluster("forgiving", *_LOGS),
    "no mark": _as_in_the_cluster("no mark", "log cut", "log zeroed", "log lost"),
    "old root": _as_in_the_cluster("old root", "locks older", "root older"),
    "new counters": _as_in_the_cluster("new counters", "lock file lost", "lock file older"),
    "clocks": _as_in_the_cluster("clocks"),
    "one group": _as_in_the_cluster("one group"),
    "no SSTables": DamageBug(_METADATA, ((table_rebuild, "rebuilt", _without_files),)),
    "no records": DamageBug(_METADATA, ((table_rebuild, "unflushed", lambda *evidence: ([], 0, 0)),)),
    "reborn": DamageBug((), ((alterations, "identified", _taken_for_the_old_one),)),
}


@contextmanager
def planted(bug: DamageBug) -> Iterator[None]:
    with ExitStack() as stack:
        for where, name, wrong in bug.patches:
            stack.enter_context(patch.object(where, name, wrong))
        yield
