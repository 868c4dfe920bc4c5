"""Column names as callers write them (HBase: reference/hbase-thrift.md, section 1.3).

f       the whole family            f:      the column with the empty qualifier
f:q     one column; the qualifier may hold ':' itself
"""

from collections.abc import Iterable

from hbtable.errors import InvalidRequest
from hbtable.model.mutation import DELETE_COLUMN, DELETE_FAMILY, PUT, Operation
from hbtable.model.read import Columns


def selection(columns: Iterable[bytes] | None) -> Columns | None:
    """For a ReadSpec: the union of what is named; None or nothing named means everything."""
    chosen: dict[bytes, set[bytes] | None] = {}
    for column in columns or ():
        family, colon, qualifier = column.partition(b":")
        if not colon:
            chosen[family] = None
            continue
        qualifiers = chosen.setdefault(family, set())
        if qualifiers is not None:
            qualifiers.add(qualifier)
    if not chosen:
        return None
    return {family: None if wanted is None else frozenset(wanted) for family, wanted in chosen.items()}


def put(column: bytes, value: bytes, timestamp: int) -> Operation:
    """InvalidRequest for a family without a qualifier."""
    family, colon, qualifier = column.partition(b":")
    if not colon:
        raise InvalidRequest(f"column {column!r} of a put needs a ':' after its family")
    return (PUT, family, qualifier, timestamp, value)


def delete(column: bytes, timestamp: int) -> Operation:
    """All versions up to the timestamp, of a column or of a whole family."""
    family, colon, qualifier = column.partition(b":")
    return (DELETE_COLUMN if colon else DELETE_FAMILY, family, qualifier, timestamp, b"")
