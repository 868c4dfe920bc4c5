"""A table on two server processes that engines read, and what plain Python makes of a happybase scan of it."""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

import hbtable
from tests.harness.server import ServerProcess

ROWS = 2000
TYPES = {"c:site": pa.string(), "c:clicks": pa.int64()}
Record = tuple[bytes, str | None, int | None]


@contextmanager
def clicks_server(folder: Path) -> Iterator[ServerProcess]:
    """With the table "clicks", in three tablets; some rows lack one of the columns."""
    server = ServerProcess(folder / "data", ["log.durability=os"])
    server.arguments = ["--servers", "2"]
    with server:
        with hbtable.connect("127.0.0.1", server.port) as db:
            table = db.create_table("clicks", ["c"], split_rows=["0500", "1500"])
            with table.batch(batch_size=500) as batch:
                for number in range(ROWS):
                    data: dict[str, Any] = {"c:clicks": struct.pack(">q", number * 2**40)} if number % 5 else {}
                    batch.put(f"{number:04}", {**data, **({"c:site": f"site{number % 7}"} if number % 3 else {})})
        yield server


def plain_records(server: ServerProcess) -> list[Record]:
    found: list[Record] = []
    for row, data in plain(server, "clicks").items():
        site = data[b"c:site"].decode() if b"c:site" in data else None
        found.append((row, site, struct.unpack(">q", data[b"c:clicks"])[0] if b"c:clicks" in data else None))
    return found


def plain(server: ServerProcess, name: str, **scan: Any) -> dict[bytes, dict[bytes, Any]]:
    connection = server.connect()
    try:
        return dict(connection.table(name).scan(**scan))
    finally:
        connection.close()


def assert_copied_once(server: ServerProcess, copy: hbtable.Table, timestamp: int) -> None:
    """The table `copy` has the cells of "clicks", all of this time, and each once."""
    cells = plain(server, "clicks").items()
    expected = {row: {name: (value, timestamp) for name, value in data.items()} for row, data in cells}
    assert plain(server, copy.name.decode(), include_timestamp=True) == expected
    assert all(len(copy.cells(row, "c:site", versions=5)) <= 1 for row in list(expected)[:20])


def sums(records: list[Record]) -> dict[str, int]:
    found: dict[str, int] = {}
    for _, site, clicks in records:
        if site is not None:
            found[site] = found.get(site, 0) + (clicks or 0)
    return found
