"""The report of a repair: changes, and losses that could not be brought back."""

from dataclasses import dataclass, field

from hbtable.encoding.cell_key import row_of
from hbtable.model.names import shown


@dataclass(slots=True)
class Report:
    """Messages."""

    done: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Messages about what was left as it was, and is worth a look."""

    @property
    def is_empty(self) -> bool:
        return not self.done and not self.lost


def shown_rows(start_key: bytes, stop_key: bytes) -> str:
    """A range of cell keys as rows: both ends may be there in part."""
    first = repr(row_of(start_key)) if start_key else "the first one"
    last = repr(row_of(stop_key)) if stop_key else "the last one"
    return f"row {first}" if first == last and start_key else f"rows from {first} to {last}"


def shown_table(name: bytes | None, table_id: int) -> str:
    return f"table {shown(name)}" if name is not None else f"the table with id {table_id}"
