"""hbtable copy as a command between two servers, and tables for it."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import hbtable
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
