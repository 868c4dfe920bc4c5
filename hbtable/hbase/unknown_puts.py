"""Puts whose outcome is unknown, as after the death of their server.

They may be sent again, as clients of HBase do: the same values stand there once more. Not by us: between the two
another client may have read the first and written its own, and the caller alone knows whether that matters. A delete
would take what others wrote meanwhile along, and a counter would count twice: these are not to be sent again.
"""

from collections.abc import Sequence

from hbtable.client.table_calls import TableCalls
from hbtable.errors import OutcomeUnknown
from hbtable.hbase.errors import PutsUnknown
from hbtable.model.mutation import PUT, RowMutation
from hbtable.model.put_batch import PutBatch
from hbtable.switches import switches


@switches
def apply(named: TableCalls, changes: Sequence[RowMutation]) -> None:
    """As mutate(), for callers from outside. PutsUnknown."""
    try:
        named.mutate(changes)
    except OutcomeUnknown as error:
        if type(changes) is PutBatch or all(
            operation[0] == PUT for change in changes for operation in change.operations
        ):
            raise of_puts(error) from error
        raise


def of_puts(error: OutcomeUnknown) -> PutsUnknown:
    """The same error, of puts alone."""
    return PutsUnknown(f"{error}. The same puts may be sent again: they write the same values")
