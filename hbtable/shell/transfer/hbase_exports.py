"""Files of HBase's own Export (org.apache.hadoop.hbase.mapreduce.Export): SequenceFiles with a Result a record.

A key is ImmutableBytesWritable: its length in 4 bytes, and the row. A value is ClientProtos.Result behind its length,
as HBase writes it since 0.96 (ResultSerialization): cells in field 1, each with row, family, qualifier, timestamp, type
value and tags in fields 1 to 7. A time to live of its own is tag 8; Export writes tags where it was told to.
"""

import base64
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from hbtable.hbase.admin.structs import AdminMutation, AdminOperation
from hbtable.model.mutation import MAX_ROW_BYTES, PUT
from hbtable.model.names import shown
from hbtable.model.values import LARGEST_I64
from hbtable.shell.copying.columns import MortalValue
from hbtable.shell.errors import ArgumentError
from hbtable.shell.transfer.pieces import in_pieces
from hbtable.shell.transfer.records import BadRecord
from hbtable.shell.transfer.sequence_file import DamagedStretch, SequenceFile, SequenceRecord, check_checksums

_KEY: Final = "org.apache.hadoop.hbase.io.ImmutableBytesWritable"
_VALUE: Final = "org.apache.hadoop.hbase.client.Result"
_ROW, _FAMILY, _QUALIFIER, _TIME, _TYPE, _CELL_VALUE, _TAGS = range(1, 8)
_PUT_TYPE: Final = 4
_TTL_TAG: Final = 8
_SUCCESS: Final = "_SUCCESS"


def files_of(path: Path) -> list[Path]:
    """The files of an export's folder, or the one that was named. ArgumentError: it is not whole, or has none."""
    if not path.is_dir():
        return [path]
    files = sorted(one for one in path.iterdir() if one.is_file() and not one.name.startswith(("_", ".")))
    if not files:
        raise ArgumentError(f"{path} has no files: name the folder that HBase's Export wrote, with part-m-00000 in it")
    if not (path / _SUCCESS).exists():
        raise ArgumentError(
            f"{path} has no {_SUCCESS}, which HBase's Export makes when it is whole: fetch that too, or import its "
            f"files one by one, as {files[0]}"
        )
    return files


def read_results(path: Path, offset: int) -> Iterator[tuple[AdminMutation | BadRecord, int]]:
    """(a row, a piece of one, or what is wrong; the number of the last record that is read with it, of all files), from
    record `offset` on. ArgumentError, before the first, where a file cannot be read at all."""
    files = files_of(path)
    for one in files:
        with closing(SequenceFile(one)) as file:
            _check_classes(file)
        check_checksums(one)
    number = 0
    for one in files:  # one at a time: a large table has more than a process may have open
        with closing(SequenceFile(one)) as file:
            for record in file.records():
                number += 1
                if number > offset:
                    yield from _read(one, record, number)


def _check_classes(file: SequenceFile) -> None:
    if (file.key_class, file.value_class) != (_KEY, _VALUE):
        raise ArgumentError(
            f"{file.path} holds {file.key_class} and {file.value_class}, and HBase's Export writes {_KEY} and {_VALUE}"
        )


def _read(
    path: Path, record: SequenceRecord | DamagedStretch, number: int
) -> Iterator[tuple[AdminMutation | BadRecord, int]]:
    try:
        if isinstance(record, DamagedStretch):
            raise BadRecord(
                f"it is damaged: {record.reason}; what it holds to byte {record.behind} is left out unless you fetch "
                "it again"
            )
        row, operations = _row(record)
    except BadRecord as error:
        value = b"" if isinstance(record, DamagedStretch) else record.value
        told = {"file": str(path), "byte": record.offset, "value": {"b64": base64.b64encode(value).decode()}}
        error.raw = f"{json.dumps(told)}\n".encode()
        error.place = f"{path}, byte {record.offset}"
        yield error, number
        return
    pieces = list(in_pieces(operations))
    for piece in pieces[:-1]:
        yield AdminMutation(row, piece), number - 1
    if pieces:
        yield AdminMutation(row, pieces[-1]), number


def _row(record: SequenceRecord) -> tuple[bytes, list[AdminOperation]]:
    """BadRecord."""
    row = record.key[4:]
    if record.key[:4] != len(row).to_bytes(4, "big"):
        raise BadRecord("its key is no row behind its length")
    if not 0 < len(row) <= MAX_ROW_BYTES:
        raise BadRecord(f"a row key has 1 to {MAX_ROW_BYTES} bytes, this one {len(row)}")
    value = record.value
    length, at = _varint(value, 0, len(value))
    if at + length != len(value):
        raise BadRecord(f"row {shown(row)} has a Result of {length} bytes, and {len(value) - at} are there: {_OLD}")
    operations = []
    for field, found in _fields(value, at, len(value)):
        if field == 1 and isinstance(found, bytes):
            operations.append(_operation(row, found))
        elif field == 2 and found:
            raise BadRecord(f"row {shown(row)} has {found!r} cells that are not in the file")
    return row, operations


_OLD: Final = "it is damaged, or from an HBase of before 0.96"


def _operation(row: bytes, cell: bytes) -> AdminOperation:
    found = dict(_fields(cell, 0, len(cell)))
    family, qualifier, value, tags, its_row = (
        _data(found.get(field, b"")) for field in (_FAMILY, _QUALIFIER, _CELL_VALUE, _TAGS, _ROW)
    )
    time, kind = found.get(_TIME), found.get(_TYPE)
    if its_row != row:
        raise BadRecord(f"row {shown(row)} has a cell of row {shown(its_row)}: {_OLD}")
    column = shown(family + b":" + qualifier)
    if kind != _PUT_TYPE:
        raise BadRecord(
            f"row {shown(row)} has in column {column} a cell of type {kind!r}, which is no put but a delete, as "
            "-D hbase.mapreduce.include.deleted.rows=true exports them: export without it"
        )
    if not isinstance(time, int) or time > LARGEST_I64:
        raise BadRecord(f"row {shown(row)} has in column {column} a cell of time {time!r}: a time is 0 to 2^63 - 1")
    ttl_millis = _ttl_millis(tags)
    return AdminOperation(PUT, family, qualifier, time, MortalValue.of(value, ttl_millis) if ttl_millis else value)


def _ttl_millis(tags: bytes) -> int:
    """Each tag is a length in 2 bytes, a type, and the rest. BadRecord."""
    at = found = 0
    while at < len(tags):
        end = at + 2 + int.from_bytes(tags[at : at + 2], "big")
        if not at + 3 <= end <= len(tags):
            raise BadRecord(f"a cell's tags are damaged at their byte {at}")
        if tags[at + 2] == _TTL_TAG:
            found = int.from_bytes(tags[at + 3 : end], "big")
        at = end
    if found > LARGEST_I64:
        raise BadRecord(f"a cell's time to live is {found} milliseconds, and has to be below 2^63")
    return found


def _data(found: int | bytes) -> bytes:
    if isinstance(found, int):
        raise BadRecord(f"a field of a cell is the number {found}, and has to be bytes: {_OLD}")
    return found


def _fields(data: bytes, at: int, end: int) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a message of Protocol Buffers: numbers, and what has a length. BadRecord."""
    while at < end:
        tag, at = _varint(data, at, end)
        kind = tag & 7
        if kind == 0:
            number, at = _varint(data, at, end)
            yield tag >> 3, number
            continue
        if kind != 2:
            raise BadRecord(f"byte {at} of the record begins no field of a Result: {_OLD}")
        length, at = _varint(data, at, end)
        if length > end - at:
            raise BadRecord(f"a field of {length} bytes at byte {at} of the record has {end - at} left: {_OLD}")
        yield tag >> 3, data[at : at + length]
        at += length


def _varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """The number, and where it ends. BadRecord."""
    found = shift = 0
    while at < end and shift < 70:
        byte = data[at]
        at += 1
        found |= (byte & 0x7F) << shift
        if byte < 0x80:
            return found, at
        shift += 7
    raise BadRecord(f"a number of the record does not end by its byte {at}: {_OLD}")
