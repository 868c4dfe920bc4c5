"""Files of rows: JSON lines, CSV and TSV.

jsonl      {"row": r, "cells": [{"column": c, "timestamp": t, "value": v}, ...]} a line; every version
with its time, and "ttl_millis": n where it has a time to live of its own; bytes that are not UTF-8 as {"b64": "..."}
csv, tsv   a field a column, named as ImportTsv does: HBASE_ROW_KEY, HBASE_TS_KEY, family:qualifier, or "" to skip
"""

import base64
import csv
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import IO, Final, TypeVar

from hbtable.errors import InvalidRequest
from hbtable.hbase.admin.structs import AdminMutation, AdminOperation, AdminRow
from hbtable.model.mutation import MAX_ROW_BYTES, PUT
from hbtable.model.values import LARGEST_I64, whole_number
from hbtable.model.visible import visible
from hbtable.shell.answers.formats import plain
from hbtable.shell.copying.columns import MortalValue
from hbtable.shell.errors import ArgumentError

Member = TypeVar("Member", bound="dict[str, object] | list[object]")

ROW_KEY: Final = "HBASE_ROW_KEY"
TIMESTAMP_KEY: Final = "HBASE_TS_KEY"
_LARGEST_FIELD: Final = 1 << 30
"""Of CSV and TSV, above the largest cell; Python's own limit is 128 KiB."""
_LARGEST_RECORD: Final = 128 << 20
"""Bytes of a record of several lines: a server takes half of it in a call, unless told otherwise. So much is read, and
in memory, before a quote counts as one that nothing closes."""
_SHOWN_CHARACTERS: Final = 40
_RECORD: Final = '{"row": ..., "cells": [...]}'
_CELL: Final = '{"column": ..., "timestamp": ..., "value": ...}'
_BASE64: Final = '{"b64": "..."}'
_KINDS_OF_JSON: Final[dict[type, str]] = {
    dict: "an object",
    list: "a list",
    str: "a string",
    int: "a number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
}
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class BadRecord(Exception):
    """One record of the file cannot be used; the message says why. `raw`: the record as it stands in the file. `place`:
    where it is, where nobody has to look for it."""

    raw: bytes = b""
    place: str = ""


def to_json(found: AdminRow) -> str:
    """A time below 0 is none: the cell is written without it, as from_json() reads such a one."""
    cells: list[dict[str, object]] = []
    for cell in found.cells or ():
        made: dict[str, object] = {
            "column": plain(cell.column), "timestamp": cell.timestamp, "value": plain(cell.value),
        }  # fmt: skip
        if cell.timestamp < 0:
            del made["timestamp"]
        if cell.ttl_millis:
            made["ttl_millis"] = cell.ttl_millis
        cells.append(made)
    return _encode({"row": plain(found.row), "cells": cells})


def from_json(line: bytes) -> AdminMutation:
    """The value of a cell with a time to live of its own is a MortalValue. BadRecord names the field and what it may
    be."""
    record = _member("the record", _loaded(line), dict, _RECORD)
    row = row_key(_bytes("row", _field_of("the record", record, "row", _RECORD)))
    operations = []
    cells = _member("cells", _field_of("the record", record, "cells", _RECORD), list, f"a list of {_CELL}")
    for number, given in enumerate(cells):
        where = f"cells[{number}]"
        cell = _member(where, given, dict, _CELL)
        column = _bytes(f"{where}.column", _field_of(where, cell, "column", _CELL))
        family, qualifier = family_and_qualifier(f"{where}.column", column)
        timestamp = timestamp_of(f"{where}.timestamp", cell["timestamp"]) if "timestamp" in cell else -1
        value = _bytes(f"{where}.value", _field_of(where, cell, "value", _CELL))
        if "ttl_millis" in cell:
            value = MortalValue.of(value, _lifetime(f"{where}.ttl_millis", cell["ttl_millis"]))
        operations.append(AdminOperation(PUT, family, qualifier, timestamp, value))
    return AdminMutation(row, operations)


def _loaded(line: bytes) -> object:
    try:
        return json.loads(line.decode(), object_pairs_hook=_once)
    except UnicodeDecodeError as error:
        raise BadRecord(
            f"byte {line[error.start]:#04x}, the line's {error.start + 1}th, is no UTF-8: bytes that are none are "
            f"written {_BASE64}"
        ) from None
    except json.JSONDecodeError as error:
        found = repr(error.doc[error.pos : error.pos + _SHOWN_CHARACTERS]) if error.pos < len(error.doc) else "its end"
        raise BadRecord(f"it is no JSON from character {error.pos + 1} on, {found}: a record is {_RECORD}") from None
    except RecursionError:
        raise BadRecord(f"it is nested too deeply: a record is {_RECORD}") from None
    except ValueError:  # a number of thousands of digits
        raise BadRecord(f"it has a number that is too long: a record is {_RECORD}") from None


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made = dict(pairs)
    if len(made) < len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise BadRecord(f"an object has {_short(repr(twice))} twice, and one of the two would be lost: leave it once")
    return made


def _member(where: str, given: object, wanted: type[Member], shape: str) -> Member:
    if not isinstance(given, wanted):
        raise BadRecord(f"{where} is {_kind(given)}, and has to be {shape}")
    return given


def _field_of(where: str, holder: dict[str, object], name: str, shape: str) -> object:
    if name not in holder:
        has = ", ".join(map(repr, holder)) if holder else "nothing"
        raise BadRecord(f"{where} has no {name!r}: it is to be {shape}, and has {_short(has)}")
    return holder[name]


def _kind(given: object) -> str:
    return _KINDS_OF_JSON.get(type(given), "of another kind")


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."


def family_and_qualifier(where: str, column: bytes) -> tuple[bytes, bytes]:
    """BadRecord: a family alone is no column."""
    family, colon, qualifier = column.partition(b":")
    if not colon:
        name = visible(column.decode("utf-8", "backslashreplace"))
        raise BadRecord(f"{where} is {_short(repr(name))}, and has to be family:qualifier, or family: for an empty one")
    return family, qualifier


def timestamp_of(where: str, given: object) -> int:
    """BadRecord."""
    try:
        return whole_number(where, given, 0, LARGEST_I64)
    except InvalidRequest as error:
        raise BadRecord(f"{error}; a time is a number of milliseconds since 1970") from None


def _lifetime(where: str, given: object) -> int:
    try:
        return whole_number(where, given, 1, LARGEST_I64)
    except InvalidRequest as error:
        raise BadRecord(
            f"{error}; a time to live is a number of milliseconds, and a cell without one has none"
        ) from None


def row_key(row: bytes) -> bytes:
    """The same. BadRecord."""
    if not 0 < len(row) <= MAX_ROW_BYTES:
        raise BadRecord(f"a row key has 1 to {MAX_ROW_BYTES} bytes, this one {len(row)}")
    return row


def _bytes(where: str, value: object) -> bytes:
    """The bytes of a text, or of an object with their base64."""
    if isinstance(value, dict):
        encoded = value.get("b64")
        if not isinstance(encoded, str) or len(value) > 1:
            raise BadRecord(f"{where} is an object, and not {_BASE64}")
        try:
            return base64.b64decode(encoded, validate=True)
        except ValueError:
            raise BadRecord(f"{where} is {_BASE64} of something that is no base64: {_short(repr(encoded))}") from None
    if not isinstance(value, str):
        raise BadRecord(f"{where} is {_kind(value)}, and has to be a string, or {_BASE64} for bytes that are no UTF-8")
    try:
        return value.encode()
    except UnicodeEncodeError:
        raise BadRecord(f"{where} has half of a surrogate pair, {_short(repr(value))}: write {_BASE64}") from None


class Fields:
    """The meaning of a line's fields. ArgumentError."""

    def __init__(self, names: Sequence[str]) -> None:
        if ROW_KEY not in names:
            raise ArgumentError(f"one column must be {ROW_KEY}; there is {', '.join(names)}")
        twice = next((name for place, name in enumerate(names) if name and name in names[:place]), None)
        if twice is not None:
            raise ArgumentError(
                f"two fields are named {twice!r}, and one of them would be lost: give each a name of its own"
            )
        self._row = names.index(ROW_KEY)
        self._timestamp = names.index(TIMESTAMP_KEY) if TIMESTAMP_KEY in names else -1
        self._names = ",".join(names)
        self._width = len(names)
        self._columns = []
        for place, name in enumerate(names):
            if name and name not in (ROW_KEY, TIMESTAMP_KEY):
                family, _, qualifier = bytes_of_field(name).partition(b":")
                self._columns.append((place, family, qualifier))

    def mutation(self, fields: Sequence[str]) -> AdminMutation:
        """Empty fields are no cells. BadRecord."""
        if len(fields) != self._width:
            raise BadRecord(f"{len(fields)} fields where {self._width} belong: {self._names}")
        return self.mutation_of_values([bytes_of_field(text) if text else None for text in fields])

    def mutation_of_values(self, values: Sequence[bytes | None]) -> AdminMutation:
        """None is no cell. BadRecord."""
        row = row_key(values[self._row] or b"")
        timestamp = -1
        if self._timestamp >= 0:
            digits = values[self._timestamp] or b""
            if not digits.isdigit():
                text = digits[:80].decode("utf-8", "surrogateescape")
                raise BadRecord(f"field {TIMESTAMP_KEY} is {text!r}, and has to be a number of milliseconds since 1970")
            timestamp = timestamp_of(TIMESTAMP_KEY, int(digits[:40]))
        operations = [
            AdminOperation(PUT, family, qualifier, timestamp, value)
            for place, family, qualifier in self._columns
            if (value := values[place]) is not None
        ]
        if not operations:
            raise BadRecord(f"no field but the row key has a value; the fields are {self._names}")
        return AdminMutation(row, operations)


def bytes_of_field(text: str) -> bytes:
    """Bytes that are not UTF-8 come through as they are."""
    return text.encode("utf-8", "surrogateescape")


def lines(file: IO[bytes], separator: str) -> Iterator[tuple[list[str] | BadRecord, bytes, int]]:
    """(fields, the bytes they were, offset behind them in the file): a record with line breaks in quotes is one. Quotes
    stand around a whole field, or they are no quotes of a file but signs of a value.

    A bad record is one line: where a quote is missing, what was read behind it are other records."""
    csv.field_size_limit(_LARGEST_FIELD)
    held: list[bytes] = []
    reader = csv.reader(_texts(file, held), delimiter=separator, strict=True)
    behind = file.tell()
    while True:
        try:
            fields: list[str] | BadRecord = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            fields = _unreadable(str(error), len(held) - 1)
            del held[1:]
            file.seek(behind + len(held[0]))
            reader = csv.reader(_texts(file, held), delimiter=separator, strict=True)
        raw = b"".join(held)
        held.clear()
        behind = file.tell()
        yield fields, raw, behind


def _texts(file: IO[bytes], held: list[bytes]) -> Iterator[str]:
    """The lines of a file; `held` gets the bytes of each, and is emptied by whoever has a record of them. They end
    where a record of several would be too large, as if the file ended there."""
    size = 0
    for line in iter(file.readline, b""):
        size = size + len(line) if held else len(line)
        if held and size > _LARGEST_RECORD:
            return
        held.append(line)
        yield line.decode("utf-8", "surrogateescape")


def _unreadable(why: str, further: int) -> BadRecord:
    """`why`: the words of Python's reader. `further`: so many lines it had read behind the record's first one."""
    if "unexpected end of data" in why:
        return BadRecord(
            "a field begins with a quote that nothing closes, to the end of the file or in the next "
            f"{_LARGEST_RECORD >> 20} MiB: close it; a quote that belongs to a value is written twice, in a field in "
            "quotes"
        )
    if "expected after" in why and further:
        return BadRecord(
            f"a field begins with a quote, and the next one, {further} lines further, does not end it, as the field "
            "goes on behind it: close the field where it ends, and write each quote that belongs to its value twice"
        )
    if "expected after" in why:
        return BadRecord(
            "a field goes on behind the quote that closes it: put the whole field in quotes, and write each quote "
            "that belongs to its value twice"
        )
    return BadRecord(
        f"a field without quotes has a carriage return in it, or a field has more than {_LARGEST_FIELD} "
        "characters: put the field in quotes, or make it shorter"
    )
