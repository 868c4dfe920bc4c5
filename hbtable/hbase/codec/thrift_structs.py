"""The structs that clients send, as tuples in the order of thrift/hbase.thrift. Absent fields are None unless the
interface gives a default.

Mutations and puts come in thousands per call; the fast readers make plain tuples of the same shape for them.
"""

from typing import NamedTuple


class Mutation(NamedTuple):
    """A put or a delete of one column, or a delete of a family."""

    is_delete: bool = False
    column: bytes | None = None
    value: bytes | None = None
    write_to_log: bool = True


class BatchMutation(NamedTuple):
    """The mutations of one row among others."""

    row: bytes | None = None
    mutations: list[Mutation] | None = None


class RowPut(NamedTuple):
    """A BatchMutation of a single put that goes to the log, which is what most are. Its length tells it from others."""

    row: bytes
    column: bytes
    value: bytes


def row_batch(row: bytes | None = None, mutations: list[Mutation] | None = None) -> BatchMutation | RowPut:
    """A BatchMutation that was read element by element, in the form that the fast reader gives."""
    if row is not None and mutations is not None and len(mutations) == 1:
        is_delete, column, value, write_to_log = mutations[0]
        if not is_delete and column is not None and value is not None and write_to_log:
            return RowPut(row, column, value)
    return BatchMutation(row, mutations)


class ColumnDescriptor(NamedTuple):
    """A column family to be created; a time to live of 0 or less means forever."""

    name: bytes | None = None
    max_versions: int = 3
    compression: str = "NONE"
    in_memory: bool = False
    bloom: str = "NONE"
    bloom_vector_size: int = 0
    bloom_hashes: int = 0
    block_cache: bool = False
    ttl_seconds: int = 2147483647


class TIncrement(NamedTuple):
    """An amount to add to one counter."""

    table: bytes | None = None
    row: bytes | None = None
    column: bytes | None = None
    amount: int | None = None


class TAppend(NamedTuple):
    """Suffixes for columns of one row, one value a column."""

    table: bytes | None = None
    row: bytes | None = None
    columns: list[bytes] | None = None
    values: list[bytes] | None = None


class TScan(NamedTuple):
    """A scan: rows, columns, times, filter, and the form of the answers."""

    start_row: bytes | None = None
    stop_row: bytes | None = None
    timestamp: int | None = None
    columns: list[bytes] | None = None
    caching: int | None = None
    filter: bytes | None = None
    batch_size: int | None = None
    sort_columns: bool | None = None
    reversed: bool | None = None
    cache_blocks: bool | None = None


class AccessControlEntity(NamedTuple):
    """A permission."""

    username: str | None = None
    scope: int | None = None
    actions: str | None = None
    table: bytes | None = None
    namespace: str | None = None
