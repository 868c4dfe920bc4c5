"""Changes that delete a whole row, which name every family of its table.

Another client may add or drop a family between the moment when METADATA was asked and the moment when the row's tablet
gets the change. The tablet then refuses a family that the caller has not named himself. Nothing was applied, so the
change is made anew, with the families that there are now. A family that METADATA has and a tablet does not know yet is
waited for by client.table.Table.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Final, TypeVar

from hbtable.errors import AccessDenied, InvalidRequest, NoSuchFamily
from hbtable.model.mutation import RowMutation
from hbtable.model.names import shown
from hbtable.model.schema import TableSchema
from hbtable.runtime.slices import with_pauses
from hbtable.switches import switches

T = TypeVar("T")
_BETWEEN_PAUSES: Final = 4096
_MOST_NAMED: Final = 1_000_000
WHOLE_ROW: Final = (b"",)
"""In the place of all families, where the user of a server may write a table and not see which it has: the server takes
a delete of the family without a name for one of each."""
HIDDEN: Final = "which families table {} has is shown to those who may create or administer it (C or A)"
Families = Callable[[], Sequence[bytes]]
"""Names all families of a table. *Switches.*"""


@switches
def with_all_families(families: Callable[[], Iterable[bytes]], change: Callable[[Families], T]) -> T:
    """Calls `change`, with a function that names the families, and again after NoSuchFamily as long as some came or
    went meanwhile. `families`: as METADATA has them now. NoSuchFamily: the caller has named one that is not there."""
    known = NamedFamilies(families)
    while True:
        try:
            return change(known.names)
        except NoSuchFamily:
            if not known.asked:
                raise
            before, known = known, NamedFamilies(families)
            if known.names() == before.names():
                raise


def seen(schema: TableSchema) -> TableSchema:
    """The same. AccessDenied where a server hid the families: a table has one at least."""
    if not schema.families:
        raise AccessDenied(HIDDEN.format(shown(schema.name)))
    return schema


@switches
def families_of(mutations: Iterable[RowMutation], pause: Callable[[], object]) -> set[bytes]:
    """The families that the mutations name. *Switches* by `pause` behind each few thousand operations."""
    operations = chain.from_iterable(mutation.operations for mutation in mutations)
    return {family for _, family, *_ in with_pauses(operations, pause, _BETWEEN_PAUSES)}


class NamedFamilies:
    """The families of a table as they were when somebody asked first, for the deletes of whole rows in one call: each
    of these, some bytes of the call, becomes a delete of every family, of which there may be hundreds."""

    def __init__(self, families: Callable[[], Iterable[bytes]]) -> None:
        self._read = families
        self._found: list[bytes] = []
        self._left = _MOST_NAMED
        self.asked = False

    @switches
    def names(self) -> list[bytes]:
        """Sorted. InvalidRequest when the call asks so often that its deletes come to more than a million."""
        if not self.asked:
            self._found = sorted(self._read())
            self.asked = True
        self._left -= len(self._found)
        if self._left < 0:
            raise InvalidRequest(
                f"the call's deletes of whole rows are more than {_MOST_NAMED} deletes of families (the table has "
                f"{len(self._found)}): send fewer in a call"
            )
        return self._found
