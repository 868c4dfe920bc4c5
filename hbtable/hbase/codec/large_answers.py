"""Large answers in Thrift's binary protocol: the bytes of binary_answers, in pieces and never joined.

Rows of very many cells, very many rows and large values would keep all others waiting while one answer is put together.
A generator here may be left alone between two pieces; a large value is a piece by itself and is not copied.
"""

import struct
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import merge
from typing import Final, final

from hbtable.hbase.codec.scanned_pages import ScannedPages
from hbtable.model.cell import Cell, Row
from hbtable.runtime.memory_budget import SENT_AT_ONCE
from hbtable.runtime.slices import FREED_AT_ONCE, SLICE_SECONDS
from hbtable.switches import switches

LARGE_VALUE_BYTES: Final = 8 << 10
"""A longer value makes an answer large."""
MANY_CELLS: Final = 512
"""So do more cells in one row."""
MANY_ROWS: Final = 4096

_PIECE_BYTES: Final = 64 << 10
_CELLS_AT_ONCE: Final = 256

_U32: Final = struct.Struct(">I").pack
_STRING_FIELD: Final = struct.Struct(">BHI").pack
_LIST_FIELD: Final = struct.Struct(">BHBI").pack
_COLUMNS: Final = struct.Struct(">5sI").pack
_CELL_END: Final = struct.Struct(">BHqB").pack
_ROW_END: Final = struct.Struct(">BHqBB").pack
_SIGNED_ORDER: Final = bytes(range(128, 256)) + bytes(range(128))
_MAP_MARK: Final = b"\x0d\x00\x02\x0b\x0c"
_OCCASION: Final = (b"",)


@final
class LargeAnswer:
    """A whole answer in pieces; its length is that of all of them."""

    __slots__ = ("_pieces", "_size")

    def __init__(self) -> None:
        self._pieces: deque[bytes] = deque()
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._size += len(piece)

    def take(self) -> Iterator[bytes]:
        """The next pieces, in order. What was taken is not held here any more."""
        while self._pieces:
            yield self._pieces.popleft()


def parts_of(answer: bytes | LargeAnswer) -> Iterator[bytes]:
    """Cuts the answer into the parts in which it is sent. Each is so small that the server notices in time whether the
    client takes it."""
    for piece in (answer,) if isinstance(answer, bytes) else answer.take():
        if len(piece) <= SENT_AT_ONCE:
            yield piece
            continue
        for first in range(0, len(piece), SENT_AT_ONCE):
            yield piece[first : first + SENT_AT_ONCE]


@switches
def paced(
    clock: Callable[[], float], pause: Callable[[], None], slice_end: Callable[[float], float]
) -> Callable[[Iterable[bytes]], LargeAnswer]:
    """A function that collects the pieces of an answer, and *switches* by `pause` behind each slice (the runtime's
    slice_end). An empty piece is an occasion to."""

    def collect(pieces: Iterable[bytes]) -> LargeAnswer:
        answer = LargeAnswer()
        until = slice_end(SLICE_SECONDS)
        for piece in pieces:
            if piece:
                answer.add(piece)
            if clock() >= until:
                pause()
                until = slice_end(SLICE_SECONDS)
        return answer

    return collect


def cells(head: bytes, value: Sequence[Cell]) -> Iterator[bytes]:
    out = _Pieces()
    out.small += (head, _LIST_FIELD(15, 0, 12, len(value)))
    for first in range(0, len(value), _CELLS_AT_ONCE):
        for _, timestamp, content in value[first : first + _CELLS_AT_ONCE]:
            out.small.append(_STRING_FIELD(11, 1, len(content)))
            out.content(content)
            out.small.append(_CELL_END(10, 2, timestamp, 0))
        yield from out.taken()
    out.small.append(b"\x00")
    yield from out.rest()


def some_rows(value: Sequence[Row]) -> Iterator[bytes]:
    """Those in the middle of an answer of rows."""
    out = _Pieces()
    yield from _row_pieces(out, value)
    yield from out.rest()


def scanned_pages(head: bytes, value: ScannedPages) -> Iterator[bytes]:
    out = _Pieces()
    out.small += (head, _LIST_FIELD(15, 0, 12, value.count))
    for page in value.pages:
        if isinstance(page, list):
            yield from _row_pieces(out, page)
            continue
        for piece in page.pieces:
            out.content(piece)
            yield from out.taken()
    out.small.append(b"\x00")
    yield from out.rest()


def _row_pieces(out: "_Pieces", value: Sequence[Row]) -> Iterator[bytes]:
    for row, found in value:
        out.small += (_STRING_FIELD(11, 1, len(row)), row, _COLUMNS(_MAP_MARK, len(found)))
        for some in _in_map_order(found):
            for column, timestamp, content in some:
                out.small += (_U32(len(column)), column, _STRING_FIELD(11, 1, len(content)))
                out.content(content)
                out.small.append(_CELL_END(10, 2, timestamp, 0))
            yield from out.taken() or _OCCASION
        out.small.append(b"\x00")
        yield from _let_go(found)


def sorted_rows(head: bytes, value: Sequence[Row]) -> Iterator[bytes]:
    out = _Pieces()
    out.small += (head, _LIST_FIELD(15, 0, 12, len(value)))
    for row, found in value:
        out.small += (_STRING_FIELD(11, 1, len(row)), row, _LIST_FIELD(15, 3, 12, len(found)))
        for some in _in_lists(found):
            for column, timestamp, content in some:
                out.small += (
                    _STRING_FIELD(11, 1, len(column)), column, b"\x0c\x00\x02", _STRING_FIELD(11, 1, len(content)),
                )  # fmt: skip
                out.content(content)
                out.small.append(_ROW_END(10, 2, timestamp, 0, 0))
            yield from out.taken()
        out.small.append(b"\x00")
        yield from _let_go(found)
    out.small.append(b"\x00")
    yield from out.rest()


@final
class _Pieces:
    """The pieces of an answer: `small` parts are joined, large values stay what they are."""

    __slots__ = ("_ready", "small")

    def __init__(self) -> None:
        self.small: list[bytes] = []
        self._ready: list[bytes] = []

    def content(self, value: bytes) -> None:
        if len(value) < _PIECE_BYTES:
            self.small.append(value)
            return
        self._ready += (b"".join(self.small), value)
        self.small = []

    def taken(self) -> list[bytes]:
        """Hands out the pieces that are ready; small parts once they are many."""
        if len(self.small) > _CELLS_AT_ONCE:
            return self.rest()
        ready, self._ready = self._ready, []
        return ready

    def rest(self) -> list[bytes]:
        ready = [*self._ready, b"".join(self.small)]
        self._ready, self.small = [], []
        return ready


def _let_go(found: Sequence[Cell]) -> Iterator[bytes]:
    """The cells of a row are in the answer, and nobody else has the list: to free 400,000 at once, of one row or of
    hundreds, takes 30 ms."""
    if isinstance(found, list):
        while len(found) > FREED_AT_ONCE:
            del found[-FREED_AT_ONCE:]
            yield b""
        found.clear()


def _in_lists(found: Sequence[Cell]) -> Iterator[Sequence[Cell]]:
    for first in range(0, len(found), _CELLS_AT_ONCE):
        yield found[first : first + _CELLS_AT_ONCE]


def _in_map_order(found: Sequence[Cell]) -> Iterator[Sequence[Cell]]:
    """As binary_answers.in_map_order, in lists. The lists are sorted each for itself and then merged: sorting all at
    once would take its time."""
    is_sorted = True
    for some in _in_lists(found):
        is_sorted = all(cell[0].isascii() for cell in some)
        yield ()
        if not is_sorted:
            break
    if is_sorted:
        yield from _in_lists(found)
        return
    runs = []
    for some in _in_lists(found):
        runs.append(sorted(some, key=signed))
        yield ()
    together: list[Cell] = []
    for cell in merge(*runs, key=signed):
        together.append(cell)
        if len(together) == _CELLS_AT_ONCE:
            yield together
            together = []
    yield together


def signed(cell: Cell) -> bytes:
    """A key that sorts columns by signed bytes, 80-ff before 00-7f: HBase's order of a map."""
    return cell[0].translate(_SIGNED_ORDER)
