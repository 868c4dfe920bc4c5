"""Names as the servers of a copy have them, and the cells that are wanted of them."""

from collections.abc import Sequence
from typing import Final, NamedTuple

NOW: Final = -1
"""The time of a cell to be written that the server shall choose."""


class Wanted(NamedTuple):
    """The cells of a row that are read."""

    columns: Sequence[bytes] = ()
    """family:qualifier, or a family, each; none: all."""
    newest: bool = False
    """The newest version alone."""


EVERYTHING: Final = Wanted()


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
