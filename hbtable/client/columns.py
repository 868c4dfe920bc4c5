"""Column names as callers write them (HBase: reference/hbase-thrift.md, section 1.3).

f       the whole family            f:      the column with the empty qualifier
f:q     one column; the qualifier may hold ':' itself
"""

from hbtable.errors import InvalidRequest
from hbtable.model.mutation import DELETE_COLUMN, DELETE_FAMILY, PUT, Operation


def check_bytes(what: str, given: object) -> None:
    """InvalidRequest unless it is bytes: text would go far before something stumbles over it."""
    if not isinstance(given, bytes):
        raise InvalidRequest(f"the {what} {given!r} is {type(given).__name__}, and has to be bytes")


def put(column: bytes, value: bytes, timestamp: int) -> Operation:
    """InvalidRequest for a family without a qualifier, and for what is not bytes."""
    if type(value) is not bytes or type(column) is not bytes:
        check_bytes("value", value)
        check_bytes("column", column)
    family, colon, qualifier = column.partition(b":")
    if not colon:
        raise InvalidRequest(f"column {column!r} of a put needs a ':' after its family")
    return (PUT, family, qualifier, timestamp, value)


def delete(column: bytes, timestamp: int) -> Operation:
    """All versions up to the timestamp, of a column or of a whole family."""
    family, colon, qualifier = column.partition(b":")
    return (DELETE_COLUMN if colon else DELETE_FAMILY, family, qualifier, timestamp, b"")
