"""hbtable copy as a command between two servers, and tables for it."""

import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from thriftpy2.rpc import make_client

import hbtable
from hbtable.hbase.admin.structs import AdminRead, AdminScan
from hbtable.model.read import ALL_VERSIONS
from tests.harness.interfaces import interface
from tests.harness.server import ServerProcess
from tests.harness.warm_commands import run_warm

FAMILIES: Any = {
    "f": {"max_versions": 3, "compression": "GZ"},
    "g": {"max_versions": 1},
    "none": {},
}


def connected(server: ServerProcess) -> hbtable.Database:
    return hbtable.connect("127.0.0.1", server.port, timeout=60_000)


def filled(server: ServerProcess, name: str, rows: int = 900, wide_cells: int = 200) -> None:
    """A row of `wide_cells` is among them: of more than 10,000, it is copied in pieces."""
    with connected(server) as database:
        table = database.create_table(name, FAMILIES, split_rows=[b"k3", b"k6"])
        with table.batch(timestamp=1000, batch_size=200) as batch:
            for number in range(rows):
                batch.put(b"k%d-%05d" % (number % 9, number), {b"f:a": b"%d" % number, b"g:\xff\x00": b"\x00\xff"})
        for time in (2000, 2001, 5):
            table.put(b"k1-00001", {b"f:a": b"at %d" % time, b"f:": b"", b"f:only": b"%d" % time}, timestamp=time)
        table.put(b"k5-wide", {b"f:%05d" % number: b"x" * 50 for number in range(wide_cells)}, timestamp=7)
        table.put(b"\xff\xfe", {b"g:": b"last"})
        table.delete(b"k2-00002")


def cells(server: ServerProcess, name: str) -> list[Any]:
    with connected(server) as database:
        return list(database.table(name).scan(versions=10, include_timestamp=True))


def words(
    servers: list[ServerProcess], state: Path, *more: str, services: tuple[str, str] = ("thrift", "thrift")
) -> list[str]:
    addresses = [f"{service}://127.0.0.1:{one.port}" for service, one in zip(services, servers, strict=True)]
    command = [sys.executable, "-m", "hbtable", "copy", "--from", addresses[0], "--to", addresses[1]]
    return [*command, "--state", str(state), *more]


def copied(*given: Any, **named: Any) -> subprocess.CompletedProcess[str]:
    return run_warm(*words(*given, **named)[3:])


LATER = 10**9
"""Milliseconds that no test takes."""


def mortal(server: ServerProcess, name: str) -> None:
    """Cells with times to live of their own among others: in files and in memory, of one row, of one column, of a row
    that comes in pieces, and behind a marker."""
    two = interface("hbase2")
    now = round(time.time() * 1000)

    def put(row: bytes, column: bytes, at: int, ttl: int, value: bytes = b"1") -> None:
        family, qualifier = column.split(b":", 1)
        attributes = {b"_ttl": ttl.to_bytes(8, "big")} if ttl else None
        values = [two.TColumnValue(family, qualifier, value, at)]
        calls.put(name.encode(), two.TPut(row=row, columnValues=values, attributes=attributes))

    with connected(server) as database:
        table = database.create_table(name, FAMILIES)
        with closing(make_client(two.THBaseService, "127.0.0.1", server.port, timeout=60_000)) as calls:
            put(b"deleted", b"f:a", now - 20_000, LATER)
            table.delete(b"deleted")
            put(b"mixed", b"f:a", now - 1000, 0)
            put(b"mixed", b"f:a", now - 500, LATER + 7)
            put(b"over", b"f:a", now - 5000, 1000)
            database.flush_table(name)
            put(b"mixed", b"f:a", now, 0, b"")
            put(b"mixed", b"g:b", now, LATER + 8)
            put(b"mixed", b"f:c", now, LATER + 9, bytes(8))
            table.put(b"wide", {b"f:%05d" % number: b"x" for number in range(12_000)}, timestamp=now)
            put(b"wide", b"f:09999", now + 1, LATER)
            put(b"wide", b"f:11000", now, LATER)


def lifetimes(server: ServerProcess, name: str) -> list[Any]:
    """Of all cells that are to be seen."""
    found: list[Any] = []
    position = None
    with connected(server) as database:
        while True:
            read = AdminRead(max_versions=ALL_VERSIONS, lifetimes=True)
            scan = AdminScan(read, cells_per_row=5000, max_rows=2, position=position)
            page = database.calls.admin("adminScan", name.encode(), scan)
            assert page.lifetimes
            found += [(row.row, *cell) for row in page.rows for cell in row.cells]
            position = page.position
            if position is None:
                return found
