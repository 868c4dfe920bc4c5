"""Half-open row ranges [start, stop); an empty stop means unbounded, an empty start is the smallest row."""

from typing import Final, NamedTuple


class RowRange(NamedTuple):
    """Rows r with start <= r and (stop == b"" or r < stop)."""

    start: bytes = b""
    stop: bytes = b""

    def holds(self, row: bytes) -> bool:
        return self.start <= row and (not self.stop or row < self.stop)

    def is_empty(self) -> bool:
        return bool(self.stop) and self.stop <= self.start

    def intersect(self, other: "RowRange") -> "RowRange":
        start = max(self.start, other.start)
        if not self.stop:
            stop = other.stop
        elif not other.stop:
            stop = self.stop
        else:
            stop = min(self.stop, other.stop)
        return RowRange(start, stop)


EVERY_ROW: Final = RowRange()


def successor(row: bytes) -> bytes:
    """The smallest row greater than `row`."""
    return row + b"\x00"


def between(first: bytes, last: bytes, is_reversed: bool) -> RowRange:
    """From a caller's first row (inclusive) and last row (exclusive) in scan order, each b"" where there is no bound.
    The same row in both places means that row (HBase)."""
    if first and first == last:
        return single_row(first)
    if not is_reversed:
        return RowRange(first, last)
    return RowRange(successor(last) if last else b"", successor(first) if first else b"")


def single_row(row: bytes) -> RowRange:
    return RowRange(row, row + b"\x00")


def prefix_stop(prefix: bytes) -> bytes:
    """The smallest row greater than every row that starts with `prefix`; b"" when there is none."""
    stripped = prefix.rstrip(b"\xff")
    if not stripped:
        return b""
    return stripped[:-1] + bytes([stripped[-1] + 1])
