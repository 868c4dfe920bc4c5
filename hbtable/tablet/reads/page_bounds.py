"""The rows of a tablet that a page of a scan has yet to read."""

from hbtable.errors import DataDamaged
from hbtable.model.ranges import RowRange, successor
from hbtable.model.read import ScanRequest
from hbtable.tablet.reads.page import ROW_DONE


def bounds_of(tablet: RowRange, request: ScanRequest) -> RowRange:
    """The rows of the tablet that the scan has yet to read."""
    bounds = request.range.intersect(tablet)
    position = request.position
    if position is None:
        return bounds
    row, done = position.row, position.cells_done
    if not request.reversed:
        return RowRange(max(bounds.start, successor(row) if done >= ROW_DONE else row), bounds.stop)
    if not row:
        return bounds  # from the end
    return bounds.intersect(RowRange(b"", row if done >= ROW_DONE else successor(row)))


def rest_of(bounds: RowRange, last_row: bytes | None, is_reversed: bool) -> RowRange:
    """The bounds behind a row that was dealt with."""
    if last_row is None:
        return bounds
    return RowRange(bounds.start, last_row) if is_reversed else RowRange(successor(last_row), bounds.stop)


def before_damage(damage: DataDamaged, bounds: RowRange, is_reversed: bool) -> RowRange:
    """The part of the bounds that a scan reaches before the damaged rows."""
    if is_reversed:
        return RowRange(damage.stop_row, b"").intersect(bounds) if damage.stop_row else RowRange(b"x", b"x")
    return RowRange(b"", damage.first_row).intersect(bounds) if damage.first_row else RowRange(b"x", b"x")
