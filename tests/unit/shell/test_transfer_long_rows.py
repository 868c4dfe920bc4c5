"""A row with more cells or bytes than a call may have is imported by several calls, whatever its file is."""

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from hbtable.hbase.admin.structs import AdminMutation, AdminOperation
from hbtable.model.mutation import PUT
from hbtable.shell.transfer import pieces
from hbtable.shell.transfer.reading import records
from hbtable.shell.transfer.records import BadRecord
from hbtable.shell.transfer.servers import HbtableTransfer

CELLS = 300
VALUE_BYTES = 100
SHAPES = [(7, 1 << 30), (1 << 30, 7 * VALUE_BYTES), (1, 1), (CELLS, 1 << 30), (CELLS - 1, 1 << 30)]


class Taking:
    """In the place of a connection: keeps each call's rows."""

    def __init__(self) -> None:
        self.calls: list[Sequence[AdminMutation]] = []

    def admin(self, name: str, table: bytes, rows: Sequence[AdminMutation]) -> None:
        assert (name, table) == ("adminMutateRows", b"t")
        self.calls.append(rows)

    def close(self) -> None:
        """Nothing is open."""


def cells_of(rows: Sequence[AdminMutation]) -> list[tuple[bytes, bytes]]:
    return [(row.row, one.value) for row in rows for one in row.operations or ()]


@pytest.mark.parametrize(("most_cells", "most_bytes"), SHAPES)
def test_a_long_row_of_parquet_is_read_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_cells: int, most_bytes: int
) -> None:
    """Each ends where an import may go on: no cell is read twice or left out."""
    monkeypatch.setattr(pieces, "_PIECE_CELLS", most_cells)
    monkeypatch.setattr(pieces, "_PIECE_BYTES", most_bytes)
    generator = random.Random(3)
    rows = [b"a", *[b"r"] * CELLS, b"z"]
    values = [generator.randbytes(VALUE_BYTES) for _ in rows]
    file = tmp_path / "cells.parquet"
    cells = {"row": rows, "column": [b"f:q"] * len(rows), "timestamp": range(len(rows)), "value": values}
    pyarrow.parquet.write_table(pyarrow.table({name: list(column) for name, column in cells.items()}), file)
    read: list[AdminMutation] = []
    for found, behind in records(file, "parquet", (), 0):
        assert not isinstance(found, BadRecord)
        assert len(found.operations or ()) <= most_cells
        assert sum(len(one.value) for one in found.operations or ()) <= most_bytes + VALUE_BYTES
        read.append(found)
        assert cells_of(read) == list(zip(rows, values, strict=True))[:behind]
    assert cells_of(read) == list(zip(rows, values, strict=True))
    assert len(read) == 2 + -(-CELLS // min(most_cells, -(-most_bytes // (VALUE_BYTES + 2))))


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_a_long_row_in_a_line_is_written_by_several_calls(tmp_path: Path, form: str) -> None:
    value = "v" * (1 << 20)
    file = tmp_path / "rows"
    if form == "jsonl":
        cells = [{"column": f"f:{number}", "value": value} for number in range(40)]
        file.write_text(json.dumps({"row": "r", "cells": cells}))
        columns = []
    else:
        columns = ["HBASE_ROW_KEY", *(f"f:{number}" for number in range(40))]
        file.write_text(",".join(["r", *[value] * 40]))
    found: list[Any] = [record for record, _ in records(file, form, columns, 0)]
    server = Taking()
    HbtableTransfer(server).write(b"t", [*found, AdminMutation(b"s", [AdminOperation(PUT, b"f", b"q", -1, b"v")])])  # type: ignore[arg-type]
    assert [cell for call in server.calls for cell in cells_of(call)] == [(b"r", value.encode())] * 40 + [(b"s", b"v")]
    assert max(sum(len(cell) for _, cell in cells_of(call)) for call in server.calls) <= 16 << 20
