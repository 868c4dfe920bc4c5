"""One cell as HBase's shell writes it: `timestamp=1970-01-01T00:00:00.001, value=v1`, or `type=Delete` for a marker."""

from typing import Final

from hbtable.hbase.admin.structs import AdminCell
from hbtable.model.mutation import (
    DELETE_COLUMN,
    DELETE_FAMILY,
    DELETE_FAMILY_VERSION,
    DELETE_VERSION,
    PUT,
)
from hbtable.shell.answers import text
from hbtable.shell.arguments.options import Showing

_TYPES: Final = {
    DELETE_VERSION: "Delete",
    DELETE_COLUMN: "DeleteColumn",
    DELETE_FAMILY: "DeleteFamily",
    DELETE_FAMILY_VERSION: "DeleteFamilyVersion",
}


def column_text(cell: AdminCell, showing: Showing) -> str:
    if showing.formatter is text.binary:
        return text.binary(cell.column)
    family, _, qualifier = cell.column.partition(b":")
    return f"{showing.formatter(family)}:{showing.formatter(qualifier)}"


def cell_text(cell: AdminCell, showing: Showing) -> str:
    moment = text.timestamp(cell.timestamp)
    if cell.kind != PUT:
        shown = f"timestamp={moment}, type={_TYPES.get(cell.kind, str(cell.kind))}"
    elif showing.plain:
        return f"timestamp={moment}, value={text.binary(cell.value)}"
    else:
        formatter = showing.by_column.get(cell.column, showing.formatter)
        shown = f"timestamp={moment}, value={formatter(cell.value)}"
    if showing.max_length == -1:
        return shown
    return shown[: max(showing.max_length, 0)]


def record(row: bytes, cell: AdminCell) -> dict[str, object]:
    """The cell for programs."""
    made: dict[str, object] = {"row": row, "column": cell.column, "timestamp": cell.timestamp}
    if cell.kind == PUT:
        made["value"] = cell.value
    else:
        made["type"] = _TYPES.get(cell.kind, str(cell.kind))
    return made
