"""Deletes of a column's newest version: the one kind of write that has to read before it has a time."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from hbtable.model.cell import MAX_TIMESTAMP, SERVER_TIME
from hbtable.model.mutation import DELETE_VERSION, PUT, Operation, RowMutation
from hbtable.model.read import ReadSpec
from hbtable.runtime.slices import with_pauses
from hbtable.switches import switches
from hbtable.tablet.reads.reading import read_row
from hbtable.tablet.state import TabletState
from hbtable.tablet.writes.as_sent import check_unchanged

_LOOKED_AT_ONCE: Final = 256


@switches
def with_times(state: TabletState, mutation: RowMutation, pause: Callable[[], None]) -> RowMutation:
    """Server-timed DELETE_VERSION operations get the time of the version they mask: the newest one of the column, and
    the n-th newest for the n-th of them (HBase). Without such a version the newest one is what the mutation itself put
    into the column before, if it did: as in HBase that put is not seen. Else nothing is masked. What the server times
    from now on in the row is later than what they mask. The caller holds the row."""
    check_unchanged((mutation,))
    operations: list[Operation | None] = []
    puts: dict[tuple[bytes, bytes], list[int]] = {}
    looked = with_pauses(mutation.operations, pause, _LOOKED_AT_ONCE)
    wanted = Counter(one[1:3] for one in looked if one[0] == DELETE_VERSION and _has_server_time(one))
    newest: dict[tuple[bytes, bytes], Iterator[int]] = {}
    for operation in mutation.operations:
        kind, family, qualifier, _, value = operation
        column = family, qualifier
        if kind != DELETE_VERSION or not _has_server_time(operation):
            if kind == PUT and _has_server_time(operation):
                puts.setdefault(column, []).append(len(operations))
            operations.append(operation)
            continue
        if column not in newest:
            newest[column] = iter(_newest_times(state, mutation.row, family, qualifier, wanted[column]))
        time = next(newest[column], None)
        if time is not None:
            operations.append((kind, family, qualifier, time, value))
            state.clock.mask(mutation.row, time)
        else:
            operations.append(None)
            for place in puts.pop(column, ()):
                operations[place] = None
        pause()
    left = [operation for operation in operations if operation is not None]
    resolved = RowMutation(mutation.row, left, mutation.skip_log, mutation.ttl_millis)
    if mutation.ttls is not None:
        both = zip(operations, mutation.ttls, strict=True)
        resolved.ttls = [ttl for operation, ttl in both if operation is not None]
    return resolved


@switches
def _newest_times(state: TabletState, row: bytes, family: bytes, qualifier: bytes, count: int) -> list[int]:
    """The times of the newest versions of a column, the newest first."""
    state.row_locks.wait_until_visible(row)
    spec = ReadSpec(columns={family: frozenset((qualifier,))}, max_versions=count)
    return [cell[1] for cell in read_row(state, row, spec)]


def _has_server_time(operation: Operation) -> bool:
    return operation[3] in (SERVER_TIME, MAX_TIMESTAMP)
