"""Files of rows: JSON lines, CSV and TSV.

jsonl      {"row": r, "cells": [{"column": c, "timestamp": t, "value": v}, ...]} a line; lossless, bytes that are
not UTF-8 as {"b64": "..."}
csv, tsv   a field a column, named as ImportTsv does: HBASE_ROW_KEY, HBASE_TS_KEY, family:qualifier, or "" to skip
"""

import base64
import csv
import json
from collections.abc import Iterator, Sequence
from typing import IO, Final

from hbtable.errors import InvalidRequest
from hbtable.hbase.admin.structs import AdminMutation, AdminOperation, AdminRow
from hbtable.model.mutation import MAX_ROW_BYTES, PUT
from hbtable.model.values import LARGEST_I64, whole_number
from hbtable.shell.answers.formats import plain
from hbtable.shell.errors import ArgumentError

ROW_KEY: Final = "HBASE_ROW_KEY"
TIMESTAMP_KEY: Final = "HBASE_TS_KEY"
_LARGEST_FIELD: Final = 1 << 30
"""Of CSV and TSV, above the largest cell; Python's own limit is 128 KiB."""
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class BadRecord(Exception):
    """One record of the file cannot be used; the message says why. `raw`: the record as it stands in the file."""

    raw: bytes = b""


def to_json(found: AdminRow) -> str:
    cells = [
        {"column": plain(cell.column), "timestamp": cell.timestamp, "value": plain(cell.value)}
        for cell in found.cells or ()
    ]
    return _encode({"row": plain(found.row), "cells": cells})


def from_json(line: bytes) -> AdminMutation:
    """BadRecord."""
    try:
        record = json.loads(line.decode())
        operations = []
        for cell in record["cells"]:
            family, _, qualifier = _bytes(cell["column"]).partition(b":")
            timestamp = _timestamp(cell["timestamp"]) if "timestamp" in cell else -1
            operations.append(AdminOperation(PUT, family, qualifier, timestamp, _bytes(cell["value"])))
        return AdminMutation(_row_key(_bytes(record["row"])), operations)
    except RecursionError:
        raise BadRecord("it is nested too deeply to be a row") from None
    except KeyError as error:
        raise BadRecord(f"a record has row and cells, a cell column and value: there is no {error}") from None
    except (ValueError, TypeError, AttributeError) as error:
        raise BadRecord(f"{type(error).__name__}: {error}") from None


def _timestamp(given: object) -> int:
    try:
        return whole_number("the timestamp", given, 0, LARGEST_I64)
    except InvalidRequest as error:
        raise BadRecord(str(error)) from None


def _row_key(row: bytes) -> bytes:
    if not 0 < len(row) <= MAX_ROW_BYTES:
        raise BadRecord(f"a row key has 1 to {MAX_ROW_BYTES} bytes, this one {len(row)}")
    return row


def _bytes(value: object) -> bytes:
    if isinstance(value, dict):
        return base64.b64decode(value["b64"], validate=True)
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is neither a string nor {{'b64': ...}}")
    return value.encode()


class Fields:
    """The meaning of a line's fields. ArgumentError."""

    def __init__(self, names: Sequence[str]) -> None:
        if ROW_KEY not in names:
            raise ArgumentError(f"one column must be {ROW_KEY}; there is {', '.join(names)}")
        self._row = names.index(ROW_KEY)
        self._timestamp = names.index(TIMESTAMP_KEY) if TIMESTAMP_KEY in names else -1
        self._width = len(names)
        self._columns = []
        for place, name in enumerate(names):
            if name and name not in (ROW_KEY, TIMESTAMP_KEY):
                family, _, qualifier = name.encode().partition(b":")
                self._columns.append((place, family, qualifier))

    def mutation(self, fields: Sequence[str]) -> AdminMutation:
        """Empty fields are no cells. BadRecord."""
        if len(fields) != self._width:
            raise BadRecord(f"{len(fields)} fields where {self._width} belong")
        row = _row_key(_field(fields[self._row]))
        timestamp = -1
        if self._timestamp >= 0:
            text = fields[self._timestamp]
            if not (text.isascii() and text.isdigit()):
                raise BadRecord(f"{text[:80]!r} is no timestamp")
            timestamp = _timestamp(int(text[:40]))
        operations = [
            AdminOperation(PUT, family, qualifier, timestamp, _field(fields[place]))
            for place, family, qualifier in self._columns
            if fields[place]
        ]
        if not operations:
            raise BadRecord("no cell but a row key")
        return AdminMutation(row, operations)


def _field(text: str) -> bytes:
    """Bytes that are not UTF-8 come through as they are."""
    return text.encode("utf-8", "surrogateescape")


def lines(file: IO[bytes], separator: str) -> Iterator[tuple[list[str], bytes, int]]:
    """(fields, the bytes they were, offset behind them in the file): a record with line breaks in quotes is one."""
    held: list[bytes] = []

    def texts() -> Iterator[str]:
        for line in iter(file.readline, b""):
            held.append(line)
            yield line.decode("utf-8", "surrogateescape")

    csv.field_size_limit(_LARGEST_FIELD)
    for fields in csv.reader(texts(), delimiter=separator):
        raw = b"".join(held)
        held.clear()
        yield fields, raw, file.tell()
