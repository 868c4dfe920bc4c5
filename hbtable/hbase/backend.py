"""The tables below the gateway, to read and write, by the names that clients give.

hbtable.client offers them, and their administration (client.admin.Admin); tests hand in fakes of both.
"""

from collections.abc import Callable
from typing import final

from hbtable.client.table_calls import TableCalls
from hbtable.hbase.errors import BadArgument
from hbtable.model import names

Address = Callable[[str], tuple[bytes, int]]
"""Of the gateway of a tablet server, by its incarnation: host and port."""


OpenTable = Callable[[bytes], TableCalls]
"""The table of a name in any spelling; it need not exist yet. InvalidRequest for a name that no table can have."""


@final
class TableBackend:
    """Tables by whatever form of the name a client sends."""

    __slots__ = ("_open_table",)

    def __init__(self, open_table: OpenTable) -> None:
        self._open_table = open_table

    def named(self, name: bytes | None) -> TableCalls:
        if name is None:
            raise BadArgument("the call has no table name")
        return self._open_table(name)

    def canonical(self, name: bytes | None) -> bytes:
        """For administration: the one spelling by which tables are known."""
        if name is None:
            raise BadArgument("the call has no table name")
        return names.parse(name)
