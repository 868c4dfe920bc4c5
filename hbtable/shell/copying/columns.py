"""Names as the servers of a copy have them, and the cells that are wanted of them."""

from collections.abc import Sequence
from typing import Final, NamedTuple, final

from hbtable.model.cell import Cell

NOW: Final = -1
"""The time of a cell to be written that the server shall choose."""


class Wanted(NamedTuple):
    """The cells of a row that are read."""

    columns: Sequence[bytes] = ()
    """family:qualifier, or a family, each; none: all."""
    newest: bool = False
    """The newest version alone."""
    lifetimes: bool = False
    """Values of cells that have a time to live of their own are MortalValues, where the server tells it."""


EVERYTHING: Final = Wanted()
WITH_LIFETIMES: Final = Wanted(lifetimes=True)


@final
class MortalValue(bytes):
    """The value of a cell that expires so long after its time. It equals the same bytes of a cell that does not."""

    ttl_millis: int

    @classmethod
    def of(cls, value: bytes, ttl_millis: int) -> "MortalValue":
        made = cls(value)
        made.ttl_millis = ttl_millis
        return made


def lifetime_of(value: bytes) -> int:
    """Milliseconds; 0: none of its own."""
    return value.ttl_millis if type(value) is MortalValue else 0


def ttl_attribute(ttl_millis: int) -> dict[bytes, bytes]:
    """HBase's attribute of a put."""
    return {b"_ttl": ttl_millis.to_bytes(8, "big")} if ttl_millis else {}


def by_lifetime(cells: Sequence[Cell]) -> list[tuple[int, list[Cell]]]:
    """The cells of each time to live: a change of a row has one for all its puts."""
    found: dict[int, list[Cell]] = {}
    for cell in cells:
        found.setdefault(lifetime_of(cell[2]), []).append(cell)
    return list(found.items())


def split_column(column: bytes) -> tuple[bytes, bytes]:
    """Family and qualifier."""
    family, _, qualifier = column.partition(b":")
    return family, qualifier


def namespace_of(table: bytes) -> bytes:
    """b"" for the default one."""
    namespace, colon, _ = table.partition(b":")
    return namespace if colon else b""


def hidden(table: bytes) -> bool:
    """Lists of tables leave it out, and hbtable does not say that it exists: it is in the namespace of the system's."""
    return namespace_of(table) == b"hbase"
