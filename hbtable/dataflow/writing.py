"""A task's rows, written so that a task that runs twice leaves what it leaves once."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from hbtable.client.columns import K, Key, write_time
from hbtable.client.given import seconds
from hbtable.dataflow.places import RETRY_SECONDS, Place, place_of, table_at
from hbtable.errors import WrongType, WrongValue
from hbtable.launch.connected import ConnectedDatabase
from hbtable.library.table import Table
from hbtable.model.values import shown
from hbtable.switches import switches

if TYPE_CHECKING:
    from pyarrow import DataType

ROWS_AT_ONCE: Final = 1000
BYTES_AT_ONCE: Final = 4 << 20
"""The rows, or bytes of their values, that are sent at a time."""

Put = tuple[str | bytes, Mapping[Any, str | bytes]]
"""A row, and what is put into it by column."""
Rows = Iterable[Put]


@dataclass(frozen=True, slots=True)
class WriteTarget:
    """A table to write to, for a task in any process: it can be pickled, and shows no secret."""

    place: Place
    table: bytes


@dataclass(frozen=True, slots=True)
class ArrowWrite:
    """A table to write record batches to, and how (Table.write_arrow), for an engine's tasks: it can be pickled."""

    target: WriteTarget
    row: str
    columns: "Mapping[str, Key] | Sequence[str] | None"
    types: "Mapping[Any, DataType | None] | None"
    timestamp: int | None
    """None: whoever begins the job gives it one."""


def target(table: Table) -> WriteTarget:
    """The table, for write() in another process. As for splits(), a database of hbtable.open() is shared from now
    on."""
    return WriteTarget(place_of(table), table.name)


@switches
def write(
    table: Table | WriteTarget, batches: Iterable[Rows], timestamp: int, retry_seconds: float = RETRY_SECONDS
) -> int:
    """Puts all rows of all batches, each cell with the time `timestamp` (milliseconds since 1970), which the job takes
    once, when it begins: so a task that is run again writes the same cells, and nothing is there twice. How many rows.

    Durable on return. A thousand rows are sent at a time, and sent again, for `retry_seconds`, while no server takes
    them or their connection breaks. After an error some rows are written: run the task again, with the same time.
    What is deleted meanwhile stays deleted; what has a later time is not covered.
    """
    retry_seconds = seconds("'retry_seconds'", retry_seconds)
    if write_time(timestamp) < 0:
        raise WrongValue(
            "'timestamp' has to be the one time of the job: without it a task that runs twice writes twice"
        )
    rows = 0
    with _writable(table, retry_seconds) as open_table:
        for some in _parts(batches):
            with open_table.batch(timestamp=timestamp, transaction=True) as batch:
                for row, data in some:
                    batch.put(row, data)
            rows += len(some)
    return rows


def arrow_write(
    table: Table,
    row: str,
    columns: "Mapping[str, Key] | Iterable[str] | None",
    types: "Mapping[K, DataType | None] | None",
    timestamp: int | None,
) -> ArrowWrite:
    """WrongType and WrongValue: now, not in a task."""
    if not isinstance(row, str):
        raise WrongType(f"'row' {shown(row)} is {type(row).__name__}, and has to be the name of the frame's field")
    kept = columns if columns is None or isinstance(columns, Mapping) else tuple(columns)
    write_time(timestamp)
    return ArrowWrite(target(table), row, kept, types, timestamp)


@switches
def write_arrow(job: ArrowWrite, batches: object) -> None:
    """One task's. Durable on return; rows are sent again as write() sends them."""
    with table_at(job.target.place, job.target.table, RETRY_SECONDS, repeats_writes=True) as table:
        table.write_arrow(batches, job.row, job.columns, types=job.types, timestamp=job.timestamp)


def size_of(data: Mapping[Any, str | bytes]) -> int:
    """The bytes of a row's values, as BYTES_AT_ONCE counts."""
    return sum(len(value) for value in data.values())


def _parts(batches: Iterable[Rows]) -> Iterator[list[Put]]:
    """The rows that are sent at a time."""
    part: list[Put] = []
    size_bytes = 0
    for row, data in chain.from_iterable(batches):
        part.append((row, data))
        size_bytes += size_of(data)
        if len(part) == ROWS_AT_ONCE or size_bytes >= BYTES_AT_ONCE:
            yield part
            part, size_bytes = [], 0
    if part:
        yield part


@contextmanager
def _writable(table: Table | WriteTarget, retry_seconds: float) -> Iterator[Table]:
    if isinstance(table, Table) and not isinstance(table.connection, ConnectedDatabase):
        yield table
        return
    if not isinstance(table, (Table, WriteTarget)):
        raise WrongType(
            f"the table {shown(table)} is {type(table).__name__}: it has to be an hbtable.Table or a WriteTarget"
        )
    to = target(table) if isinstance(table, Table) else table
    with table_at(to.place, to.table, retry_seconds, repeats_writes=True) as open_table:
        yield open_table
