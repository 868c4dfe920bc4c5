"""Positions of scans, as the admin service tells them for the next page and takes them back.

A page that ends for its time or its cost may end among rows of which the user may read nothing. Whoever may read the
whole table is told where. For everybody else the scan goes on until it is behind a row that he sees, or where a tablet
begins: from a position among other rows he could ask, again and again, whether rows come that he writes meanwhile, and
would have found the row at which it is by halving.

His positions are sealed as well (access.position_seal): a tablet server of an earlier release still tells such rows.
"""

from dataclasses import replace
from typing import Final, final

from hbtable.access.position_key import PositionKey
from hbtable.access.user import acting_user
from hbtable.encoding.varint import decode, decode_bytes, encode, encode_bytes
from hbtable.hbase.admin.structs import AdminPosition, AdminScan
from hbtable.hbase.backend import TableBackend
from hbtable.hbase.errors import BadArgument
from hbtable.model.read import ScanPage, ScanPosition, ScanRequest
from hbtable.switches import switches

SEALED: Final = -1
"""In AdminPosition.cells_done: `row` is a sealed position. Clients of before bring it back as it is."""
_FORM: Final = b"\2"
"""Of the first form were positions at any row; they are not taken any more."""


@final
class AdminPositions:
    """The positions of one gateway. Without `key` they are told as they are."""

    def __init__(self, tables: TableBackend, key: PositionKey | None) -> None:
        self._tables = tables
        self._key = key

    @switches
    def page(self, table: bytes | None, request: ScanRequest) -> ScanPage:
        """One whose position the caller may know. *Switches* for as long as a tablet has nothing for him, at most."""
        named = self._tables.named(table)
        tablets = 0
        while True:
            page = named.scan_page(request)
            tablets += page.tablets
            if not page.tells_hidden_row or self._key is None or self._tables.shows_all_rows(table):
                return page._replace(tablets=tablets)
            request = replace(request, position=page.next)

    @switches
    def after(self, table: bytes | None, scan: AdminScan, page: ScanPage) -> AdminPosition | None:
        position = page.next
        if position is None:
            return None
        if self._key is None or self._tables.shows_all_rows(table):
            return AdminPosition(*position)
        return AdminPosition(self._key.seal().seal(_encoded(position), self._scan(table, scan)), SEALED)

    @switches
    def before(self, table: bytes | None, scan: AdminScan) -> ScanPosition | None:
        """BadArgument for a sealed one that is not this scan's."""
        given = scan.position
        if given is None:
            return None
        if given.cells_done != SEALED:
            return ScanPosition(*given)
        found = None
        if self._key is not None:
            found = self._key.seal().opened(given.row, self._scan(table, scan))
        if found is None or found[:1] != _FORM:
            raise BadArgument(
                "the position is not one of this scan: ask with the table, the rows, the direction and the user for "
                "which it was told, or begin the scan anew"
            )
        return _decoded(found)

    def _scan(self, table: bytes | None, scan: AdminScan) -> bytes:
        """All by which somebody could find out where a position is: what is between the position and the end of other
        rows."""
        user = acting_user()
        name = "" if user is None else user.name
        of = (self._tables.canonical(table), name.encode(), scan.start_row, scan.stop_row)
        return b"".join(map(encode_bytes, of)) + bytes((scan.reversed,))


def _encoded(position: ScanPosition) -> bytes:
    named = (position.row, position.filter_state, position.column)
    counted = (position.cells_done, position.timestamp, position.versions)
    return _FORM + b"".join(map(encode_bytes, named)) + b"".join(map(encode, counted))


def _decoded(data: bytes) -> ScanPosition:
    named, offset = [], len(_FORM)
    for _ in range(3):
        value, offset = decode_bytes(data, offset)
        named.append(value)
    counted = []
    for _ in range(3):
        number, offset = decode(data, offset)
        counted.append(number)
    return ScanPosition(named[0], counted[0], named[1], named[2], counted[1], counted[2])
