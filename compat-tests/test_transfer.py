"""hbtable export and import through Thrift1 alone: the table that comes back is the one that went, as happybase reads
it. The server may be a real HBase (HBTABLE_COMPAT_SERVER)."""

import subprocess
import sys
from contextlib import closing
from pathlib import Path
from time import perf_counter
from typing import Any

import happybase
import pyarrow.parquet
import pytest

from hbtable.shell.errors import ShellError
from hbtable.shell.transfer.exporting import ExportOptions, run_export
from tests.harness.tiers import taking_turns


def contents(connection: happybase.Connection, name: str) -> dict[bytes, Any]:
    table = connection.table(name)
    return {
        row: {column: table.cells(row, column, versions=10, include_timestamp=True) for column in columns}
        for row, columns in table.scan()
    }


def hbtable(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "hbtable", *words], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.parametrize("form", taking_turns(["jsonl", "parquet"], 2))
def test_out_into_a_file_and_in_again(address: tuple[str, int], tmp_path: Path, form: str) -> None:
    host, port = address
    url, file = f"thrift1://{host}:{port}", tmp_path / f"of.{form}"
    families: dict[str, dict[str, Any]] = {"f": {"max_versions": 3}, "g": {"max_versions": 1}}
    with closing(happybase.Connection(host, port, timeout=120_000)) as connection:
        for name in ("went", "came"):
            if name.encode() in connection.tables():
                connection.delete_table(name, disable=True)
            connection.create_table(name, families)
        table = connection.table("went")
        with table.batch(batch_size=300) as batch:
            for number in range(1000):
                batch.put(b"row%05d" % number, {b"f:a": b"%d" % number, b"g:\xff\x00": bytes([number % 256])})
        for number in range(5):
            table.put(b"row00007", {b"f:a": b"version %d" % number, b"f:": b""})
            table.put(b"row00008", {b"f:a": b"at %d" % number}, timestamp=1_700_000_000_000 + number)
        table.put(b'\0\xff\n,"', {b"f:\0\t\n": b"\xfe\xff", b'g:"q': b"x\r\ny"}, timestamp=1)
        table.delete(b"row00009")
        table.delete(b"row00010", [b"f:a"])
        before = contents(connection, "went")
        assert len(before[b"row00007"][b"f:a"]) == 3
        assert "exported 1,000 rows" in hbtable("export", "--url", url, "went", "-o", str(file))
        assert "imported 1,000 rows" in hbtable("import", "--url", url, "came", str(file))
        assert contents(connection, "came") == before
        if form == "parquet":
            newest = dict(table.scan(columns=[b"f:a", b"g:\xff\x00"]))
            typed = tmp_path / "typed.parquet"
            options = ExportOptions(b"went", typed, "parquet", types={b"f:a": "text", b"g:\xff\x00": "uint8"})
            assert f"exported {len(newest):,} rows" in run_export(url, options, perf_counter)
            for row, text, number in (record.values() for record in pyarrow.parquet.read_table(typed).to_pylist()):
                found = {b"f:a": text and text.encode(), b"g:\xff\x00": None if number is None else bytes([number])}
                assert {name: value for name, value in found.items() if value is not None} == newest.pop(row)
            assert newest == {}
            options = ExportOptions(b"went", tmp_path / "no", "parquet", types={b"f:a": "int64"})
            with pytest.raises(ShellError, match="in column b'f:a': it has 1 bytes, and int64 has 8"):
                run_export(url, options, perf_counter)
            options = ExportOptions(b"went", tmp_path / "no", "parquet", types={b"x:a": "int64"})
            with pytest.raises(ShellError, match="has no family x; its families are f, g"):
                run_export(url, options, perf_counter)
            assert sorted(tmp_path.iterdir()) == [file, typed]
        for name in ("went", "came"):
            connection.delete_table(name, disable=True)
