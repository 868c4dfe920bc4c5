"""A table's record in METADATA: its id, state and schema, under its name row."""

from dataclasses import dataclass
from enum import Enum

from hbtable.model.schema import TableSchema


class TableState(Enum):
    """The master finishes CREATING, ENABLING, DISABLING and DELETING when it finds them after a crash."""

    CREATING = "creating"
    ENABLED = "enabled"
    ENABLING = "enabling"
    DISABLING = "disabling"
    DISABLED = "disabled"
    DELETING = "deleting"


@dataclass(frozen=True, slots=True)
class TableRecord:
    """A table: its id never changes hands, its name may be used again after a drop."""

    table_id: int
    state: TableState
    schema: TableSchema
