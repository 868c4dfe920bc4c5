r"""An SSTable's description of itself: enough to rebuild METADATA from the files alone.

Stored as a block (sstable.block). Its keys are the names of the fields below. Its values are varints for numbers, plain
bytes for keys, and UTF-8 for texts; `replaced` is a row of texts, each behind its length. Unknown names are skipped, so
a later hbtable may add fields without a new format version. Files of older hbtables lack the fields of `Origin` and of
`GarbageCounts`, `since_millis`, `replaced_ranges`, and `earliest_put`.
"""

from dataclasses import dataclass
from typing import Final

from hbtable.encoding import varint
from hbtable.errors import Corruption
from hbtable.model.range_delete import RangeDelete
from hbtable.sstable.block import Block, encode_block


@dataclass(frozen=True, slots=True)
class Origin:
    """The tablet as METADATA had it when the file was begun. With it, `hbtable repair` makes METADATA anew when that
    is lost: a file that names no rows and no schema tells neither where its tablet ended nor what its table was."""

    start: bytes
    stop: bytes
    """The tablet's rows; b"" as in model.ranges."""
    complete_to: int
    """No log is needed for these families up to this sequence: the file and older ones have it all."""
    table: bytes
    """The table's record (encoding.table_record), enabled; b"" in METADATA's own files, whose schema is fixed."""


@dataclass(frozen=True, slots=True)
class SSTableIdentity:
    """The tablet and the group that own the file, known before its first cell."""

    table_id: int
    tablet_id: int
    group: str
    generation: int
    """The tablet's generation that wrote it."""
    replaced: tuple[str, ...] = ()
    """Paths of the inputs of the compaction that wrote it: whoever rebuilds METADATA must not use those again."""
    clock_millis: int = 0
    """The highest time that the server assigned to a cell of the tablet before the file was begun; 0: none."""
    origin: Origin | None = None
    """None in files of older hbtables."""
    since_millis: int = 0
    """The time at which the oldest change in it was flushed that no major compaction has seen; 0: nobody said."""
    replaced_ranges: tuple[tuple[RangeDelete, ...], ...] = ()
    """Of each of `replaced`, the ranges of its rows that were deleted since it was written, and are not in this file:
    should that file come back in place of this one, they stay deleted. () where there are none."""


@dataclass(frozen=True, slots=True)
class GarbageCounts:
    """Counts that background work asks of a file. None of them is needed to read one."""

    family_markers: int
    rows: int
    """About."""
    masked: int
    """Cells that its markers masked when it, or an input of its compaction, was written."""
    mortal: int
    """Cells with a time to live of their own."""


@dataclass(frozen=True, slots=True)
class Properties:
    """Ranges are inclusive on both ends, and 0 or b"" in a file without cells."""

    identity: SSTableIdentity
    cells: int
    """Pairs, delete markers included."""
    markers: int
    key_bytes: int
    value_bytes: int
    blocks: int
    first_key: bytes
    last_key: bytes
    min_timestamp: int
    max_timestamp: int
    first_sequence: int
    last_sequence: int
    garbage: GarbageCounts | None = None
    """None in files of older hbtables, and where since_millis is 0."""
    earliest_put: int | None = None
    """The least timestamp of a put, where a marker has a lesser one. None in files of older hbtables, and elsewhere."""


def encode_properties(properties: Properties) -> bytes:
    identity = properties.identity
    numbers = {
        "blocks": properties.blocks,
        "cells": properties.cells,
        "clock_millis": identity.clock_millis,
        "first_sequence": properties.first_sequence,
        "generation": identity.generation,
        "key_bytes": properties.key_bytes,
        "last_sequence": properties.last_sequence,
        "markers": properties.markers,
        "max_timestamp": properties.max_timestamp,
        "min_timestamp": properties.min_timestamp,
        "table_id": identity.table_id,
        "tablet_id": identity.tablet_id,
        "value_bytes": properties.value_bytes,
    }
    fields = {name.encode(): varint.encode(number) for name, number in numbers.items()}
    fields[b"first_key"] = properties.first_key
    fields[b"last_key"] = properties.last_key
    fields[b"group"] = identity.group.encode("utf-8", "surrogateescape")
    fields[b"replaced"] = b"".join([varint.encode_bytes(path.encode()) for path in identity.replaced])
    if any(identity.replaced_ranges):
        fields[b"replaced_ranges"] = b"".join(map(_ranges, identity.replaced_ranges))
    if identity.origin is not None:
        fields[b"complete_to"] = varint.encode(identity.origin.complete_to)
        fields[b"rows_start"] = identity.origin.start
        fields[b"rows_stop"] = identity.origin.stop
        fields[b"table"] = identity.origin.table
    if properties.earliest_put is not None:
        fields[b"earliest_put"] = varint.encode(properties.earliest_put)
    if properties.garbage is not None:
        fields |= {name: varint.encode(getattr(properties.garbage, name.decode())) for name in _GARBAGE}
        fields[b"since_millis"] = varint.encode(identity.since_millis)
    names = sorted(fields)
    return encode_block(names, [fields[name] for name in names], 16)


_GARBAGE: Final = (b"family_markers", b"masked", b"mortal", b"rows")


def decode_properties(path: str, offset: int, raw: bytes) -> Properties:
    """`path` and `offset` are for Corruption."""
    names, values = Block(path, offset, raw).decoded()
    fields = dict(zip(names, values, strict=True))
    try:
        return _properties(fields)
    except KeyError as error:
        raise Corruption(path, offset, f"the property {error} is missing")
    except (ValueError, IndexError) as error:
        raise Corruption(path, offset, f"the properties cannot be read: {error}")


def _properties(fields: dict[bytes, bytes]) -> Properties:
    identity = SSTableIdentity(
        table_id=_number(fields, "table_id"),
        tablet_id=_number(fields, "tablet_id"),
        group=fields[b"group"].decode("utf-8", "surrogateescape"),
        generation=_number(fields, "generation"),
        replaced=_texts(fields[b"replaced"]),
        clock_millis=_number(fields, "clock_millis"),
        origin=_origin(fields),
        replaced_ranges=_replaced_ranges(fields.get(b"replaced_ranges", b"")),
        since_millis=_number(fields, "since_millis") if b"since_millis" in fields else 0,
    )
    return Properties(
        identity=identity,
        cells=_number(fields, "cells"),
        markers=_number(fields, "markers"),
        key_bytes=_number(fields, "key_bytes"),
        value_bytes=_number(fields, "value_bytes"),
        blocks=_number(fields, "blocks"),
        first_key=fields[b"first_key"],
        last_key=fields[b"last_key"],
        min_timestamp=_number(fields, "min_timestamp"),
        max_timestamp=_number(fields, "max_timestamp"),
        first_sequence=_number(fields, "first_sequence"),
        last_sequence=_number(fields, "last_sequence"),
        garbage=_garbage(fields),
        earliest_put=_number(fields, "earliest_put") if b"earliest_put" in fields else None,
    )


def _garbage(fields: dict[bytes, bytes]) -> GarbageCounts | None:
    if b"since_millis" not in fields:
        return None
    return GarbageCounts(**{name.decode(): _number(fields, name.decode()) for name in _GARBAGE})


def _origin(fields: dict[bytes, bytes]) -> Origin | None:
    if b"complete_to" not in fields:
        return None
    return Origin(fields[b"rows_start"], fields[b"rows_stop"], _number(fields, "complete_to"), fields[b"table"])


def _ranges(ranges: tuple[RangeDelete, ...]) -> bytes:
    parts = [varint.encode(len(ranges))]
    for start, stop, timestamp in ranges:
        parts += (varint.encode_bytes(start), varint.encode_bytes(stop), varint.encode(timestamp))
    return b"".join(parts)


def _replaced_ranges(value: bytes) -> tuple[tuple[RangeDelete, ...], ...]:
    of_files: list[tuple[RangeDelete, ...]] = []
    at = 0
    while at < len(value):
        count, at = varint.decode(value, at)
        ranges: list[RangeDelete] = []
        for _ in range(count):
            start, at = varint.decode_bytes(value, at)
            stop, at = varint.decode_bytes(value, at)
            timestamp, at = varint.decode(value, at)
            ranges.append(RangeDelete(start, stop, timestamp))
        of_files.append(tuple(ranges))
    return tuple(of_files)


def _number(fields: dict[bytes, bytes], name: str) -> int:
    value = fields[name.encode()]
    number, end = varint.decode(value, 0)
    if end != len(value):
        raise ValueError(f"{name} has bytes left over")
    return number


def _texts(value: bytes) -> tuple[str, ...]:
    texts: list[str] = []
    at = 0
    while at < len(value):
        text, at = varint.decode_bytes(value, at)
        texts.append(text.decode())
    return tuple(texts)
