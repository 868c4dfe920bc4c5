"""The column families of the table that rows are imported into, so that a row of another one is a bad record."""

from typing import final

from hbtable.hbase.admin.structs import AdminMutation
from hbtable.model.names import shown
from hbtable.shell.transfer.records import BadRecord


@final
class KnownFamilies:
    """Refuses rows of other families than the table has."""

    def __init__(self, table: bytes, families: frozenset[bytes]) -> None:
        """`families`: as the import begins; none where they are not known."""
        self._table = table
        self._families = families

    def check(self, row: AdminMutation) -> AdminMutation:
        """The same row. Raises BadRecord."""
        for one in (row.operations or ()) if self._families else ():
            if one.family not in self._families:
                raise BadRecord(
                    f"row {shown(row.row)}: table {shown(self._table)} has no family "
                    f"{shown(one.family)}; its families are {', '.join(map(shown, sorted(self._families)))}"
                )
        return row
