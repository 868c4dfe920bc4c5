"""hbtable export and import by HBase's Thrift1 and Thrift2 alone, as against a real HBase. The oracle is what happybase
reads of both tables, cell by cell; compat-tests/test_transfer.py has it beside a real one."""

import contextlib
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import happybase
import pyarrow.parquet
import pytest

from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.shell.connection import ShellConnection
from hbtable.shell.copying import page_size, thrift1_peer, thrift2_peer
from hbtable.shell.copying.hbtable_peer import HbtablePeer
from hbtable.shell.copying.thrift1_peer import Thrift1Peer
from hbtable.shell.copying.thrift2_peer import Thrift2Peer
from hbtable.shell.errors import ArgumentError, BrokenOff, ShellError
from hbtable.shell.transfer import exporting, servers
from hbtable.shell.transfer.exporting import ExportOptions, run_export
from hbtable.shell.transfer.importing import ImportOptions, run_import
from tests.harness.warm_server import WarmServer

pytestmark = pytest.mark.integration
FAMILIES: dict[str, dict[str, Any]] = {"f": {"max_versions": 3}, "g": {"max_versions": 1}}
KINDS = ("thrift1", "thrift2")
PEERS: dict[str, type[Thrift1Peer] | type[Thrift2Peer]] = {"thrift1": Thrift1Peer, "thrift2": Thrift2Peer}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmServer]:
    with WarmServer(tmp_path_factory.mktemp("data") / "data", ["log.durability=os"]) as running:
        yield running


@pytest.fixture
def connection(server: WarmServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[happybase.Connection]:
    """With tables `from`, of what is hard to carry, and `to`, which is empty. Pages and pieces are small, so there are
    many."""
    monkeypatch.setattr(page_size, "_MOST", 3)
    for module in (thrift1_peer, thrift2_peer):
        monkeypatch.setattr(module, "_PIECE_CELLS", 7)
    made = server.connect()
    for name in ("from", "to"):
        if name.encode() in made.tables():
            made.delete_table(name, disable=True)
        made.create_table(name, FAMILIES)
    table = made.table("from")
    for number in range(20):
        table.put(b"row%02d" % number, {b"f:a": b"%d" % number, b"g:\xff\x00": bytes([number])})
    for at in range(1, 6):
        table.put(b"row07", {b"f:a": b"at %d" % at, b"f:": b""}, timestamp=at)
    table.put(b'\0\xff\n,"', {b"f:\0\t\n": b"\xfe\xff", b"f:e": b"", b'g:"q': b"x\r\ny"})
    table.put(b"wide", {b"g:%03d" % number: b"%d" % number for number in range(40)}, timestamp=9)
    table.delete(b"row09")
    table.delete(b"row10", [b"f:a"])
    yield made
    made.close()


def address(server: WarmServer, kind: str) -> str:
    return f"{kind}://127.0.0.1:{server.port}"


def cells(connection: happybase.Connection, name: str) -> dict[bytes, Any]:
    table = connection.table(name)
    return {
        row: {column: table.cells(row, column, versions=9, include_timestamp=True) for column in columns}
        for row, columns in table.scan()
    }


class Stopped(ShellError):
    """Here, and on purpose."""


class Stopping:
    """The pages of a peer: an error comes in front of these, counted from 0, instead of what is behind them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, kind: str, at: Sequence[int], error: Exception) -> None:
        self.came = 0
        self._given = PEERS[kind].pages
        self._at, self._error = at, error
        outer = self

        def pages(peer: Any, *arguments: Any) -> Iterator[Any]:
            for page in outer._given(peer, *arguments):
                outer.came += 1
                if outer.came - 1 in outer._at:
                    raise outer._error
                yield page

        monkeypatch.setattr(PEERS[kind], "pages", pages)


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
@pytest.mark.parametrize("kind", KINDS)
def test_all_cells_come_out_and_in_again(
    server: WarmServer, connection: happybase.Connection, tmp_path: Path, kind: str, form: str
) -> None:
    file = tmp_path / f"of.{form}"
    before = cells(connection, "from")
    assert len(before) == 21
    assert len(before[b"row07"][b"f:a"]) == 3
    said = run_export(address(server, kind), ExportOptions(b"from", file, form), perf_counter)
    assert said.startswith("exported 21 rows")
    assert ("HBase's Thrift1 gave each row" in said) == (kind == "thrift1")
    said = run_import(address(server, kind), ImportOptions(b"to", file, form), perf_counter)
    assert ("HBase's Thrift1 took cells" in said) == (kind == "thrift1")
    assert cells(connection, "to") == before
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("kind", KINDS)
def test_fields_are_the_newest_values_of_whole_rows(
    server: WarmServer, connection: happybase.Connection, tmp_path: Path, kind: str
) -> None:
    columns = ["f:a", "g:001", "g:039", "f:"]
    files = [tmp_path / "theirs.csv", tmp_path / "ours.csv"]
    for file, where in zip(files, (address(server, kind), f"127.0.0.1:{server.port}"), strict=True):
        said = run_export(where, ExportOptions(b"from", file, "csv", columns, page_rows=4), perf_counter)
        assert said.startswith("exported 19 rows")
        assert "; 1 cells of an empty value" in said
    assert files[0].read_bytes() == files[1].read_bytes()
    run_import(address(server, kind), ImportOptions(b"to", files[0], "csv", batch_rows=3), perf_counter)
    found = dict(connection.table("to").scan())
    expected = dict(connection.table("from").scan(columns=columns))
    del expected[b"row07"][b"f:"]
    assert found == expected


@pytest.mark.parametrize("kind", KINDS)
def test_a_record_a_row_is_typed(
    server: WarmServer, connection: happybase.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Also over connections that break. A value that is not of its type, and a family that is not there, leave no
    file."""
    monkeypatch.setattr(servers, "_PAUSES", (0.0, 0.0))
    monkeypatch.setattr(exporting, "_TYPED_PAGE_ROWS", 4)
    types = {b"g:\xff\x00": "uint8", b"f:a": "text", b"f:": "bytes", b"g:039": "text"}
    expected = [
        [row, *data.get(b"g:\xff\x00", [None]), text(data.get(b"f:a")), data.get(b"f:"), text(data.get(b"g:039"))]
        for row, data in connection.table("from").scan(columns=list(types))
    ]
    files = [tmp_path / "theirs.parquet", tmp_path / "ours.parquet"]
    for file, where in zip(files, (address(server, kind), f"127.0.0.1:{server.port}"), strict=True):
        with monkeypatch.context() as patch:
            Stopping(patch, kind, [1, 3], BrokenOff("broke off"))
            options = ExportOptions(b"from", file, "parquet", types=types, workers=1)
            assert "exported 20 rows" in run_export(where, options, perf_counter)
        found = pyarrow.parquet.read_table(file)
        assert [str(field.type) for field in found.schema] == ["binary", "uint8", "string", "binary", "string"]
        assert [list(record.values()) for record in found.to_pylist()] == expected
    for column, message in (
        (b"f:a", "row b'row00' has the value b'0' in column b'f:a': it has 1 bytes, and int64 has 8"),
        (b"x:a", "table from has no family x; its families are f, g"),
    ):
        options = ExportOptions(b"from", tmp_path / "wrong.parquet", "parquet", types={column: "int64"})
        with pytest.raises(ShellError, match=re.escape(message)):
            run_export(address(server, kind), options, perf_counter)
    assert sorted(tmp_path.iterdir()) == sorted(files)


def text(value: bytes | None) -> str | None:
    return None if value is None else value.decode()


@pytest.mark.parametrize("kind", KINDS)
def test_of_two_records_of_a_row_the_later_one_wins(
    server: WarmServer, connection: happybase.Connection, tmp_path: Path, kind: str
) -> None:
    file = tmp_path / "twice.csv"
    file.write_text("HBASE_ROW_KEY,HBASE_TS_KEY,f:a\n" + "".join(f"r{n % 3},{n // 6},{n}\n" for n in range(30)))
    run_import(address(server, kind), ImportOptions(b"to", file, "csv"), perf_counter)
    found = {row: value[b"f:a"] for row, value in connection.table("to").scan()}
    assert found == {b"r0": b"27", b"r1": b"28", b"r2": b"29"}
    assert connection.table("to").cells(b"r0", b"f:a", versions=3) == [b"27", b"21", b"15"]


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
@pytest.mark.parametrize("kind", KINDS)
def test_it_goes_on_where_it_broke_off(
    server: WarmServer, connection: happybase.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str,
    form: str,
) -> None:  # fmt: skip
    """In front of each page once; in the middle of a row, too, whose newest cell is another one by then."""
    columns = ["f:a", "g:001"] if form == "csv" else []
    options = ExportOptions(b"from", tmp_path / f"of.{form}", form, columns, page_rows=1, workers=1)
    whole = ExportOptions(b"from", tmp_path / f"whole.{form}", form, columns, page_rows=1, workers=1)
    where = address(server, kind)
    expected = run_export(where, whole, perf_counter).partition(" in ")[0]
    said = ""
    for _ in range(200):
        with monkeypatch.context() as patch:
            Stopping(patch, kind, [2], Stopped("stopped"))
            with contextlib.suppress(Stopped):
                said = run_export(where, options, perf_counter)
                break
        if form == "parquet":  # it begins again
            said = run_export(where, options, perf_counter)
            break
    assert said.startswith(expected)
    if form == "csv":
        assert options.path.read_bytes() == whole.path.read_bytes()
    elif form == "jsonl":
        one, other = (
            [json.loads(line) for line in path.read_text().splitlines()] for path in (options.path, whole.path)
        )
        flat = [[(str(row["row"]), cell) for row in rows for cell in row["cells"]] for rows in (one, other)]
        assert flat[0] == flat[1]


@pytest.mark.parametrize("kind", KINDS)
def test_a_connection_that_breaks_is_made_again(
    server: WarmServer, connection: happybase.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """As HBase's server breaks one that rests for a minute. Only what has its times is written again."""
    monkeypatch.setattr(servers, "_PAUSES", (0.0, 0.0))
    file = tmp_path / "of.jsonl"
    Stopping(monkeypatch, kind, [1, 3, 4], BrokenOff("broke off"))
    run_export(address(server, kind), ExportOptions(b"from", file, "jsonl", workers=1), perf_counter)
    write, calls = PEERS[kind].write, 0

    def broken(self: Any, table: bytes, rows: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise BrokenOff("broke off")
        write(self, table, rows)

    monkeypatch.setattr(PEERS[kind], "write", broken)
    run_import(address(server, kind), ImportOptions(b"to", file, "jsonl", workers=1), perf_counter)
    assert cells(connection, "to") == cells(connection, "from")
    calls = 0
    file.write_text('{"row":"r","cells":[{"column":"f:a","value":"now"}]}\n')
    with pytest.raises(BrokenOff):
        run_import(address(server, kind), ImportOptions(b"to", file, "jsonl", workers=1), perf_counter)


@pytest.mark.parametrize("kind", KINDS)
def test_another_table_of_the_name_is_told_from_one_that_was_split(
    server: WarmServer, connection: happybase.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    where = address(server, kind)
    options = ExportOptions(b"from", tmp_path / "of.jsonl", "jsonl", workers=1)
    with monkeypatch.context() as patch:
        Stopping(patch, kind, [2], Stopped("stopped"))
        with pytest.raises(Stopped):
            run_export(where, options, perf_counter)
    connection.delete_table("from", disable=True)
    connection.create_table("from", FAMILIES)
    with pytest.raises(ArgumentError, match=r"all regions of this one are others now: .* --anew"):
        run_export(where, options, perf_counter)
    state = json.loads((tmp_path / "of.jsonl.export").read_text())
    names = PEERS[kind].region_names
    monkeypatch.setattr(PEERS[kind], "region_names", lambda self, table: [*names(self, table), *state["regions"]])
    assert "exported" in run_export(where, options, perf_counter)


@pytest.mark.parametrize("kind", [*KINDS, "thrift"])
def test_a_table_that_is_made_anew_under_way_ends_it(
    server: WarmServer, connection: happybase.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """The export had the rows of the one before, and the import's first row is not in the new one."""
    made = servers.HbtableTransfer if kind == "thrift" else servers.HBaseTransfer
    pages, write = made.pages, made.write

    def make_anew(name: bytes) -> None:
        connection.delete_table(name, disable=True)
        connection.create_table(name, FAMILIES)

    def read(self: Any, reading: servers.Reading, *arguments: Any) -> Iterator[Any]:
        yield from pages(self, reading, *arguments)
        make_anew(reading.table)

    def written(self: Any, table: bytes, rows: Any) -> None:
        write(self, table, rows)
        if rows[0].row == b"0":
            make_anew(table)

    monkeypatch.setattr(made, "pages", read)
    monkeypatch.setattr(made, "write", written)
    out, into = tmp_path / "of.jsonl", tmp_path / "into.jsonl"
    into.write_text("".join(f'{{"row":"{n}","cells":[{{"column":"f:a","value":"v"}}]}}\n' for n in range(3)))
    where = address(server, kind)
    with pytest.raises(ShellError, match=r"table from was dropped and created, .* of.jsonl.part-.*; begin anew with"):
        run_export(where, ExportOptions(b"from", out, "jsonl", workers=1), perf_counter)
    assert not out.exists()
    with pytest.raises(ShellError, match=r"table to was dropped and created, .* of the 3 rows .*; begin anew with"):
        run_import(where, ImportOptions(b"to", into, "jsonl", batch_rows=1, workers=1), perf_counter)
    assert [row for row, _ in connection.table("to").scan()] == [b"1", b"2"]


def test_both_services_tell_the_same_regions(server: WarmServer) -> None:
    """Of more than one page, and of this table alone."""
    with contextlib.closing(server.connect()) as connection:
        for name, splits in (("many", 120), ("many2", 2)):
            with contextlib.closing(HbtablePeer(ShellConnection(f"127.0.0.1:{server.port}"))) as ours:
                schema = TableSchema(name.encode(), {b"f": FamilySchema(b"f")})
                ours.create(schema, [b"%03d" % number for number in range(1, splits)])
        listed = connection.client.getTableRegions(b"many")
    for kind in KINDS:
        with contextlib.closing(PEERS[kind](ShellConnection(f"127.0.0.1:{server.port}"))) as peer:
            names = peer.region_names(b"many")
            assert len(names) == 120
            assert set(names) == {one.name.decode().rstrip(".").rpartition(".")[2] for one in listed}
            assert peer.regions(b"many") == sorted((one.startKey, one.endKey) for one in listed)


@pytest.mark.parametrize("kind", KINDS)
def test_what_cannot_be_is_said(
    server: WarmServer, connection: happybase.Connection, tmp_path: Path, kind: str
) -> None:
    where = address(server, kind)
    file = tmp_path / "of.jsonl"
    file.write_text(
        '{"row":"a","cells":[{"column":"f:a","value":""}]}\n{"row":"b","cells":[{"column":"x:a","value":""}]}'
    )
    with pytest.raises(ShellError, match=r"of\.jsonl, line 2: row b: table to has no family x; its families are f, g;"):
        run_import(where, ImportOptions(b"to", file, "jsonl", workers=1), perf_counter)
    with pytest.raises(ArgumentError, match="table to has no family x; its families are f, g"):
        run_export(where, ExportOptions(b"to", tmp_path / "x.csv", "csv", ["x:a"]), perf_counter)
    assert [row for row, _ in connection.table("to").scan()] == [b"a"]
    connection.table("to").delete(b"a")
    with pytest.raises(ShellError, match="Unknown table nosuch!"):
        run_export(where, ExportOptions(b"nosuch", tmp_path / "y.jsonl", "jsonl"), perf_counter)


def test_large_values_are_spread_over_calls(server: WarmServer, tmp_path: Path) -> None:
    """An import of 30 cells of 5 MB was refused: a call of 500 rows was larger than a message may be."""
    with contextlib.closing(server.connect()) as connection:
        connection.create_table("large", {"f": {}})
        file = tmp_path / "large.jsonl"
        value = "x" * 5_000_000
        with file.open("w") as lines:
            for number in range(30):
                lines.write(json.dumps({"row": f"r{number:02}", "cells": [{"column": "f:a", "value": value}]}) + "\n")
        where = f"127.0.0.1:{server.port}"
        assert "imported 30 rows" in run_import(where, ImportOptions(b"large", file, "jsonl", workers=1), perf_counter)
        assert sum(1 for _ in connection.table("large").scan(filter="KeyOnlyFilter()")) == 30
