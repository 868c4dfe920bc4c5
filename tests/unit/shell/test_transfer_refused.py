"""Records that only the server refuses are skipped as those that cannot be read: each by itself, counted, named by its
place, and kept. What it refuses of every record ends the import."""

import json
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from hbtable.hbase.admin.structs import AdminMutation
from hbtable.shell.errors import ServerError, ShellError
from hbtable.shell.transfer import transfer_workers
from hbtable.shell.transfer.importing import ImportOptions, run_import
from hbtable.shell.transfer.reading import records
from hbtable.shell.transfer.records import BadRecord
from hbtable.shell.transfer.servers import State

ILLEGAL = "java.lang.IllegalArgumentException"
TOO_LARGE = ServerError(ILLEGAL, "a cell is too large", classes=["LimitExceeded", "InvalidRequest", "HbtableError"])
OF_HBASE = ServerError(ILLEGAL, "KeyValue size too large")
READ_ONLY = ServerError(ILLEGAL, "table t is read only", classes=["InvalidRequest", "HbtableError"])
DISABLED = ServerError("TableNotEnabledException", "t is disabled", classes=["TableNotEnabled", "InvalidRequest"])
RECORDS = 60


class Server:
    """A transfer's, with a table in memory. A call with a value `large` is refused as a whole."""

    def __init__(self, error: ServerError) -> None:
        self.table: dict[bytes, bytes] = {}
        self.calls = 0
        self.sent: list[bytes] = []
        self._error = error

    def origin(self, table: bytes) -> State:
        return {"cluster": "c", "table_id": 1}

    def families(self, table: bytes) -> frozenset[bytes]:
        return frozenset([b"f"])

    def write(self, table: bytes, rows: Sequence[AdminMutation]) -> None:
        self.calls += 1
        self.sent += [row.row for row in rows]
        cells = [(row.row, one.value) for row in rows for one in row.operations or ()]
        if any(value == b"large" for _, value in cells):
            raise self._error
        self.table.update(cells)

    def told(self) -> str:
        return ""

    def close(self) -> None:
        """Nothing."""


class Run:
    """Imports of one file, of records that are good, large or no records."""

    def __init__(self, server: Server, folder: Path, form: str, kinds: Sequence[str]) -> None:
        self.server = server
        self.file = folder / f"rows.{form}"
        self.errors = folder / "errors"
        self.form = form
        self.bad = [number for number, kind in enumerate(kinds) if kind != "good"]
        self.expected = {b"r%d" % number: b"%d" % number for number, kind in enumerate(kinds) if kind == "good"}
        values = [str(number) if kind == "good" else kind for number, kind in enumerate(kinds)]
        if form == "parquet":
            cells = {
                "row": [b"r%d" % number for number in range(len(kinds))],
                "column": [b"f" if kind == "unreadable" else b"f:q" for kind in kinds],
                "timestamp": [1] * len(kinds),
                "value": [value.encode() for value in values],
            }
            pyarrow.parquet.write_table(pyarrow.table(cells), self.file)
            self.places = [f"{self.file}, record {number + 1}: " for number in self.bad]
            return
        self.lines = [line(form, number, value) for number, value in enumerate(values)]
        first = "HBASE_ROW_KEY,f:q\n" if form == "csv" else ""
        self.file.write_text(first + "\n".join(self.lines))  # each line but the last one with an empty one behind it
        self.places = [f"{self.file}, line {2 * number + 1 + len(first.splitlines())}: " for number in self.bad]

    def run(self, skip_bad: int, batch: int = 7, workers: int = 2) -> str:
        options = ImportOptions(b"t", self.file, self.form, (), batch, workers, skip_bad, self.errors)
        return run_import("", options, lambda: 0.0)

    def kept(self) -> list[str]:
        return self.errors.read_text().splitlines() if self.errors.exists() else []


def line(form: str, number: int, value: str) -> str:
    cells = [{"column": "f" if value == "unreadable" else "f:q", "timestamp": 1, "value": value}]
    if form == "jsonl":
        return json.dumps({"row": f"r{number}", "cells": cells}) + "\n"
    return f"r{number},{'a,b' if value == 'unreadable' else value}\n"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    made = Server(TOO_LARGE)
    monkeypatch.setattr(transfer_workers, "connector", lambda address: lambda: made)
    return made


def some_kinds(seed: int) -> list[str]:
    generator = random.Random(seed)
    kinds = ["good"] * RECORDS
    for number in generator.sample(range(RECORDS), generator.randrange(1, 12)):
        kinds[number] = generator.choice(["large", "unreadable"])
    return kinds


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
@pytest.mark.parametrize("seed", range(12))
def test_bad_records_of_both_kinds_are_skipped_and_kept(server: Server, tmp_path: Path, form: str, seed: int) -> None:
    """With one less than there are the last one is named, in the order of the file; the same command goes on."""
    run = Run(server, tmp_path, form, some_kinds(seed))
    batch, workers = random.Random(seed).choice([(1, 1), (7, 1), (7, 3), (500, 2)])
    for most in sorted({0, len(run.bad) // 2, len(run.bad) - 1}):
        with pytest.raises(ShellError) as refused:
            run.run(most, batch, workers)
        assert str(refused.value).startswith(run.places[most])
        assert f"go on with --skip-bad {most + 1} or more" in str(refused.value)
        assert len(run.kept()) <= most + (form == "csv")
    said = run.run(len(run.bad), batch, workers)
    assert f"imported {RECORDS - len(run.bad)} rows" in said
    assert f", {len(run.bad)} bad records skipped" in said
    assert server.table == run.expected
    why = (tmp_path / "errors.why").read_text().splitlines()
    assert [one.startswith(place) for one, place in zip(why, run.places, strict=True)] == [True] * len(run.bad)
    if form == "parquet":
        assert len(run.kept()) == len(run.bad)
    else:
        first = ["HBASE_ROW_KEY,f:q"] if form == "csv" else []
        assert run.kept() == first + [run.lines[number].rstrip() for number in run.bad]


def test_what_was_kept_of_parquet_can_be_imported(server: Server, tmp_path: Path) -> None:
    run = Run(server, tmp_path, "parquet", ["good", "large", "good"])
    run.run(1)
    ((record, _),) = records(run.errors, "jsonl", (), 0)
    assert not isinstance(record, BadRecord)
    assert (record.row, [one.value for one in record.operations or ()]) == (b"r1", [b"large"])


def test_a_row_of_several_records_is_named_by_all_of_them(server: Server, tmp_path: Path) -> None:
    run = Run(server, tmp_path, "parquet", ["good"])
    cells = {"row": [b"a", b"b", b"b", b"c"], "column": [b"f:q"] * 4, "timestamp": [1, 2, 1, 1]}
    table: Any = pyarrow.table({**cells, "value": [b"1", b"2", b"large", b"3"]})
    pyarrow.parquet.write_table(table, run.file)
    with pytest.raises(ShellError, match="records 2 to 3: a cell is too large"):
        run.run(0)


def test_a_row_beside_a_refused_one_is_sent_once_more_and_not_again_and_again(server: Server, tmp_path: Path) -> None:
    """A part of what is refused may have been written, and a cell without a time gets a new version each time."""
    kinds = ["good"] * 512
    kinds[200] = "large"
    Run(server, tmp_path, "jsonl", kinds).run(1, 512, 1)
    assert server.calls == 1 + 512
    assert max(Counter(server.sent).values()) == 2


def test_fewer_may_be_bad_than_at_an_earlier_try(server: Server, tmp_path: Path) -> None:
    run = Run(server, tmp_path, "jsonl", ["large", "good", "large", "large"])
    with pytest.raises(ShellError):
        run.run(2, 1, 1)
    with pytest.raises(ShellError):
        run.run(0, 1, 1)


@pytest.mark.parametrize("error", [READ_ONLY, DISABLED])
def test_what_is_refused_of_all_ends_the_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: ServerError
) -> None:
    server = Server(error)
    monkeypatch.setattr(transfer_workers, "connector", lambda address: lambda: server)
    with pytest.raises(ServerError, match=str(error)):
        Run(server, tmp_path, "jsonl", ["good", "large", "good"]).run(5)
    assert server.calls == 1


def test_hbase_s_own_refusal_of_a_record_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(OF_HBASE)
    monkeypatch.setattr(transfer_workers, "connector", lambda address: lambda: server)
    run = Run(server, tmp_path, "jsonl", ["good", "large", "good"])
    assert "imported 2 rows" in run.run(1)
    assert server.table == run.expected
