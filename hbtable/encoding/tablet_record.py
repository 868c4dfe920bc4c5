"""Tablet records as bytes (paper, section 5.1): the value of a METADATA row, the root's file.

Sealed (encoding.sealed) with kind "T". Numbers are varints, texts and bytes have their length before them
(encoding.varint). Version 1 is a body and nothing else. Version 2 is written while tablets are being merged, and for a
tablet that is gone; version 3 for a tablet that is withheld; version 4 while rows of a tablet's SSTables are deleted as
ranges. So an older hbtable reads all the rest.

    version 1 := body
    version 2 := form, then
                 1, a tablet that merges into another: end of the other, id of the merged one, right generation, body
                 2, a tablet that absorbs another: end of the other, body
                 3, a tablet that is gone: table id, tablet id, start, stop, generation, gone millis
    version 3 := withheld millis, body
    version 4 := version (1 to 3), length-prefixed content of that version, ranges, ranges of the left child
    ranges    := n, then each: path of an SSTable, n, its ranges (each: start, stop, timestamp)
    body   := table id, tablet id, start, stop, created millis, owner, generation,
              groups (n, then each: name, n, files), logs (n, then each: incarnation, first needed),
              left (length-prefixed body of the left child; length 0: none)
    file   := path, length, footer checksum, first sequence, last sequence, cells

Equal records give equal bytes: a compare-and-set compares the encoded record.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from hbtable.encoding.sealed import HEADER_BYTES, seal, unseal
from hbtable.encoding.varint import decode as number
from hbtable.encoding.varint import decode_bytes, decode_text, encode_bytes, encode_text
from hbtable.encoding.varint import encode as varint
from hbtable.errors import Corruption, UnsupportedFormat
from hbtable.model.range_delete import RangeDelete
from hbtable.model.ranges import RowRange
from hbtable.model.tablet import GoneTablet, LogRef, MergesInto, SSTableRef, TabletRecord

KIND: Final = b"T"
VERSION: Final = 1
MERGE_VERSION: Final = 2
WITHHELD_VERSION: Final = 3
RANGES_VERSION: Final = 4

Files = tuple[tuple[str, tuple[SSTableRef, ...]], ...]

_NO_RANGES: Final = varint(0)
_MERGES_INTO: Final = 1
_ABSORBS: Final = 2
_GONE: Final = 3


def encode(record: TabletRecord) -> bytes:
    version, content = _content(record)
    ranges, of_left = _ranges(record), _ranges(record.left)
    if ranges == of_left == _NO_RANGES:
        return seal(KIND, version, content)
    return seal(KIND, RANGES_VERSION, varint(version) + encode_bytes(content) + ranges + of_left)


def _content(record: TabletRecord) -> tuple[int, bytes]:
    """(version, what stands in it), without ranges that were deleted."""
    body = _body(record)
    if record.withheld_millis:
        if record.is_merging():
            raise ValueError(f"tablet {record.tablet_id} is being merged, and cannot be withheld")
        return WITHHELD_VERSION, varint(record.withheld_millis) + body
    into = record.merges_into
    if into is not None:
        parts = (encode_bytes(into.stop), varint(into.tablet_id), varint(into.right_generation), body)
        return MERGE_VERSION, varint(_MERGES_INTO) + b"".join(parts)
    if record.absorbs is not None:
        return MERGE_VERSION, varint(_ABSORBS) + encode_bytes(record.absorbs) + body
    return VERSION, body


def encode_gone(gone: GoneTablet) -> bytes:
    numbers = varint(gone.table_id) + varint(gone.tablet_id)
    rows = encode_bytes(gone.range.start) + encode_bytes(gone.range.stop)
    return seal(
        KIND, MERGE_VERSION, varint(_GONE) + numbers + rows + varint(gone.generation) + varint(gone.gone_millis)
    )


def decode(data: bytes, path: str = "a tablet record") -> TabletRecord:
    """`path` says in the error where the bytes lie. Corruption, also for a tablet that is gone; UnsupportedFormat."""
    found = decode_row(data, path)
    if isinstance(found, GoneTablet):
        raise Corruption(path, HEADER_BYTES, f"tablet {found.tablet_id} is gone: it was merged into another")
    return found


def decode_row(data: bytes, path: str) -> TabletRecord | GoneTablet:
    """Decodes either of the two records that a tablet's METADATA row may hold. Corruption, UnsupportedFormat."""
    version, body = unseal(data, KIND, RANGES_VERSION, path)
    try:
        found, offset = _FORMS[version](body, path)
    except (IndexError, ValueError) as error:
        raise Corruption(path, HEADER_BYTES, f"the tablet record cannot be read: {error}") from error
    if offset != len(body):
        raise Corruption(path, HEADER_BYTES + offset, "bytes follow the end of the tablet record")
    return found


def _plain_form(body: bytes, path: str) -> tuple[TabletRecord | GoneTablet, int]:
    return _record(body, 0)


def _withheld_form(body: bytes, path: str) -> tuple[TabletRecord | GoneTablet, int]:
    millis, offset = number(body, 0)
    record, offset = _record(body, offset)
    return replace(record, withheld_millis=millis), offset


def _ranges_form(body: bytes, path: str) -> tuple[TabletRecord | GoneTablet, int]:
    version, offset = number(body, 0)
    if version not in _FORMS or version == RANGES_VERSION:
        raise UnsupportedFormat.unknown(path, "version of a tablet record with ranges", version, sorted(_FORMS)[:-1])
    content, offset = decode_bytes(body, offset)
    found, end = _FORMS[version](content, path)
    if end != len(content) or isinstance(found, GoneTablet):
        raise ValueError("what has deleted ranges is no tablet record")
    ranges, offset = _decode_ranges(body, offset)
    of_left, offset = _decode_ranges(body, offset)
    left = found.left
    if left is not None:
        left = replace(left, files=_with_ranges(left, of_left))
    elif of_left:
        raise ValueError("there is no left child that had ranges deleted")
    return replace(found, files=_with_ranges(found, ranges), left=left), offset


def _with_ranges(record: TabletRecord, ranges: Mapping[str, tuple[RangeDelete, ...]]) -> Files:
    paths = {ref.path for _, refs in record.files for ref in refs}
    if not ranges.keys() <= paths:
        raise ValueError("ranges were deleted of an SSTable that the record does not name")
    return tuple(
        (group, tuple(replace(ref, deleted=ranges[ref.path]) if ref.path in ranges else ref for ref in refs))
        for group, refs in record.files
    )


def _merge_form(body: bytes, path: str) -> tuple[TabletRecord | GoneTablet, int]:
    form, offset = number(body, 0)
    if form == _GONE:
        return _gone(body, offset)
    if form not in (_MERGES_INTO, _ABSORBS):
        raise UnsupportedFormat.unknown(path, "form of a tablet record", form, (_MERGES_INTO, _ABSORBS, _GONE))
    stop, offset = decode_bytes(body, offset)
    if form == _ABSORBS:
        record, offset = _record(body, offset)
        return replace(record, absorbs=stop), offset
    tablet_id, offset = number(body, offset)
    right_generation, offset = number(body, offset)
    record, offset = _record(body, offset)
    return replace(record, merges_into=MergesInto(stop, tablet_id, right_generation)), offset


def _gone(body: bytes, offset: int) -> tuple[GoneTablet, int]:
    table_id, offset = number(body, offset)
    tablet_id, offset = number(body, offset)
    start, offset = decode_bytes(body, offset)
    stop, offset = decode_bytes(body, offset)
    generation, offset = number(body, offset)
    gone_millis, offset = number(body, offset)
    return GoneTablet(table_id, tablet_id, RowRange(start, stop), generation, gone_millis), offset


def _body(record: TabletRecord) -> bytes:
    out = [
        varint(record.table_id),
        varint(record.tablet_id),
        encode_bytes(record.range.start),
        encode_bytes(record.range.stop),
        varint(record.created_millis),
        encode_text(record.owner),
        varint(record.generation),
        varint(len(record.files)),
    ]
    for group, refs in record.files:
        out += (encode_text(group), varint(len(refs)))
        out += map(_file, refs)
    out.append(varint(len(record.logs)))
    for log in record.logs:
        out += (encode_text(log.incarnation), varint(log.first_needed))
    out.append(encode_bytes(_body(record.left) if record.left is not None else b""))
    return b"".join(out)


def _file(ref: SSTableRef) -> bytes:
    return b"".join(
        (
            encode_text(ref.path),
            varint(ref.length_bytes),
            varint(ref.footer_checksum),
            varint(ref.first_sequence),
            varint(ref.last_sequence),
            varint(ref.cells),
        )
    )


def _ranges(record: TabletRecord | None) -> bytes:
    deleted = {ref.path: ref.deleted for _, refs in (record.files if record else ()) for ref in refs if ref.deleted}
    out = [varint(len(deleted))]
    for path, ranges in sorted(deleted.items()):
        out += (encode_text(path), varint(len(ranges)))
        for start, stop, timestamp in ranges:
            out += (encode_bytes(start), encode_bytes(stop), varint(timestamp))
    return b"".join(out)


def _decode_ranges(body: bytes, offset: int) -> tuple[dict[str, tuple[RangeDelete, ...]], int]:
    found: dict[str, tuple[RangeDelete, ...]] = {}
    files, offset = number(body, offset)
    for _ in range(files):
        path, offset = decode_text(body, offset)
        count, offset = number(body, offset)
        ranges = []
        for _ in range(count):
            start, offset = decode_bytes(body, offset)
            stop, offset = decode_bytes(body, offset)
            timestamp, offset = number(body, offset)
            ranges.append(RangeDelete(start, stop, timestamp))
        found[path] = tuple(ranges)
    return found, offset


def _record(body: bytes, offset: int) -> tuple[TabletRecord, int]:
    """(record, offset after it)."""
    table_id, offset = number(body, offset)
    tablet_id, offset = number(body, offset)
    start, offset = decode_bytes(body, offset)
    stop, offset = decode_bytes(body, offset)
    created_millis, offset = number(body, offset)
    owner, offset = decode_text(body, offset)
    generation, offset = number(body, offset)
    files, offset = _groups(body, offset)
    logs, offset = _logs(body, offset)
    embedded, offset = decode_bytes(body, offset)
    left = None
    if embedded:
        left, end = _record(embedded, 0)
        if end != len(embedded):
            raise ValueError("bytes follow the end of the left child")
    record = TabletRecord(
        table_id, tablet_id, RowRange(start, stop), created_millis, owner, generation, files, logs, left
    )
    return record, offset


def _groups(body: bytes, offset: int) -> tuple[tuple[tuple[str, tuple[SSTableRef, ...]], ...], int]:
    groups = []
    count, offset = number(body, offset)
    for _ in range(count):
        group, offset = decode_text(body, offset)
        refs = []
        files, offset = number(body, offset)
        for _ in range(files):
            path, offset = decode_text(body, offset)
            length_bytes, offset = number(body, offset)
            checksum, offset = number(body, offset)
            first, offset = number(body, offset)
            last, offset = number(body, offset)
            cells, offset = number(body, offset)
            refs.append(SSTableRef(path, length_bytes, checksum, first, last, cells))
        groups.append((group, tuple(refs)))
    return tuple(groups), offset


def _logs(body: bytes, offset: int) -> tuple[tuple[LogRef, ...], int]:
    logs = []
    count, offset = number(body, offset)
    for _ in range(count):
        incarnation, offset = decode_text(body, offset)
        first_needed, offset = number(body, offset)
        logs.append(LogRef(incarnation, first_needed))
    return tuple(logs), offset


_FORMS: Final = {
    VERSION: _plain_form,
    MERGE_VERSION: _merge_form,
    WITHHELD_VERSION: _withheld_form,
    RANGES_VERSION: _ranges_form,
}
