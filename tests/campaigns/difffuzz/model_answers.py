"""What the model of filters answers to a scan, as documented and with the peculiarities of HBase's internals."""

import itertools
from collections.abc import Callable, Iterable
from typing import Any, Final

from tests.campaigns.difffuzz import filters
from tests.campaigns.difffuzz.compare import first_difference
from tests.campaigns.difffuzz.real_hbase import Cell
from tests.campaigns.difffuzz.scan_model import Cells, answered

_PECULIARITIES: Final = ("plus1", "emptyq", "close", "nested", "noreverse")
"""filter_model.py has what they are."""


def _modelled(cells: list[Cell], scan: dict[str, Any], tree: filters.Tree, flags: Iterable[str] = ()) -> Any:
    """The rows of a filtered scan of all these cells."""
    table = Cells()
    for row, family, qualifier, time, _, value in cells:
        table.add(row, family, qualifier, time, value)
    return answered(table, scan, filters.plain(tree), set(flags))


def explained(
    cells: list[Cell], scan: dict[str, Any], tree: filters.Tree, h: Any, x: Any, name: Callable[[Any], Any]
) -> tuple[bool, str | None]:
    """For two answers to a filtered scan: whether hbtable's is the documented one, and the peculiarities that explain
    HBase's ("none": it is as documented; None: nothing known does). `name` makes the model's times comparable."""
    try:
        right = [name(_modelled(cells, scan, tree)), name(_modelled(cells, scan, tree, ("percount",)))]
        sound = any(not first_difference(rows, x) for rows in right)
        for count in range(len(_PECULIARITIES)):
            for flags in itertools.combinations(_PECULIARITIES, count):
                if not first_difference(name(_modelled(cells, scan, tree, flags)), h):
                    return sound, "+".join(flags) or "none"
        return sound, None
    except Exception as error:  # the model cannot read it
        return False, f"model: {type(error).__name__}"
