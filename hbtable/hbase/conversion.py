"""Arguments of the interface in hbtable's terms: columns, times, mutations, family descriptors.

Everything that can be refused without looking at the table is refused here, as BadArgument, before any I/O.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from hbtable.client import columns as column_names
from hbtable.errors import NoSuchFamily
from hbtable.hbase.codec.thrift_structs import ColumnDescriptor
from hbtable.hbase.errors import DO_NOT_RETRY, BadArgument, JavaError, TooLongArgument
from hbtable.model import names
from hbtable.model.cell import MAX_TIMESTAMP, SERVER_TIME
from hbtable.model.file_settings import NEVER_COMPRESSED
from hbtable.model.mutation import MAX_ROW_BYTES, PUT, Operation, RowMutation
from hbtable.model.read import Columns
from hbtable.model.schema import BLOOM_TYPES, COMPRESSIONS, FOREVER_SECONDS, OFFERED_COMPRESSIONS, FamilySchema
from hbtable.model.schema_limits import check_counts
from hbtable.switches import switches

CELL_OVERHEAD_BYTES: Final = 20
"""HBase's count for a cell beside row, column and value."""

_MUTATIONS_BETWEEN_PAUSES: Final = 256

Mutation = tuple[bool, bytes | None, bytes | None, bool]
Mutations = Sequence[Mutation]
Batch = tuple[bytes | None, Mutations | None] | tuple[bytes, bytes, bytes]
"""The changes of one row: (row, mutations), or a RowPut."""
Batches = Sequence[Batch]


def check_row(row: bytes | None) -> bytes:
    if row is None:
        raise BadArgument("the call has no row")
    if not row:
        raise BadArgument("Row length is 0")
    if len(row) > MAX_ROW_BYTES:
        raise TooLongArgument(f"Row length {len(row)} is > {MAX_ROW_BYTES}")
    return row


def given_column(column: bytes | None) -> bytes:
    if column is None:
        raise BadArgument("the call has no column")
    return column


def full_column(column: bytes | None, what: str) -> tuple[bytes, bytes]:
    """(family, qualifier) of a column that must have a colon."""
    if column is None:
        raise BadArgument(f"{what} has no column")
    family, colon, qualifier = column.partition(b":")
    if not colon:
        raise BadArgument(f"{what} names the family {shown(column)} only; a column is family:qualifier")
    return family, qualifier


def check_families(columns: Columns | None, families: Mapping[bytes, FamilySchema], table: bytes) -> None:
    for family in columns or ():
        if family not in families:
            raise NoSuchFamily(f"Column family {shown(family)} does not exist in table {shown(table)}")


def upper_bound(timestamp: int | None) -> int:
    """The exclusive bound of a read; absent is 0, as a Java server sees it."""
    if timestamp is None:
        return 0
    if timestamp < 0:
        raise BadArgument(f"Timestamp cannot be negative. maxStamp:{timestamp}")
    return timestamp


def write_time(timestamp: int | None) -> int:
    if timestamp is None:
        return 0
    if timestamp < 0:
        raise BadArgument(f"Timestamp cannot be negative. ts={timestamp}")
    return SERVER_TIME if timestamp == MAX_TIMESTAMP else timestamp


def ttl_millis(attributes: Mapping[bytes, bytes] | None) -> int:
    """The `_ttl` attribute: eight bytes, big-endian, milliseconds; 0 when there is none."""
    if not attributes:
        return 0
    value = attributes.get(b"_ttl")
    if value is None:
        return 0
    if len(value) != 8:
        raise BadArgument(f"the attribute _ttl has {len(value)} bytes; 8 bytes of milliseconds, big-endian, are due")
    return max(0, int.from_bytes(value, "big", signed=True))


def put(row: bytes, column: bytes | None, value: bytes | None, timestamp: int, cell_bytes: int) -> Operation:
    """Run once for every cell written."""
    if column is not None:
        family, colon, qualifier = column.partition(b":")
        if colon:
            if value is None:
                value = b""
            if len(row) + len(column) + len(value) + CELL_OVERHEAD_BYTES <= cell_bytes:
                return PUT, family, qualifier, timestamp, value
    raise _refused_put(row, column, value, cell_bytes)


def _refused_put(row: bytes, column: bytes | None, value: bytes | None, cell_bytes: int) -> BadArgument:
    if column is None:
        return BadArgument(f"a mutation of row {shown(row)} has no column")
    if not column:
        return BadArgument(f"a put into row {shown(row)} has an empty column; a column is family:qualifier")
    if b":" not in column:
        return BadArgument(
            f"a put into row {shown(row)} names the family {shown(column)} only; a column is family:qualifier"
        )
    size = len(row) + len(column) + len(value or b"") + CELL_OVERHEAD_BYTES
    return BadArgument(
        f"KeyValue size too large: column {shown(column)} of row {shown(row)} would take {size} bytes, the limit is "
        f"{cell_bytes} (thrift.cell_bytes): make it smaller, or have the limit raised"
    )


def delete(row: bytes, column: bytes | None, timestamp: int) -> Operation:
    if column is None:
        raise BadArgument(f"a mutation of row {shown(row)} has no column")
    return column_names.delete(column, timestamp)


@switches
def row_mutation(
    row: bytes | None,
    mutations: Mutations | None,
    timestamp: int,
    ttl: int,
    cell_bytes: int,
    deletes_first: bool,
    pause: Callable[[], object],
) -> RowMutation:
    """One atomic change. `deletes_first`: mutateRow's order, so that a put of the same call survives.

    The log is skipped only when every mutation asks for it. `pause` is called between many.
    """
    if row and mutations and len(mutations) == 1:
        is_delete, column, value, to_log = mutations[0]
        # The common one: a put of one cell. Each step here is paid for each row of a batch.
        if not is_delete and column is not None and value is not None and len(row) <= MAX_ROW_BYTES:
            family, colon, qualifier = column.partition(b":")
            if colon and len(row) + len(column) + len(value) + CELL_OVERHEAD_BYTES <= cell_bytes:
                return RowMutation(row, [(PUT, family, qualifier, timestamp, value)], not to_log, ttl)
    row = check_row(row)
    if mutations is None:
        raise BadArgument(f"the call has no mutations for row {shown(row)}")
    operations: list[Operation] = []
    deletes: list[Operation] = []
    skip_log = True
    many = len(mutations) > _MUTATIONS_BETWEEN_PAUSES
    for is_delete, column, value, to_log in _paused(mutations, pause) if many else mutations:
        if to_log:
            skip_log = False
        if not is_delete:
            operations.append(put(row, column, value, timestamp, cell_bytes))
        elif deletes_first:
            deletes.append(delete(row, column, timestamp))
        else:
            operations.append(delete(row, column, timestamp))
    return RowMutation(row, deletes + operations if deletes else operations, skip_log, ttl)


@switches
def _paused(mutations: Mutations, pause: Callable[[], object]) -> Iterator[Mutation]:
    for number, mutation in enumerate(mutations, 1):
        if not number % _MUTATIONS_BETWEEN_PAUSES:
            pause()
        yield mutation


def family_schemas(table: str, descriptors: Sequence[ColumnDescriptor] | None) -> dict[bytes, FamilySchema]:
    """Families of a table to be created."""
    if descriptors is None:
        raise BadArgument("the call has no column families")
    check_counts(table, len(descriptors), ())
    found = by_name(map(family_schema, descriptors))
    if not found:
        raise JavaError(DO_NOT_RETRY, "Table should have at least one column family")
    return found


def by_name(families: Iterable[FamilySchema]) -> dict[bytes, FamilySchema]:
    """BadArgument where one is named twice: nobody could say which is meant."""
    found: dict[bytes, FamilySchema] = {}
    for family in families:
        if family.name in found:
            raise BadArgument(f"Family {shown(family.name)} already exists so cannot be added")
        found[family.name] = family
    return found


def family_schema(descriptor: ColumnDescriptor) -> FamilySchema:
    """A name may come with a colon, or even a qualifier, behind it."""
    if not descriptor.name:
        raise BadArgument("column name is empty", bare=True)
    name = descriptor.name.partition(b":")[0]
    if not name:
        raise BadArgument("Column Family name can not be empty")
    names.check_family(name)
    if descriptor.max_versions <= 0:
        raise BadArgument(f"Maximum versions must be positive, family {shown(name)} has {descriptor.max_versions}")
    compression = descriptor.compression.upper()
    if compression not in COMPRESSIONS:
        raise BadArgument(
            f"Unsupported compression algorithm name: {descriptor.compression!r}; there is "
            f"{', '.join(OFFERED_COMPRESSIONS)}"
        )
    if compression == NEVER_COMPRESSED:
        raise JavaError(
            DO_NOT_RETRY,
            f"Compression algorithm {compression} is not available, family {shown(name)} asks for it; there is "
            f"{', '.join(OFFERED_COMPRESSIONS)}",
        )
    if descriptor.bloom == "ROWPREFIX_FIXED_LENGTH":
        raise JavaError(DO_NOT_RETRY, "bloom filters of fixed row prefixes are not supported; take ROW or ROWCOL")
    if descriptor.bloom not in BLOOM_TYPES:
        raise BadArgument(f"No enum constant BloomType.{descriptor.bloom}; there is {', '.join(BLOOM_TYPES)}")
    return FamilySchema(
        name=name,
        max_versions=descriptor.max_versions,
        ttl_seconds=descriptor.ttl_seconds if descriptor.ttl_seconds > 0 else FOREVER_SECONDS,
        compression=compression,
        bloom=descriptor.bloom,
        in_memory=descriptor.in_memory,
        block_cache=descriptor.block_cache,
    )


def shown(name: bytes) -> str:
    """The bytes for a message: printable, without quotes, long ones cut."""
    text = name.decode("utf-8", "backslashreplace")
    return text if len(text) <= 80 else f"{text[:77]}..."
