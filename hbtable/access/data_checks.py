"""The checks of reads and writes. A get or a scan is narrowed to what may be read; everything else is all or nothing.

HBase's rules, with two of its holes closed: an increment or an append gives the new value back, so it needs the right
to read as well as to write; and so does the column of a condition, whatever the condition is and whatever it guards.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, final

from hbtable.access import denials
from hbtable.access.actions import Action
from hbtable.access.permissions import Permissions
from hbtable.access.scopes import of_table
from hbtable.access.table_rights import TableRights
from hbtable.access.user import User
from hbtable.errors import AccessDenied
from hbtable.model.additions import added_to
from hbtable.model.mutation import DELETE_FAMILY, DELETE_FAMILY_VERSION, RowMutation
from hbtable.model.put_batch import puts_in_columns
from hbtable.model.read import Columns, ReadSpec
from hbtable.switches import switches

_MOST_NARROWED: Final = 1000
_OF_A_FAMILY: Final = (DELETE_FAMILY, DELETE_FAMILY_VERSION)


@final
class DataChecks:
    """Each call asks `permissions`, which may *switch*, and `caller`. A refusal is AccessDenied, and says nothing of
    the data. Unavailable where the permissions cannot be known."""

    __slots__ = ("_caller", "_narrowed", "_permissions")

    def __init__(self, permissions: Callable[[], Permissions], caller: Callable[[], User | None]) -> None:
        self._permissions = permissions
        self._caller = caller
        self._narrowed: dict[int, tuple[Columns, ReadSpec, ReadSpec]] = {}
        """The last spec that was narrowed to each of these columns, by their id; the entry keeps them."""

    @switches
    def readable(self, table: bytes, asked: Columns | None) -> Columns | None:
        """The part of these columns that a get or a scan may see; `asked` itself where that is all of them."""
        user = self._caller()
        rights = self._permissions().readable(user, table)
        if rights.whole or asked is rights.columns or (asked and rights.cover(asked)):  # {}: all rights cover it
            return asked
        found = rights.part_of(asked)
        if not found:
            raise denials.reading(user, table)
        return found

    def narrowed(self, spec: ReadSpec, columns: Columns | None) -> ReadSpec:
        """The spec of these columns, that readable() gave. Reads of whole rows have one and the same spec, and a user
        has one part of a table. Hot."""
        if columns is None or spec.columns is not None:
            return spec.of_columns(columns)
        known = self._narrowed.get(id(columns))
        if known is not None and known[1] is spec and known[0] is columns:
            return known[2]
        made = spec.of_columns(columns)
        if len(self._narrowed) >= _MOST_NARROWED:
            self._narrowed.clear()
        self._narrowed[id(columns)] = columns, spec, made
        return made

    @switches
    def shows_all_rows(self, table: bytes) -> bool:
        """Whether the caller may know the keys of all its rows: who may read a part of it sees rows that have some of
        that."""
        return self._permissions().readable(self._caller(), table).whole

    def unreadable(self, table: bytes) -> AccessDenied:
        """The refusal of a read, to be raised."""
        return denials.reading(self._caller(), table)

    @switches
    def check_all_readable(self, table: bytes, asked: Columns | None) -> None:
        """Whether there is such a cell is told only of what may be read as a whole."""
        user = self._caller()
        if not self._permissions().readable(user, table).cover(asked):
            raise denials.reading(user, table)

    @switches
    def check_mutations(self, table: bytes, mutations: Sequence[RowMutation]) -> None:
        """Every column that is named, whatever the rows hold."""
        user = self._caller()
        rights = self._permissions().writable(user, table)
        if rights.whole:
            return
        puts = puts_in_columns(mutations)
        for mutation in mutations if puts is None else puts[:1]:  # all are of one column
            for kind, family, qualifier, _, _ in mutation.operations:
                if family in rights.families:
                    continue
                whole_family = kind in _OF_A_FAMILY
                if not rights.covers(family, None if whole_family else qualifier):
                    raise denials.of_column(user, table, family, b"" if whole_family else qualifier, Action.WRITE)

    @switches
    def check_whole_rows(self, table: bytes, families: Iterable[bytes]) -> None:
        """The right to delete each of these, all that the table has. The refusal names none of them, which the caller
        may not know of."""
        user = self._caller()
        rights = self._permissions().writable(user, table)
        if not rights.whole and not all(rights.covers(family, None) for family in families):
            raise denials.at(user, of_table(table), Action.WRITE)

    @switches
    def check_read_and_written(self, table: bytes, columns: Iterable[tuple[bytes, bytes]]) -> None:
        """Counters, and what is appended to."""
        user, permissions, named = self._caller(), self._permissions(), tuple(columns)
        self._check_columns(user, table, permissions.writable(user, table), named, Action.WRITE)
        self._check_columns(user, table, permissions.readable(user, table), named, Action.READ)

    @switches
    def check_condition(self, table: bytes, family: bytes, qualifier: bytes, mutation: RowMutation) -> None:
        """Both rights to the column that is looked at, and the right to write what is changed; and to read what is
        added to."""
        user, permissions, named = self._caller(), self._permissions(), ((family, qualifier),)
        self._check_columns(user, table, permissions.readable(user, table), named, Action.READ)
        self._check_columns(user, table, permissions.writable(user, table), named, Action.WRITE)
        self._check_change(table, mutation)

    @switches
    def check_predicate(self, table: bytes, asked: Columns | None, mutation: RowMutation) -> None:
        """The right to read all that the condition looks at, and of columns that it names both rights, as of
        check_condition(); and the rights to what is changed, as there."""
        self.check_all_readable(table, asked)
        user = self._caller()
        rights = self._permissions().writable(user, table)
        for family, qualifiers in () if rights.whole or asked is None else asked.items():
            for qualifier in (None,) if qualifiers is None else sorted(qualifiers):
                if not rights.covers(family, qualifier):
                    raise denials.of_column(user, table, family, qualifier or b"", Action.WRITE)
        self._check_change(table, mutation)

    @switches
    def _check_change(self, table: bytes, mutation: RowMutation) -> None:
        self.check_mutations(table, (mutation,))
        user = self._caller()
        rights = self._permissions().readable(user, table)
        if not rights.whole:
            self._check_columns(user, table, rights, added_to(mutation), Action.READ)

    def _check_columns(
        self,
        user: User | None,
        table: bytes,
        rights: TableRights,
        columns: Iterable[tuple[bytes, bytes]],
        action: Action,
    ) -> None:
        if rights.whole:
            return
        for family, qualifier in columns:
            if not rights.covers(family, qualifier):
                raise denials.of_column(user, table, family, qualifier, action)
