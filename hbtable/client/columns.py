"""Column names as callers write them (docs/contract.md: columns in calls), as bytes, or as text for its UTF-8.

f       the whole family            f:      the column with the empty qualifier
f:q     one column; the qualifier may hold ':' itself
"""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from hbtable.client.given import bytes_of, members, whole_number
from hbtable.errors import WrongType, WrongValue
from hbtable.model.cell import MAX_TIMESTAMP, SERVER_TIME
from hbtable.model.mutation import DELETE_COLUMN, DELETE_FAMILY, PUT, Operation
from hbtable.model.values import shown

Key = bytes | str
"""A row, a column or a value."""
K = TypeVar("K", bound=Key)
"""The keys of a dict, all of a kind: a type checker takes no union of dicts for one that is written out."""
Data = Mapping[K, Key]
"""Of a put: values by column."""


def put(column: Key, value: Key, timestamp: int) -> Operation:
    """InvalidRequest for a family without a qualifier, and for what is no bytes."""
    if type(value) is not bytes or type(column) is not bytes:
        value = bytes_of("the value", value)
        column = bytes_of("the column", column)
    family, colon, qualifier = column.partition(b":")
    if not colon:
        raise WrongValue(f"column {shown(column)} of a put needs a ':' after its family")
    return (PUT, family, qualifier, timestamp, value)


def cells(data: Data[K]) -> Iterable[tuple[K, Key]]:
    """Column and value of each cell of a put. InvalidRequest unless it is a dict, or something like one."""
    try:
        return data.items()
    except (AttributeError, TypeError):
        kind = type(data).__name__
        raise WrongType(f"data {shown(data)} is {kind}, and has to be a dict from column to value") from None


def write_time(timestamp: int | None) -> int:
    """The time of a put or a delete; None: the server's. InvalidRequest."""
    if timestamp is None:
        return SERVER_TIME
    return whole_number("timestamp", timestamp, 0, MAX_TIMESTAMP)


def full(column: Key) -> tuple[bytes, bytes]:
    """(family, qualifier) of one column. InvalidRequest."""
    name = bytes_of("the column", column)
    family, colon, qualifier = name.partition(b":")
    if not colon:
        raise WrongValue(f"column {shown(name)} needs a ':' after its family")
    return family, qualifier


def listed(columns: Iterable[Key]) -> list[bytes]:
    """The columns that a caller names. InvalidRequest."""
    return [bytes_of("the column", column) for column in members("columns", columns)]


def delete(column: bytes, timestamp: int) -> Operation:
    """All versions up to the timestamp, of a column or of a whole family."""
    family, colon, qualifier = column.partition(b":")
    return (DELETE_COLUMN if colon else DELETE_FAMILY, family, qualifier, timestamp, b"")
