"""One row of ten million cells: what each call about it takes, in an embedded database and in a served one.

For each call: seconds, the processor's seconds of the database's process and its workers, the process's peak RSS over
what it had before, the longest stretch of the processor in which one task kept the others waiting, the p99 of a
neighbour's puts and gets beside it, and the same seconds over a row of a tenth as many cells. Failed: an answer that is
not as expected, a stretch or a peak beyond the bounds, a call that should seek and takes longer over the wider row, one
that reads all and takes more than twice what the tenth says.

    python -m tests.campaigns.wide_rows [--cells 10000000] [--large-mb 0] [--only embedded,served] [--calls TEXT]

With --large-mb a row of so many megabytes in cells of 1 MB is there as well. A row is never split: what a split of the
table does is printed.
"""

import argparse
import contextlib
import gc
import json
import multiprocessing
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import happybase
from thriftpy2.thrift import TException

import hbtable
from hbtable.errors import HbtableError
from tests.harness import traced_server
from tests.harness.server import ServerProcess
from tests.harness.wide_row_calls import READS, WRITES, Ground, WideRowCall

_PUT_CELLS = 20_000
_LARGE_CELL = 1_000_000
TICK = os.sysconf("SC_CLK_TCK")
REFUSALS = (HbtableError, TException)
"""A get is refused with an IOError, a scan with an IllegalArgument."""


@dataclass(frozen=True)
class Bounds:
    """What a call may take."""

    stretch_seconds: float = 0.010
    peak_bytes: int = 400 << 20
    """An answer of answer_bytes (64 MiB) is cells, then an answer, then what the socket takes."""
    seek_factor: float = 3.0
    seek_seconds: float = 0.25
    """Shorter than that is never too long."""
    linear_factor: float = 20.0
    """Over ten times as many cells."""
    linear_seconds: float = 1.0


@dataclass
class Figures:
    name: str
    seconds: float
    cpu_seconds: float
    peak_bytes: int
    stretch: float
    where: str
    p99: float
    tenth_seconds: float
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.name:30} {self.seconds:8.2f} {self.cpu_seconds:8.2f} {self.peak_bytes / 1e6:8.0f} "
            f"{self.stretch * 1e3:9.1f} {self.p99 * 1e3:8.1f} {self.tenth_seconds:8.2f}  {'; '.join(self.wrong)}"
        )


HEAD = f"{'call':30} {'s':>8} {'cpu s':>8} {'peak MB':>8} {'stretch ms':>9} {'p99 ms':>8} {'tenth s':>8}"


class Process:
    """What the kernel says of the database's process."""

    def __init__(self, pid: int) -> None:
        self._pid = pid

    def memory(self, name: str) -> int:
        for line in Path(f"/proc/{self._pid}/status").read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1]) * 1024
        raise AssertionError(f"no {name}")

    def forget_peak(self) -> None:
        Path(f"/proc/{self._pid}/clear_refs").write_text("5")

    def cpu_seconds(self) -> float:
        """Its own and its workers'."""
        total = 0
        for task in Path(f"/proc/{self._pid}/task").iterdir():
            with contextlib.suppress(OSError):
                for child in (task / "children").read_text().split():
                    total += self._used(int(child))
        return (total + self._used(self._pid)) / TICK

    def _used(self, pid: int) -> int:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
        except OSError:
            return 0
        return sum(map(int, fields[11:15]))


def _steps(table: Any, is_over: Callable[[], bool]) -> list[float]:
    times = []
    number = 0
    while not is_over() or len(times) < 20:
        number += 1
        began = time.perf_counter()
        table.put(b"row%d" % (number % 100), {b"f:n": b"%d" % number})
        middle = time.perf_counter()
        table.row(b"row%d" % (number % 100))
        times += [middle - began, time.perf_counter() - middle]
        time.sleep(0.002)
    return times


def _neighbour(port: int, pipe: Connection) -> None:
    """A process of its own, so that what the caller decodes does not keep it waiting."""
    table = happybase.Connection("127.0.0.1", port, timeout=600_000).table("small")
    while pipe.recv():
        times = _steps(table, pipe.poll)
        pipe.recv()
        pipe.send(times)


class Served:
    """A server with the usual configuration."""

    def __init__(self, folder: Path) -> None:
        self.notes = folder / "notes"
        program = ("tests.harness.traced_server", str(self.notes))
        self._server = ServerProcess(folder / "data", ["log.durability=os"], program=program)

    def __enter__(self) -> "Served":
        self._server.start()
        assert self._server.process is not None
        self.process = Process(self._server.process.pid)
        self.database = hbtable.connect("127.0.0.1", self._server.port)
        connection = happybase.Connection("127.0.0.1", self._server.port, timeout=3_600_000)
        self.table = connection.table("wide")
        return self

    def __exit__(self, *_: object) -> None:
        self._pipe.send(False)
        self.database.close()
        self._server.stop(600)

    def begin(self) -> None:
        self._pipe, theirs = multiprocessing.Pipe()
        multiprocessing.Process(target=_neighbour, args=(self._server.port, theirs), daemon=True).start()

    @contextlib.contextmanager
    def neighbour(self, times: list[float]) -> Iterator[None]:
        self._pipe.send(True)
        try:
            yield
        finally:
            self._pipe.send(True)
            times += self._pipe.recv()


class Embedded:
    """hbtable.open() in this process: what the caller holds counts to its memory."""

    def __init__(self, folder: Path) -> None:
        self.notes = folder / "notes"
        self.process = Process(os.getpid())
        self._folder = folder

    def __enter__(self) -> "Embedded":
        # What this program itself consists of is no garbage: Python's collector goes through it in 40 ms.
        gc.collect()
        gc.freeze()
        self.database = hbtable.open(str(self._folder / "data"))
        self._file = self.database._portal.call(lambda: traced_server.trace(self.notes))
        self.table = self.database.table("wide")
        return self

    def __exit__(self, *_: object) -> None:
        self.database.close()
        self._file.close()
        gc.unfreeze()

    def begin(self) -> None:
        self._small = self.database.table("small")

    @contextlib.contextmanager
    def neighbour(self, times: list[float]) -> Iterator[None]:
        over = threading.Event()
        thread = threading.Thread(target=lambda: times.extend(_steps(self._small, over.is_set)))
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


def at_99(times: list[float]) -> float:
    return sorted(times)[len(times) * 99 // 100] if times else 0.0


class Campaign:
    """One database, filled and then asked."""

    def __init__(self, side: Served | Embedded, cells: int, large_mb: int, bounds: Bounds, loud: bool) -> None:
        self._side = side
        self._cells = cells
        self._large_mb = large_mb
        self._bounds = bounds
        self._loud = loud
        self.found: list[Figures] = []

    def run(self, wanted: str) -> None:
        database = self._side.database
        for name in ("wide", "small"):
            database.create_table(name, {"f": {"max_versions": 1}, "g": {"max_versions": 1}})
        self._side.begin()
        wide = Ground(self._side.table, database, self._cells, b"wide")
        tenth = replace(wide, cells=self._cells // 10, row=b"tenth")
        quiet: list[float] = []
        with self._side.neighbour(quiet):
            time.sleep(2)
        if self._loud:
            print(f"quiet p99 {at_99(quiet) * 1e3:.1f} ms\n{HEAD}", flush=True)
        self.measured("load", lambda: self._load(tenth), lambda: self._load(wide))
        self.measured("flush", lambda: 0, lambda: database.flush_table("wide"))
        for where in ("in several files", "in one file"):
            for name, call in (READS | WRITES).items():
                if wanted in name:
                    self._call(name, call, wide, tenth)
            if where == "in several files":
                self.measured("minor compaction", lambda: 0, lambda: database.compact_table("wide"))
                self.measured("major compaction", lambda: 0, lambda: database.compact_table("wide", major=True))
        self._split(wide)
        if self._large_mb:
            self._large(wide)
        self._delete(wide, tenth)

    def _load(self, ground: Ground) -> None:
        for first in range(0, ground.cells, _PUT_CELLS):
            numbers = range(first, min(first + _PUT_CELLS, ground.cells))
            ground.table.put(ground.row, {ground.column(number): b"v%015d" % number for number in numbers})
        ground.table.put(b"small", {b"f:a": b"v"})

    def _call(self, name: str, one: WideRowCall, wide: Ground, tenth: Ground) -> None:
        answers: list[int | None] = []

        def carried_out(ground: Ground) -> Callable[[], None]:
            def call() -> None:
                try:
                    answers.append(one.call(ground))
                except REFUSALS as error:
                    if "answer_bytes" not in str(getattr(error, "message", error)):
                        raise
                    answers.append(None)

            return call

        figures = self.measured(name, carried_out(tenth), carried_out(wide), quiet=True)
        expected = [one.expected(tenth.cells), one.expected(wide.cells)]
        if answers[1] != expected[1] or (answers[0] != expected[0] and expected[0] is not None):
            figures.wrong.append(f"{answers} instead of {expected}")
        bounds = self._bounds
        if one.seeks and figures.seconds > max(bounds.seek_factor * figures.tenth_seconds, bounds.seek_seconds):
            figures.wrong.append("does not seek")
        if one.seeks and figures.tenth_seconds > bounds.seek_seconds:
            figures.wrong.append("slow over the tenth")
        if not one.seeks and figures.seconds > max(bounds.linear_factor * figures.tenth_seconds, bounds.linear_seconds):
            figures.wrong.append("not linear")
        if self._loud:
            print(figures, flush=True)

    def measured(
        self, name: str, small: Callable[[], object], call: Callable[[], object], quiet: bool = False
    ) -> Figures:
        process, notes, times = self._side.process, self._side.notes, list[float]()
        began = time.perf_counter()
        small()
        tenth_seconds = time.perf_counter() - began
        base = process.memory("VmRSS")
        process.forget_peak()
        notes.write_text("")
        with self._side.neighbour(times):
            cpu, began = process.cpu_seconds(), time.perf_counter()
            call()
            seconds = time.perf_counter() - began
            cpu = process.cpu_seconds() - cpu
        stretches = [json.loads(line) for line in notes.read_text().splitlines()]
        longest = max(stretches, key=lambda each: each["seconds"], default={"seconds": 0.0, "where": []})
        where = " < ".join(longest["where"][::-1][:5])
        figures = Figures(
            name, seconds, cpu, process.memory("VmHWM") - base, longest["seconds"], where, at_99(times), tenth_seconds
        )
        if figures.stretch > self._bounds.stretch_seconds:
            figures.wrong.append(f"a stretch before {where}")
        if figures.peak_bytes > self._bounds.peak_bytes:
            figures.wrong.append("too much memory")
        self.found.append(figures)
        if self._loud and not quiet:
            print(figures, flush=True)
        return figures

    def _split(self, ground: Ground) -> None:
        self.measured("split", lambda: 0, lambda: ground.database.split_table("wide"))
        if self._loud:
            print(f"    the table has {len(ground.database.table('wide').regions())} tablets after it", flush=True)

    def _large(self, ground: Ground) -> None:
        table, count = ground.table, self._large_mb * 1_000_000 // _LARGE_CELL
        block = os.urandom(_LARGE_CELL)

        def load() -> None:
            for number in range(count):
                table.put(b"large", {b"g:%06d" % number: block})

        def scan(**arguments: Any) -> Callable[[], None]:
            def call() -> None:
                found = sum(len(cells) for _, cells in table.scan(row_prefix=b"large", scan_batching=1, **arguments))
                assert found == count, found

            return call

        def refused(call: Callable[[], object]) -> Callable[[], None]:
            def check() -> None:
                try:
                    call()
                except REFUSALS as error:
                    if "answer_bytes" in str(getattr(error, "message", error)):
                        return
                raise AssertionError("not refused, or not for its size")

            return check

        self.measured("large: load", lambda: 0, load)
        self.measured("large: a column", lambda: 0, lambda: table.row(b"large", columns=[b"g:%06d" % (count // 2)]))
        self.measured("large: the row", lambda: 0, refused(lambda: table.row(b"large")))
        self.measured("large: scan in pieces", lambda: 0, scan())
        self.measured("large: keys in pieces", lambda: 0, scan(filter=b"KeyOnlyFilter()"))
        self.measured("large: major compaction", lambda: 0, lambda: ground.database.compact_table("wide", major=True))
        self.measured("large: delete", lambda: 0, lambda: table.delete(b"large"))

    def _delete(self, wide: Ground, tenth: Ground) -> None:
        def gone(ground: Ground) -> Callable[[], None]:
            return lambda: ground.table.delete(ground.row)

        def empty(ground: Ground, **arguments: Any) -> Callable[[], None]:
            def call() -> None:
                assert ground.scanned(**arguments) == 0

            return call

        self.measured("delete of the row", gone(tenth), gone(wide))
        self.measured("get of the deleted row", lambda: tenth.table.row(b"tenth"), lambda: wide.table.row(b"wide"))
        self.measured("scan of the deleted row", empty(tenth), empty(wide))
        self.measured("backwards", empty(tenth, scan_batching=10), empty(wide, scan_batching=10))
        self.measured("major compaction after it", lambda: 0, lambda: wide.database.compact_table("wide", major=True))


def campaign(folder: Path, cells: int, large_mb: int, only: str, wanted: str, bounds: Bounds, loud: bool) -> list[str]:
    """What was wrong."""
    wrong = []
    for name, kind in (("served", Served), ("embedded", Embedded)):
        if name not in only:
            continue
        (folder / name).mkdir()
        with kind(folder / name) as side:
            if loud:
                print(f"{name}, {cells} cells", flush=True)
            one = Campaign(side, cells, large_mb, bounds, loud)
            one.run(wanted)
        wrong += [f"{name}, {figures.name}: {each}" for figures in one.found for each in figures.wrong]
        if loud:
            print(f"median p99 beside a call: {statistics.median(each.p99 for each in one.found) * 1e3:.1f} ms")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=10_000_000)
    parser.add_argument("--large-mb", type=int, default=0)
    parser.add_argument("--only", default="embedded,served")
    parser.add_argument("--calls", default="", help="those whose name holds this text")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hbtable-wide-") as folder:
        wrong = campaign(
            Path(folder), arguments.cells, arguments.large_mb, arguments.only, arguments.calls, Bounds(), True
        )
    print("\n".join(["", *wrong]))
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
