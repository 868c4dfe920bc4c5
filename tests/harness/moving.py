"""A table that an application writes to while `hbtable copy --follow` moves it to another server: the application, the
command until its end, and what is there then, read without anything of the copy's own.
"""

import hashlib
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

import happybase
from thriftpy2.rpc import make_client

from tests.harness.interfaces import interface

TWO: Final = interface("hbase2")
FAMILIES: Final = {b"f": 3, b"g": 1}
"""Their versions."""
Cell = tuple[bytes, bytes, int, bytes]
"""Row, column, time, value."""
_CALL_MILLIS: Final = 120_000
_ROWS_AT_ONCE: Final = 1000
_BEGINS_TO_FOLLOW: Final = "deletes at the source are not followed"


class Side(Protocol):
    """A table of one server, over a connection of its own."""

    def put(self, rows: dict[bytes, dict[bytes, bytes]], at: int | None = None) -> None: ...

    def increment(self, row: bytes, column: bytes) -> None: ...

    def delete(self, row: bytes, column: bytes | None) -> None:
        """None: the whole row."""

    def cells(self) -> Iterator[Cell]:
        """All versions of all rows, in their order."""

    def make(self, split_rows: list[bytes]) -> None: ...

    def drop(self) -> None: ...

    def close(self) -> None: ...


class Thrift1Side:
    def __init__(self, port: int, name: str) -> None:
        self._connection = happybase.Connection("127.0.0.1", port, timeout=_CALL_MILLIS)
        self._table = self._connection.table(name)
        self._name = name

    def put(self, rows: dict[bytes, dict[bytes, bytes]], at: int | None = None) -> None:
        with self._table.batch(timestamp=at) as batch:
            for row, data in rows.items():
                batch.put(row, data)

    def increment(self, row: bytes, column: bytes) -> None:
        self._table.counter_inc(row, column)

    def delete(self, row: bytes, column: bytes | None) -> None:
        self._table.delete(row, column and [column])

    def cells(self) -> Iterator[Cell]:
        for row, data in self._table.scan(batch_size=_ROWS_AT_ONCE):
            for column in sorted(data):
                for value, at in self._table.cells(row, column, versions=100, include_timestamp=True):
                    yield row, column, at, value

    def make(self, split_rows: list[bytes]) -> None:
        """Thrift1 makes tables of one region."""
        families = {name.decode(): {"max_versions": versions} for name, versions in FAMILIES.items()}
        self._connection.create_table(self._name, families)

    def drop(self) -> None:
        if self._name.encode() in self._connection.tables():
            self._connection.delete_table(self._name, disable=True)

    def close(self) -> None:
        self._connection.close()


class Thrift2Side:
    def __init__(self, port: int, name: str) -> None:
        self._calls = make_client(TWO.THBaseService, "127.0.0.1", port, timeout=_CALL_MILLIS)
        self._table = name.encode()
        self._name = TWO.TTableName(ns=b"default", qualifier=self._table)

    def put(self, rows: dict[bytes, dict[bytes, bytes]], at: int | None = None) -> None:
        puts = []
        for row, data in rows.items():
            values = [TWO.TColumnValue(*column.split(b":", 1), value) for column, value in data.items()]
            puts.append(TWO.TPut(row=row, columnValues=values, timestamp=at))
        self._calls.putMultiple(self._table, puts)

    def increment(self, row: bytes, column: bytes) -> None:
        columns = [TWO.TColumnIncrement(*column.split(b":", 1), 1)]
        self._calls.increment(self._table, TWO.TIncrement(row=row, columns=columns))

    def delete(self, row: bytes, column: bytes | None) -> None:
        columns = None if column is None else [TWO.TColumn(*column.split(b":", 1))]
        self._calls.deleteSingle(self._table, TWO.TDelete(row=row, columns=columns, deleteType=1))

    def cells(self) -> Iterator[Cell]:
        number = self._calls.openScanner(self._table, TWO.TScan(maxVersions=100, cacheBlocks=False))
        while found := self._calls.getScannerRows(number, _ROWS_AT_ONCE):
            for one in found:
                for cell in one.columnValues:
                    yield one.row, cell.family + b":" + cell.qualifier, cell.timestamp, cell.value
        self._calls.closeScanner(number)

    def make(self, split_rows: list[bytes]) -> None:
        families = [TWO.TColumnFamilyDescriptor(name=name, maxVersions=many) for name, many in FAMILIES.items()]
        self._calls.createTable(TWO.TTableDescriptor(tableName=self._name, columns=families), split_rows or None)

    def drop(self) -> None:
        if self._calls.tableExists(self._name):
            self._calls.disableTable(self._name)
            self._calls.deleteTable(self._name)

    def close(self) -> None:
        self._calls.close()


def key(number: int) -> bytes:
    return b"row%08d" % number


def load(side: Side, first: int, last: int) -> None:
    """Rows of two columns each; each 20th has an older version as well."""
    for at in range(first, last, _ROWS_AT_ONCE):
        numbers = range(at, min(at + _ROWS_AT_ONCE, last))
        side.put({key(one): {b"f:old": b"before %d" % one} for one in numbers if one % 20 == 0}, at=1_700_000_000_000)
        side.put({key(one): {b"f:old": b"value %d" % one, b"g:\xff\x00": bytes([one % 256]) * 40} for one in numbers})


@dataclass
class Application:
    """Writes rows, old and new, until it is told to stop: puts, with a time of its own now and then, increments, and
    deletes."""

    connect: Callable[[], Side]
    rows: int
    seed: int
    deletes: bool
    pause_seconds: float = 0.0
    calls: int = 0
    error: BaseException | None = None
    _ended: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._thread = threading.Thread(target=self._run, name=f"application {self.seed}")
        self._thread.start()

    def _run(self) -> None:
        draw = random.Random(self.seed)
        try:
            with closing(self.connect()) as side:
                while not self._ended.wait(self.pause_seconds):
                    self._one(side, draw)
                    self.calls += 1
        except BaseException as error:
            self.error = error
            raise

    def _one(self, side: Side, draw: random.Random) -> None:
        row = key(draw.randrange(self.rows + self.rows // 10 + 1))
        what = draw.randrange(10)
        if what < 5:
            side.put({row: {draw.choice([b"f:old", b"f:new", b"g:\xff\x00"]): b"call %d" % self.calls}})
        elif what < 6:
            # A time of now, but chosen by the client, as programs do that write events.
            side.put({row: {b"f:event": b"call %d" % self.calls}}, at=round(time.time() * 1000) - draw.randrange(2000))
        elif what < 9 or not self.deletes:
            side.increment(row, b"g:count")
        else:
            side.delete(row, draw.choice([None, b"f:old"]))

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()
        assert self.error is None, self.error


@dataclass
class Moved:
    """What the command said, and when the copy itself had ended, when the writers, and when all was compared."""

    lines: list[str]
    copied_seconds: float
    written_seconds: float
    whole_seconds: float
    code: int


def move(source: str, target: str, name: str, state: Path, stop_writers: Callable[[], None], *more: str) -> Moved:
    """Runs the command; after the second round of following it stops the application and asks the command to end."""
    command = [sys.executable, "-m", "hbtable", "copy", "--from", source, "--to", target, "--tables", name]
    command += ["--state", str(state), "--follow", "--every", "0.5", *more]
    began = time.monotonic()
    moved = Moved([], 0.0, 0.0, 0.0, -1)
    rounds = 0
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        for line in running.stderr:
            moved.lines.append(line.rstrip())
            if line.startswith(_BEGINS_TO_FOLLOW):
                moved.copied_seconds = time.monotonic() - began
            if line.startswith("followed: "):
                rounds += 1
                if rounds == 2:
                    stop_writers()
                    moved.written_seconds = time.monotonic() - began
                    running.send_signal(signal.SIGINT)
        moved.code = running.wait()
    moved.whole_seconds = time.monotonic() - began
    return moved


def digest(side: Side) -> tuple[int, int, str]:
    """Rows, cells, and a hash of all that cells are."""
    found = hashlib.blake2b(digest_size=16)
    rows = cells = 0
    last = None
    for cell in side.cells():
        rows += cell[0] != last
        last = cell[0]
        cells += 1
        found.update(repr(cell).encode())
    return rows, cells, found.hexdigest()
