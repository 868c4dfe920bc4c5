"""Record batches and frames into a table: Table.write_arrow and Table.put_frame."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa

from hbtable.arrow.writing import Targets, Types, batches_of, mutations_of
from hbtable.client.table_calls import TableCalls
from hbtable.errors import WrongType, WrongValue
from hbtable.model.mutation import RowMutation
from hbtable.model.values import shown
from hbtable.switches import switches

_ROWS_AT_ONCE: Final = 1000
_BYTES_AT_ONCE: Final = 4 << 20
_INDEX: Final = "the frame's index"


@switches
def written(table: TableCalls, batches: object, row: str, columns: Targets, types: Types, timestamp: int) -> int:
    """The number of rows put. Any error says how many were, also one of whatever makes the batches."""
    count = 0
    try:
        for batch in batches_of(batches):
            for part in _parts(mutations_of(batch, row, columns, types, timestamp)):
                table.mutate(part)
                count += len(part)
    except BaseException as error:
        if count:
            error.add_note(f"{count} rows before it were written")
        raise
    return count


def _parts(mutations: Iterator[RowMutation]) -> Iterator[Sequence[RowMutation]]:
    """In calls of bounded size."""
    part: list[RowMutation] = []
    size = 0
    for mutation in mutations:
        part.append(mutation)
        size += sum(len(operation[4]) for operation in mutation.operations)
        if len(part) >= _ROWS_AT_ONCE or size >= _BYTES_AT_ONCE:
            yield part
            part, size = [], 0
    if part:
        yield part


def frame_batches(frame: Any, row: str | None) -> tuple[object, str]:
    """The record batches of a frame, and the field of its rows. InvalidRequest."""
    if type(frame).__module__.partition(".")[0] == "pandas" and hasattr(frame, "index") and hasattr(frame, "columns"):
        return _of_pandas(frame, row)
    if not hasattr(frame, "__arrow_c_stream__"):
        kind = type(frame).__name__
        raise WrongType(f"'frame' {shown(frame)} is {kind}, and has to be a DataFrame of pandas or Polars")
    if row is None:
        raise WrongValue("'row' has to name the frame's column of rows: only a frame of pandas has an index")
    return frame, row


def _of_pandas(frame: Any, row: str | None) -> tuple[object, str]:
    if row is None and _INDEX in frame.columns:
        raise WrongValue(f"a column is called {_INDEX!r}, so 'row' has to say which one has the rows")
    try:
        table = pa.Table.from_pandas(frame, preserve_index=False)
        if row is not None:
            return table, row
        return table.append_column(_INDEX, pa.Array.from_pandas(frame.index)), _INDEX
    except (pa.ArrowException, ValueError, TypeError, OverflowError, RecursionError) as error:
        raise WrongValue(f"the frame is no table of Arrow: {error}") from None
