"""An import or export that goes on knows its file and its table; the records that were skipped are kept."""

import itertools
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import pytest

from hbtable.shell.connection import ShellConnection
from hbtable.shell.errors import ArgumentError, ShellError
from hbtable.shell.invocation import ShellOptions
from hbtable.shell.main import run_lines
from hbtable.shell.transfer import importing, parts, progress
from hbtable.shell.transfer.exporting import ExportOptions, run_export
from hbtable.shell.transfer.importing import ImportOptions, run_import
from tests.harness.warm_server import WarmServer

pytestmark = pytest.mark.integration
NUMBERS = itertools.count()
LINES = "HBASE_ROW_KEY,f:n\na,1\nb,2\nonly one field\nc,3\n"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with WarmServer(tmp_path_factory.mktemp("data") / "data") as running:
        yield f"127.0.0.1:{running.port}"


def run(address: str, *lines: str) -> None:
    assert run_lines(ShellOptions(address, interactive=False, quiet=True), iter([f"{line}\n" for line in lines])) == 0


def rows(address: str, table: str) -> dict[bytes, bytes]:
    server = ShellConnection(address)
    scanner = server.hbase("scannerOpen", table.encode(), b"", [], {})
    found = {row.row: row.columns[b"f:n"].value for row in server.hbase("scannerGetList", scanner, 1000)}
    server.close()
    return found


class Broken(NamedTuple):
    """An import that stopped at the third record of `source`."""

    address: str
    table: str
    source: Path

    def options(self, **changes: object) -> ImportOptions:
        given = {"batch_rows": 1, "workers": 1, "skip_bad": 1, **changes}
        return ImportOptions(self.table.encode(), self.source, **{"format": "csv", **given})  # type: ignore[arg-type]

    @property
    def state(self) -> Path:
        return self.source.with_name(f"{self.source.name}.{self.table}.import")

    def change_state(self, **changes: object) -> None:
        self.state.write_text(json.dumps({**json.loads(self.state.read_text()), **changes}))


@pytest.fixture
def broken(address: str, tmp_path: Path) -> Broken:
    made = Broken(address, f"broken{next(NUMBERS)}", tmp_path / "rows.csv")
    run(address, f"create '{made.table}', 'f'")
    made.source.write_text(LINES)
    with pytest.raises(ShellError, match="1 fields where 2 belong"):
        run_import(address, made.options(skip_bad=0), perf_counter)
    assert made.state.exists()
    return made


def test_it_goes_on_with_the_same_file_and_table(broken: Broken) -> None:
    run(broken.address, f"put '{broken.table}', 'a', 'f:n', 'changed meanwhile'")
    assert "imported 3 rows" in run_import(broken.address, broken.options(), perf_counter)
    assert rows(broken.address, broken.table) == {b"a": b"changed meanwhile", b"b": b"2", b"c": b"3"}
    assert not broken.state.exists()


CHANGES: dict[str, Callable[[Broken], object]] = {
    "other bytes": lambda it: it.source.write_text(LINES.replace("a,1", "a,7")),
    "another size": lambda it: it.source.write_text(LINES + "d,4\n"),
    "truncated": lambda it: run(it.address, f"truncate '{it.table}'"),
    "dropped and created": lambda it: run(
        it.address, f"disable '{it.table}'", f"drop '{it.table}'", f"create '{it.table}', 'f'"
    ),
    "another cluster": lambda it: it.change_state(cluster="another"),
    "other --columns": lambda it: it.change_state(columns=["HBASE_ROW_KEY", "f:m"]),
    "another --format": lambda it: it.change_state(file_format="tsv"),
    "is damaged": lambda it: it.state.write_text(it.state.read_text()[:-9]),
    "has format 1": lambda it: it.state.write_text('{"rows": 2, "bad": 0, "offset": 26}'),
    "has format 99": lambda it: it.change_state(format=99),
}


@pytest.mark.parametrize("what", CHANGES)
def test_an_import_does_not_go_on_with_anything_else(broken: Broken, what: str) -> None:
    CHANGES[what](broken)
    before = rows(broken.address, broken.table)
    with pytest.raises(ArgumentError, match=r"begin anew with --anew") as refused:
        run_import(broken.address, broken.options(), perf_counter)
    assert what in str(refused.value)
    assert str(broken.state) in str(refused.value)
    assert rows(broken.address, broken.table) == before
    assert "imported" in run_import(broken.address, broken.options(anew=True), perf_counter)
    assert set(rows(broken.address, broken.table)) >= {b"a", b"b", b"c"}


def test_a_parquet_file_that_was_replaced_is_refused(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow
    import pyarrow.parquet

    def write(path: Path, values: list[str]) -> None:
        pyarrow.parquet.write_table(pyarrow.table({"HBASE_ROW_KEY": ["a", "b"], "f:n": values}), path)

    source = tmp_path / "rows.parquet"
    run(address, "create 'replaced', 'f'")
    options = ImportOptions(b"replaced", source, "parquet", batch_rows=1, workers=1)
    write(source, ["1", "2"])
    with monkeypatch.context() as patch:
        patch.setattr(progress.Progress, "finish", stopped)
        with pytest.raises(OSError, match="stopped"):
            run_import(address, options, perf_counter)
    write(source, ["3", "4"])
    with pytest.raises(ArgumentError, match="other bytes"):
        run_import(address, options, perf_counter)
    assert rows(address, "replaced") == {b"a": b"1", b"b": b"2"}


def stopped(*_: object) -> str:
    raise OSError("stopped")


class BrokenExport(NamedTuple):
    """An export that stopped before its parts were joined."""

    address: str
    table: str
    target: Path

    def options(self, **changes: object) -> ExportOptions:
        given = {"format": "csv", "columns": ("f:n",), "workers": 1, **changes}
        return ExportOptions(self.table.encode(), self.target, **given)  # type: ignore[arg-type]


@pytest.fixture
def broken_export(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BrokenExport:
    made = BrokenExport(address, f"export{next(NUMBERS)}", tmp_path / "rows.csv")
    run(address, f"create '{made.table}', 'f', SPLITS => ['m']")
    run(address, *[f"put '{made.table}', '{row}', 'f:n', '1'" for row in "anz"])
    with monkeypatch.context() as patch:
        patch.setattr(parts, "joined", stopped)
        with pytest.raises(OSError, match="stopped"):
            run_export(address, made.options(), perf_counter)
    return made


def test_an_export_goes_on_with_the_same_table(broken_export: BrokenExport) -> None:
    assert "exported 3 rows" in run_export(broken_export.address, broken_export.options(), perf_counter)
    assert broken_export.target.read_text() == "HBASE_ROW_KEY,f:n\na,1\nn,1\nz,1\n"
    assert list(broken_export.target.parent.iterdir()) == [broken_export.target]


def test_a_part_that_was_removed_is_read_again(broken_export: BrokenExport) -> None:
    broken_export.target.with_name("rows.csv.part-00001").unlink()
    assert "exported 3 rows" in run_export(broken_export.address, broken_export.options(), perf_counter)
    assert broken_export.target.read_text() == "HBASE_ROW_KEY,f:n\na,1\nn,1\nz,1\n"


EXPORTS: dict[str, Callable[[BrokenExport], BrokenExport]] = {
    "truncated": lambda it: run(it.address, f"truncate '{it.table}'") or it,  # type: ignore[func-returns-value]
    "another table": lambda it: run(it.address, f"create '{it.table}x', 'f'") or it._replace(table=it.table + "x"),  # type: ignore[func-returns-value]
    "was changed": lambda it: it.target.with_name("rows.csv.part-00000").write_text("a,2\n") and it,  # type: ignore[return-value]
}


@pytest.mark.parametrize("what", EXPORTS)
def test_an_export_does_not_go_on_with_anything_else(broken_export: BrokenExport, what: str) -> None:
    changed = EXPORTS[what](broken_export)
    with pytest.raises(ArgumentError, match=r"begin anew with --anew") as refused:
        run_export(changed.address, changed.options(), perf_counter)
    assert what in str(refused.value)
    assert ("truncated" in str(refused.value)) == (what == "truncated")
    assert not changed.target.exists()
    left = {} if what != "was changed" else {b"a": b"1", b"n": b"1", b"z": b"1"}
    assert f"exported {len(left)} rows" in run_export(changed.address, changed.options(anew=True), perf_counter)
    assert changed.target.read_text() == "HBASE_ROW_KEY,f:n\n" + "".join(f"{row.decode()},1\n" for row in left)
    assert list(changed.target.parent.iterdir()) == [changed.target]


def test_an_export_with_other_columns_is_refused(broken_export: BrokenExport) -> None:
    with pytest.raises(ArgumentError, match="other --columns"):
        run_export(broken_export.address, broken_export.options(columns=("f:m",)), perf_counter)


def test_skipped_records_are_kept_as_they_are_and_can_be_imported(broken: Broken) -> None:
    errors = broken.source.with_name("errors.csv")
    broken.source.write_bytes(LINES.encode() + b'"d\nd"\n,5\ne,\xff,6')
    options = broken.options(anew=True, skip_bad=10, errors=errors)
    assert "imported 3 rows" in run_import(broken.address, options, perf_counter)
    kept = b'HBASE_ROW_KEY,f:n\nonly one field\n"d\nd"\n,5\ne,\xff,6\n'
    assert errors.read_bytes() == kept
    assert len(errors.with_name("errors.csv.why").read_text().splitlines()) == 4
    errors.write_bytes(kept.replace(b"only one field", b"e,5").replace(b'"d\nd"\n,5\ne,\xff,6\n', b"g,\xff\n"))
    again = ImportOptions(broken.table.encode(), errors, "csv")
    assert "imported 2 rows" in run_import(broken.address, again, perf_counter)
    assert rows(broken.address, broken.table)[b"g"] == b"\xff"


def test_what_the_progress_counts_as_skipped_is_durable_before_it(
    broken: Broken, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each sync of the progress, the skipped records that it speaks of have been synced."""
    errors = broken.source.with_name("errors.csv")
    synced: dict[int, bytes] = {}
    missing = []
    fsync, save = os.fsync, progress.Progress.save

    def noting(number: int) -> None:
        fsync(number)
        path = Path(os.readlink(f"/proc/self/fd/{number}"))
        synced[os.fstat(number).st_ino] = path.read_bytes()

    def comparing(self: progress.Progress, state: dict[str, object]) -> None:
        found = synced.get(errors.stat().st_ino, b"") if errors.exists() else b""
        if found.count(b"bad") < int(str(state["bad"])):
            missing.append(state)
        save(self, state)

    broken.source.write_text("HBASE_ROW_KEY,f:n\n" + "".join(f"{n},1\nbad\n" for n in range(20)))
    monkeypatch.setattr(os, "fsync", noting)
    monkeypatch.setattr(importing.Progress, "save", comparing)
    run_import(broken.address, broken.options(anew=True, skip_bad=20, errors=errors), perf_counter)
    assert missing == []
    assert errors.read_bytes().count(b"bad\n") == 20


def test_json_that_is_not_utf8_is_a_bad_record(broken: Broken, tmp_path: Path) -> None:
    source = tmp_path / "rows.jsonl"
    source.write_bytes(b'{"row": "x", "cells": [{"column": "f:n", "value": "\xff"}]}\n')
    with pytest.raises(ShellError, match=r"rows\.jsonl, line 1: byte 0xff, the line's 52th, is no UTF-8"):
        run_import(broken.address, ImportOptions(broken.table.encode(), source, "jsonl"), perf_counter)
