"""Thrift2's structs, as tuples in the order of thrift/hbase2.thrift. What was not sent is None."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

Attributes = Mapping[bytes, bytes]


class TTimeRange(NamedTuple):
    """Times from `min_stamp` to before `max_stamp`."""

    min_stamp: int
    max_stamp: int


class TColumn(NamedTuple):
    """A family, or one column of it. The time counts in deletes only."""

    family: bytes
    qualifier: bytes | None = None
    timestamp: int | None = None


class TColumnValue(NamedTuple):
    """A cell, written or read."""

    family: bytes
    qualifier: bytes
    value: bytes
    timestamp: int | None = None
    tags: bytes | None = None
    type: int | None = None


class TColumnIncrement(NamedTuple):
    """An amount to add to one counter."""

    family: bytes
    qualifier: bytes
    amount: int | None = None


class TResult(NamedTuple):
    """The cells of a row; `partial`: of a piece of it. No row: there is none."""

    row: bytes | None
    column_values: Sequence[TColumnValue]
    stale: bool | None = None
    partial: bool | None = None


class TAuthorization(NamedTuple):
    """Visibility labels, of which hbtable has none."""

    labels: Sequence[str] | None = None


class TCellVisibility(NamedTuple):
    """An expression of visibility labels, of which hbtable has none."""

    expression: str | None = None


class TGet(NamedTuple):
    """A row to read, and what of it."""

    row: bytes
    columns: Sequence[TColumn] | None = None
    timestamp: int | None = None
    time_range: TTimeRange | None = None
    max_versions: int | None = None
    filter_string: bytes | None = None
    attributes: Attributes | None = None
    authorizations: TAuthorization | None = None
    consistency: int | None = None
    target_replica_id: int | None = None
    cache_blocks: bool | None = None
    store_limit: int | None = None
    store_offset: int | None = None
    existence_only: bool | None = None
    filter_bytes: bytes | None = None


class TPut(NamedTuple):
    """Cells to write into a row."""

    row: bytes
    column_values: Sequence[TColumnValue]
    timestamp: int | None = None
    attributes: Attributes | None = None
    durability: int | None = None
    cell_visibility: TCellVisibility | None = None


class TDelete(NamedTuple):
    """Deletes in a row: all of it, or columns by type."""

    row: bytes
    columns: Sequence[TColumn] | None = None
    timestamp: int | None = None
    delete_type: int | None = None
    attributes: Attributes | None = None
    durability: int | None = None


class Thrift2Increment(NamedTuple):
    """Counters of a row."""

    row: bytes
    columns: Sequence[TColumnIncrement]
    attributes: Attributes | None = None
    durability: int | None = None
    cell_visibility: TCellVisibility | None = None
    return_results: bool | None = None


class Thrift2Append(NamedTuple):
    """Suffixes for columns of a row."""

    row: bytes
    columns: Sequence[TColumnValue]
    attributes: Attributes | None = None
    durability: int | None = None
    cell_visibility: TCellVisibility | None = None
    return_results: bool | None = None


class Thrift2Scan(NamedTuple):
    """Rows to scan, and what of them."""

    start_row: bytes | None = None
    stop_row: bytes | None = None
    columns: Sequence[TColumn] | None = None
    caching: int | None = None
    max_versions: int | None = None
    time_range: TTimeRange | None = None
    filter_string: bytes | None = None
    batch_size: int | None = None
    attributes: Attributes | None = None
    authorizations: TAuthorization | None = None
    reversed: bool | None = None
    cache_blocks: bool | None = None
    family_time_ranges: Mapping[bytes, TTimeRange] | None = None
    read_type: int | None = None
    limit: int | None = None
    consistency: int | None = None
    target_replica_id: int | None = None
    filter_bytes: bytes | None = None


class TMutation(NamedTuple):
    """A put or a delete; a union."""

    put: TPut | None = None
    delete_single: TDelete | None = None


class TRowMutations(NamedTuple):
    """Puts and deletes of one row, all or none."""

    row: bytes
    mutations: Sequence[TMutation]


class THRegionInfo(NamedTuple):
    """A tablet."""

    region_id: int
    table_name: bytes
    start_key: bytes | None = None
    end_key: bytes | None = None
    offline: bool | None = None
    split: bool | None = None
    replica_id: int | None = None


class TServerName(NamedTuple):
    """A tablet server by its gateway's address."""

    host_name: str
    port: int | None = None
    start_code: int | None = None


class THRegionLocation(NamedTuple):
    """A tablet and who serves it."""

    server_name: TServerName
    region_info: THRegionInfo


class TTableName(NamedTuple):
    """A table by namespace and name."""

    ns: bytes | None
    qualifier: bytes


class TColumnFamilyDescriptor(NamedTuple):
    """A family's settings."""

    name: bytes
    attributes: Attributes | None = None
    configuration: Mapping[str, str] | None = None
    block_size: int | None = None
    bloom_filter_type: int | None = None
    compression_type: int | None = None
    dfs_replication: int | None = None
    data_block_encoding: int | None = None
    keep_deleted_cells: int | None = None
    max_versions: int | None = None
    min_versions: int | None = None
    scope: int | None = None
    time_to_live: int | None = None
    block_cache_enabled: bool | None = None
    cache_blooms_on_write: bool | None = None
    cache_data_on_write: bool | None = None
    cache_indexes_on_write: bool | None = None
    compress_tags: bool | None = None
    evict_blocks_on_close: bool | None = None
    in_memory: bool | None = None


class TTableDescriptor(NamedTuple):
    """A table's settings."""

    table_name: TTableName
    columns: Sequence[TColumnFamilyDescriptor] | None = None
    attributes: Attributes | None = None
    durability: int | None = None


class TNamespaceDescriptor(NamedTuple):
    """A namespace and its properties."""

    name: str
    configuration: Mapping[str, str] | None = None
