"""Linked lists of cells: who writes them, who follows them meanwhile, and the job that walks all links in the end.

Every key and value follows from the seed, the writer and the cell's number, and a writer puts the next batch only when
the last one was acknowledged. So one number for each writer says all that must be there, and what a cell must hold.
"""

import hashlib
import multiprocessing
import random
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from typing import Final

import happybase
from Hbase_thrift import IOError as HBaseError

TABLE: Final = "links"
COLUMN: Final = b"f:link"
BATCH: Final = 200
"""Cells of one call, and so many lists of each writer: a cell's link leads to the same place of the batch before."""
_STEPS: Final = 20
_SCAN_TRIES: Final = 5


@dataclass(frozen=True)
class Lists:
    """What the cells of one run are."""

    seed: int

    def row(self, writer: int, number: int) -> bytes:
        text = b"%d.%d.%d" % (self.seed, writer, number)
        return hashlib.blake2b(text, digest_size=8).hexdigest().encode()

    def value(self, writer: int, number: int) -> bytes:
        """The last part is the link; the first batch has none."""
        link = self.row(writer, number - BATCH) if number >= BATCH else b""
        return b"%d.%d.%s" % (writer, number, link)


class Writer(threading.Thread):
    """Puts one batch after the other, each until it is acknowledged, by one tablet server's gateway after the other."""

    def __init__(
        self, lists: Lists, number: int, ports: Sequence[int], stop: threading.Event, pause_seconds: float
    ) -> None:
        super().__init__(daemon=True)
        self.number = number
        self.acknowledged = 0
        """Cells: those with a smaller number are there."""
        self.longest = 0.0
        """Seconds between two acknowledged batches; may be set back to 0."""
        self.not_to_retry: list[str] = []
        """Errors that forbid what is harmless: to send the same puts again."""
        self.errors = 0
        self._lists, self._ports, self._stop_it, self._pause_seconds = lists, ports, stop, pause_seconds
        self._chance = random.Random(f"writer {lists.seed} {number}")

    def run(self) -> None:
        last = time.monotonic()
        while not self._stop_it.is_set():
            try:
                with closing(
                    happybase.Connection("127.0.0.1", self._chance.choice(self._ports), 120_000)
                ) as connection:
                    table = connection.table(TABLE)
                    while not self._stop_it.is_set():
                        self._put(table)
                        now = time.monotonic()
                        self.longest, last = max(self.longest, now - last), now
                        self._stop_it.wait(self._pause_seconds)
            except HBaseError as error:
                self.errors += 1
                if b"DoNotRetry" in error.message:
                    self.not_to_retry.append(str(error)[:400])
            except Exception:
                self.errors += 1
            self._stop_it.wait(0.1)

    def _put(self, table: happybase.Table) -> None:
        batch = table.batch()
        for number in range(self.acknowledged, self.acknowledged + BATCH):
            batch.put(self._lists.row(self.number, number), {COLUMN: self._lists.value(self.number, number)})
        batch.send()
        self.acknowledged += BATCH


class Walker(threading.Thread):
    """Follows links from an acknowledged cell on, meanwhile: each cell must be there, as it was written."""

    def __init__(self, lists: Lists, writers: Sequence[Writer], ports: Sequence[int], stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self.wrong: list[str] = []
        self.steps = 0
        self.errors = 0
        self._lists, self._writers, self._ports, self._stop_it = lists, writers, ports, stop
        self._chance = random.Random(f"walker {lists.seed}")

    def run(self) -> None:
        while not self._stop_it.is_set():
            try:
                with closing(
                    happybase.Connection("127.0.0.1", self._chance.choice(self._ports), 120_000)
                ) as connection:
                    for _ in range(20):
                        self._walk(connection.table(TABLE))
            except Exception:
                self.errors += 1
            self._stop_it.wait(0.1)

    def _walk(self, table: happybase.Table) -> None:
        writer = self._chance.choice(self._writers)
        if not writer.acknowledged:
            return
        number = self._chance.randrange(writer.acknowledged)
        row = self._lists.row(writer.number, number)
        for _ in range(_STEPS):
            found = table.row(row).get(COLUMN)
            expected = self._lists.value(writer.number, number)
            if found != expected:
                self.wrong.append(
                    f"{time.strftime('%H:%M:%S')} acknowledged cell {number} of writer {writer.number}, row {row!r}: "
                    f"{found!r} instead of {expected!r}"
                )
                return
            self.steps += 1
            row = expected.rpartition(b".")[2]
            number -= BATCH
            if not row or self._stop_it.wait(0.02):
                return


@dataclass
class Found:
    """What a part of the table holds: a bit for each cell of each writer."""

    cells: int = 0
    bits: dict[int, bytearray] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def add(self, lists: Lists, row: bytes, cells: dict[bytes, bytes]) -> None:
        value = cells.get(COLUMN, b"")
        writer_text, _, rest = value.partition(b".")
        number_text = rest.partition(b".")[0]
        if not (writer_text.isdigit() and number_text.isdigit()):
            self.wrong.append(f"row {row!r} holds what nobody wrote: {cells!r}"[:300])
            return
        writer, number = int(writer_text), int(number_text)
        if lists.row(writer, number) != row or lists.value(writer, number) != value or len(cells) != 1:
            self.wrong.append(f"row {row!r} holds another row's cell: {cells!r}"[:300])
            return
        bits = self.bits.setdefault(writer, bytearray())
        if len(bits) <= number >> 3:
            bits.extend(bytes((number >> 3) + 1 - len(bits)))
        if bits[number >> 3] & 1 << (number & 7):
            self.wrong.append(f"row {row!r} was scanned twice")
        bits[number >> 3] |= 1 << (number & 7)
        self.cells += 1

    def join(self, other: "Found") -> None:
        self.cells += other.cells
        self.wrong += other.wrong
        for writer, bits in other.bits.items():
            mine = self.bits.setdefault(writer, bytearray())
            mine.extend(bytes(max(0, len(bits) - len(mine))))
            both = int.from_bytes(mine, "little") & int.from_bytes(bits, "little")
            if both:
                self.wrong.append(f"{both.bit_count()} cells of writer {writer} are in two tablets")
            union = int.from_bytes(mine, "little") | int.from_bytes(bits, "little")
            self.bits[writer] = bytearray(union.to_bytes(len(mine), "little"))

    def missing(self, writer: int, below: int) -> list[int]:
        """The numbers of acknowledged cells that are not there."""
        bits = self.bits.get(writer, bytearray())
        held = int.from_bytes(bits, "little") & (1 << below) - 1
        if held.bit_count() == below:
            return []
        return [number for number in range(below) if not held >> number & 1]

    def beyond(self, writer: int, end: int) -> int:
        """How many cells there are from `end` on, which nobody has tried to write."""
        return (int.from_bytes(self.bits.get(writer, bytearray()), "little") >> end).bit_count()


def _scan(lists: Lists, port: int, start: bytes, stop: bytes) -> Found:
    found = Found()
    with closing(happybase.Connection("127.0.0.1", port, 120_000)) as connection:
        for row, cells in connection.table(TABLE).scan(
            row_start=start, row_stop=stop or None, batch_size=2000, scan_batching=None
        ):
            found.add(lists, row, cells)
    return found


def _scan_part(lists: Lists, port: int, start: bytes, stop: bytes) -> Found:
    """A scan that fails begins anew; what it fails of in the end is raised."""
    for _ in range(_SCAN_TRIES):
        try:
            return _scan(lists, port, start, stop)
        except Exception:
            time.sleep(2)
    return _scan(lists, port, start, stop)


def walk_all(lists: Lists, port: int, processes: int) -> Found:
    """Every cell of the table, by scans of plain happybase, one for each tablet."""
    with closing(happybase.Connection("127.0.0.1", port, 120_000)) as connection:
        starts = sorted(region["start_key"] for region in connection.table(TABLE).regions())
    parts = zip(starts, [*starts[1:], b""], strict=True)
    whole = Found()
    # Fresh processes: a fork would copy the locks that threads hold.
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        for part in [pool.submit(_scan_part, lists, port, start, stop) for start, stop in parts]:
            whole.join(part.result())
    return whole


def violations(lists: Lists, writers: Sequence[Writer], found: Found) -> list[str]:
    """What is lost, and what is there that nobody wrote."""
    wrong = list(found.wrong)
    for writer in writers:
        missing = found.missing(writer.number, writer.acknowledged)
        if missing:
            rows = [lists.row(writer.number, number) for number in missing[:3]]
            wrong.append(
                f"{len(missing)} acknowledged cells of writer {writer.number} are lost, {missing[:5]} to {missing[-1]} "
                f"of {writer.acknowledged}, rows {rows}"
            )
        if beyond := found.beyond(writer.number, writer.acknowledged + BATCH):
            wrong.append(f"{beyond} cells of writer {writer.number} are there before they were written")
    if strangers := found.bits.keys() - {writer.number for writer in writers}:
        wrong.append(f"cells of writers that there are not: {sorted(strangers)}")
    return wrong
