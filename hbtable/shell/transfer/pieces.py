"""Pieces of a row: a server takes no call of any size, so a row of more is written by several changes."""

from collections.abc import Iterator, Sequence
from typing import Final, final

from hbtable.hbase.admin.structs import AdminOperation

_PIECE_CELLS: Final = 10_000
_PIECE_BYTES: Final = 8 << 20


@final
class Piece:
    """Operations of one row that are written together."""

    def __init__(self) -> None:
        self.operations: list[AdminOperation] = []
        self._bytes = 0

    def add(self, one: AdminOperation) -> bool:
        """True when the piece is full."""
        self.operations.append(one)
        self._bytes += bytes_of(one)
        return len(self.operations) >= _PIECE_CELLS or self._bytes >= _PIECE_BYTES


def bytes_of(one: AdminOperation) -> int:
    return len(one.family) + len(one.qualifier) + len(one.value)


def in_pieces(operations: Sequence[AdminOperation]) -> Iterator[list[AdminOperation]]:
    piece = Piece()
    for one in operations:
        if piece.add(one):
            yield piece.operations
            piece = Piece()
    if piece.operations:
        yield piece.operations
