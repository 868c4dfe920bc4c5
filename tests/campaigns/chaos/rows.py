"""Rows of one owner each, changed in every way, and numbers that all raise: nothing is lost, stale or counted twice.

A change whose outcome nobody told leaves its row with two allowed states. It may come late, so its owner never changes
that row again, and takes another one.
"""

import random
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Final

import happybase
from Hbase_thrift import Mutation, TAppend

from tests.harness.promises import Promises, RowState

TABLE: Final = "rows"
COUNTERS: Final = "counters"
_COUNT: Final = b"f:n"
_LIVE: Final = 12
_SHARED: Final = 5


class _Client(threading.Thread):
    """Does one thing after the other, by one tablet server's gateway after the other."""

    def __init__(self, name: str, seed: int, ports: Sequence[int], stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self.wrong: list[str] = []
        self.errors: Counter[str] = Counter()
        self.acknowledged = 0
        self._ports, self._stop_it = ports, stop
        self._chance = random.Random(f"{name} {seed}")

    def run(self) -> None:
        while not self._stop_it.is_set():
            try:
                with closing(
                    happybase.Connection("127.0.0.1", self._chance.choice(self._ports), 120_000)
                ) as connection:
                    for _ in range(50):
                        self._once(connection)
                        if self._stop_it.wait(0.02):
                            return
            except Exception as error:
                self.errors[type(error).__name__] += 1
                self._failed()
            self._stop_it.wait(0.1)

    def _once(self, connection: happybase.Connection) -> None:
        raise NotImplementedError

    def _failed(self) -> None:
        """What was going on, if anything, has no known outcome."""
        raise NotImplementedError


class Owner(_Client):
    """Changes rows of its own and reads them back, as a rule through another server."""

    def __init__(self, number: int, seed: int, ports: Sequence[int], stop: threading.Event) -> None:
        super().__init__(f"owner {number}", seed, ports, stop)
        self.number = number
        self.promises = Promises()
        self.doubtful: dict[bytes, RowState] = {}
        """Rows with what an unanswered change would have made of them."""
        self.reads = 0
        self._made = 0
        self._rows: list[bytes] = []

    def _once(self, connection: happybase.Connection) -> None:
        while len(self._rows) < _LIVE:
            self._made += 1
            self._rows.append(b"%02x-%d-%d" % (self._chance.randrange(256), self.number, self._made))
        row = self._chance.choice(self._rows)
        if self._chance.random() < 0.4:
            self._read(connection.table(TABLE), row)
            return
        change = self._chance.choice((self._put, self._put, self._delete_row, self._append, self._raise, self._check))
        change(connection, row)

    def _failed(self) -> None:
        self.doubtful.update(self.promises.unanswered)
        self._rows = [row for row in self._rows if row not in self.promises.unanswered]
        self.promises.unanswered = {}

    def _read(self, table: happybase.Table, row: bytes) -> None:
        found = table.row(row)
        self.reads += 1
        if found != self.promises.state(row):
            self.wrong.append(f"{time.strftime('%H:%M:%S')} {row!r}: {found} instead of {self.promises.state(row)}")

    def _change(self, row: bytes, state: RowState, call: Callable[[], object]) -> None:
        self.promises.begin({row: state})
        call()
        self.promises.answered()
        self.acknowledged += 1

    def _token(self) -> bytes:
        return self._chance.randbytes(6).hex().encode()

    def _put(self, connection: happybase.Connection, row: bytes) -> None:
        token = self._token()
        cells = {b"f:v": token, b"g:v": token}  # of one row, whatever dies in between
        self._change(row, {**self.promises.state(row), **cells}, lambda: connection.table(TABLE).put(row, cells))

    def _delete_row(self, connection: happybase.Connection, row: bytes) -> None:
        self._change(row, {}, lambda: connection.table(TABLE).delete(row))

    def _append(self, connection: happybase.Connection, row: bytes) -> None:
        token = self._token()
        before = self.promises.state(row)
        change = TAppend(table=TABLE.encode(), row=row, columns=[b"f:a"], values=[token])
        self._change(row, {**before, b"f:a": before.get(b"f:a", b"") + token}, lambda: connection.client.append(change))

    def _raise(self, connection: happybase.Connection, row: bytes) -> None:
        before = self.promises.state(row)
        after = struct.unpack(">q", before.get(_COUNT, bytes(8)))[0] + 1
        self._change(
            row,
            {**before, _COUNT: struct.pack(">q", after)},
            lambda: self._same(row, connection.table(TABLE).counter_inc(row, _COUNT), after),
        )

    def _check(self, connection: happybase.Connection, row: bytes) -> None:
        before = self.promises.state(row)
        token = self._token()
        put = Mutation(column=b"g:c", value=token)

        def call() -> None:
            done = connection.client.checkAndPut(TABLE.encode(), row, b"f:v", before.get(b"f:v"), put, {})
            self._same(row, done, True)

        if b"f:v" in before:
            self._change(row, {**before, b"g:c": token}, call)

    def _same(self, row: bytes, answer: object, expected: object) -> None:
        if answer != expected:
            self.wrong.append(f"{time.strftime('%H:%M:%S')} {row!r}: the answer was {answer}, not {expected}")

    def verify(self, found: dict[bytes, RowState]) -> list[str]:
        """`found`: the whole table."""
        mine = {row: state for row, state in found.items() if row.split(b"-")[1] == b"%d" % self.number}
        self.promises.unanswered = dict(self.doubtful)
        return [*self.wrong, *self.promises.verify(mine)]


class Raiser(_Client):
    """Raises numbers that others raise as well."""

    def __init__(self, number: int, seed: int, ports: Sequence[int], stop: threading.Event) -> None:
        super().__init__(f"raiser {number}", seed, ports, stop)
        self.raised: Counter[bytes] = Counter()
        self.doubtful: Counter[bytes] = Counter()
        self._seen: dict[bytes, int] = {}
        self._row = b""

    def _once(self, connection: happybase.Connection) -> None:
        row = b"%02x" % (self._chance.randrange(_SHARED) * 50)
        self._row = row
        number = connection.table(COUNTERS).counter_inc(row, _COUNT)
        self._row = b""
        self.raised[row] += 1
        self.acknowledged += 1
        if number <= self._seen.get(row, 0):
            self.wrong.append(f"{time.strftime('%H:%M:%S')} {row!r}: {number} after {self._seen[row]}")
        self._seen[row] = number

    def _failed(self) -> None:
        if self._row:
            self.doubtful[self._row] += 1
        self._row = b""


def counted_wrongly(raisers: Sequence[Raiser], found: dict[bytes, RowState]) -> list[str]:
    """Numbers that are smaller than all acknowledged raises, or larger than all that were tried."""
    least: Counter[bytes] = Counter()
    most: Counter[bytes] = Counter()
    for raiser in raisers:
        least += raiser.raised
        most += raiser.raised + raiser.doubtful
    wrong = [text for raiser in raisers for text in raiser.wrong]
    for row in least.keys() | found.keys():
        number = struct.unpack(">q", found.get(row, {}).get(_COUNT, bytes(8)))[0]
        if not least[row] <= number <= most[row]:
            wrong.append(f"counter {row!r} is {number}: {least[row]} raises acknowledged, {most[row]} tried")
    return wrong
