"""hbtable copy through Thrift1: a table of the server under test goes to an hbtable and back, and happybase reads the
same of it before and after. The server may be a real HBase (HBTABLE_COMPAT_SERVER)."""

import subprocess
import sys
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import happybase

from tests.harness import moving
from tests.harness.fresh_seed import fresh_seed
from tests.harness.server import ServerProcess


def contents(connection: happybase.Connection, name: str) -> dict[bytes, Any]:
    table = connection.table(name)
    return {
        row: {column: table.cells(row, column, versions=10, include_timestamp=True) for column in columns}
        for row, columns in table.scan()
    }


def copied(source: str, target: str, name: str, state: Path) -> str:
    words = ["copy", "--from", f"thrift1://{source}", "--to", target, "--tables", name, "--state", str(state)]
    done = subprocess.run(
        [sys.executable, "-m", "hbtable", *words], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_there_and_back_again(address: tuple[str, int], tmp_path: Path) -> None:
    host, port = address
    name = "copied"
    with (
        ServerProcess(tmp_path / "data", ["log.durability=os"]) as ours,
        closing(happybase.Connection(host, port, timeout=120_000)) as connection,
    ):
        if name.encode() in connection.tables():
            connection.delete_table(name, disable=True)
        families: dict[str, dict[str, Any]] = {
            "f": {"max_versions": 3, "compression": "GZ", "bloom_filter_type": "ROWCOL", "time_to_live": 10**8},
            "g": {"max_versions": 1, "in_memory": True},
        }
        connection.create_table(name, families)
        table = connection.table(name)
        with table.batch(batch_size=300) as batch:
            for number in range(2000):
                batch.put(b"row%05d" % number, {b"f:a": b"%d" % number, b"g:\xff\x00": bytes([number % 256])})
        for number in range(5):
            table.put(b"row00007", {b"f:a": b"version %d" % number, b"f:": b""})
            table.put(b"row00008", {b"f:a": b"at %d" % number}, timestamp=1_700_000_000_000 + number)
        table.delete(b"row00009")
        table.delete(b"row00010", [b"f:a"])
        described, before = table.families(), contents(connection, name)
        assert len(before) == 1999
        assert len(before[b"row00007"][b"f:a"]) == 3

        said = copied(f"{host}:{port}", f"thrift://127.0.0.1:{ours.port}", name, tmp_path / "state")
        assert "copied 1,999 rows" in said
        with closing(ours.connect()) as there:
            assert contents(there, name) == before
            assert there.table(name).families() == described
        connection.delete_table(name, disable=True)
        copied(f"127.0.0.1:{ours.port}", f"thrift1://{host}:{port}", name, tmp_path / "state")
        assert contents(connection, name) == before
        assert table.families() == described
        connection.delete_table(name, disable=True)


def test_a_table_that_is_written_to_moves_and_comes_back(address: tuple[str, int], tmp_path: Path) -> None:
    """`make moving` does the same with a million rows of a real HBase."""
    name, rows = "moved", 300
    _, port = address
    with (
        ServerProcess(tmp_path / "data", ["log.durability=os"]) as server,
        closing(moving.Thrift1Side(port, name)) as theirs,
        closing(moving.Thrift1Side(server.port, name)) as ours,
    ):
        theirs.drop()
        theirs.make([])
        moving.load(theirs, 0, rows)
        there, here = f"thrift1://127.0.0.1:{port}", f"thrift://127.0.0.1:{server.port}"
        for source, target, ports in ((there, here, (port, server.port)), (here, there, (server.port, port))):
            if source == here:
                theirs.drop()
            connect = partial(moving.Thrift1Side, ports[0], name)
            writers = moving.Application(connect, rows, fresh_seed(), deletes=False, pause_seconds=0.001)
            try:
                moved = moving.move(source, target, name, tmp_path / "state", writers.stop)
            finally:
                writers.stop()
            assert moved.code == 0, moved.lines
            assert any("alike" in line for line in moved.lines), moved.lines
            assert writers.calls > 0
            found = moving.digest(theirs), moving.digest(ours)
            assert found[0] == found[1], moved.lines
        theirs.drop()
