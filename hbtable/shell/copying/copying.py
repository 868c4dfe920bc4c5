"""The copy itself: tables made, regions copied side by side, what is written meanwhile followed, both sides compared.

The state file is written after what it speaks of, so a copy that is broken off repeats a page at most.
"""

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final, TypeVar, final

from hbtable.model.cell import Row
from hbtable.model.schema import TableSchema
from hbtable.shell.copying.columns import WITH_LIFETIMES
from hbtable.shell.copying.comparing import PartComparison, compare
from hbtable.shell.copying.copy_parts import CopyPart, left_of
from hbtable.shell.copying.copy_progress import CopyProgress
from hbtable.shell.copying.mended_rows import MendedRows
from hbtable.shell.copying.page_size import batches
from hbtable.shell.copying.peers import CopyPeer, PeerAddress, connect_peer
from hbtable.shell.copying.read_ahead import read_ahead
from hbtable.shell.copying.same_server import refuse_itself
from hbtable.shell.copying.target_tables import prepared
from hbtable.shell.errors import ArgumentError, Cancelled, CannotConnect, ShellError
from hbtable.shell.transfer.origin import ANEW
from hbtable.shell.transfer.progress import Progress
from hbtable.shell.transfer.terminal_line import TerminalLine
from hbtable.shell.transfer.transfer_workers import outcomes

T = TypeVar("T")
Say = Callable[[str], None]
_PAUSES: Final = (0, 1, 2, 4, 8, 16, 32)
"""Seconds between the tries of what a broken connection stops."""
_STATE: Final = re.compile(rb'\{"format": \d+, "kind": "copy"')
"""The beginning of a state, also of one that a later version left, or that is cut off."""
_LOOKS: Final = 100
"""Comparisons of a region that something is deleted from each time."""
_AT_ONCE: Final = 500
"""Rows that are mended by one call."""
_NO_DELETES: Final = (
    "deletes at the source are not followed: a cell that is deleted there from now on stays at the target until the "
    "comparison in the end, which finds it"
)
_NO_LIFETIMES: Final = (
    "the source does not tell cells' own times to live (_ttl): a cell that has one stays at the target for as long as "
    "its family keeps cells"
)
_HOW_TO_DELETE: Final = "; with --delete it is deleted then, without it the copy fails"


@dataclass(frozen=True, slots=True)
class CopyOptions:
    """The options of the command line."""

    source: PeerAddress
    target: PeerAddress
    state: Path
    tables: Sequence[bytes] | None = None
    """None: all, without those of the namespace hbase."""
    workers: int = 2
    follow: bool = False
    every_seconds: float = 5.0
    overlap_seconds: float = 60.0
    """By so much the clocks of this machine and of the source may differ."""
    delete: bool = False
    """Cells that the target alone has are deleted in the comparison."""
    anew: bool = False
    call_seconds: float = 600.0
    allow_fewer: bool = False
    """Tables of the target may keep fewer cells than the source's: fewer versions, or for a shorter time."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The clocks and the person of a copy. `wait` waits so many seconds; True when the copy is to come to its end."""

    clock: Callable[[], float]
    wall_millis: Callable[[], int]
    wait: Callable[[float], bool]
    say: Say
    quiet: bool = False
    """No line on the terminal that says how far it came."""


@final
class _Workers:
    """Threads, each with a connection to either side."""

    def __init__(self, options: CopyOptions, say: Say) -> None:
        self._options = options
        self._say = say
        self._pairs: list[tuple[CopyPeer, CopyPeer]] = []
        self._free: SimpleQueue[tuple[CopyPeer, CopyPeer]] = SimpleQueue()
        self._closing = threading.Event()
        self._threads = ThreadPoolExecutor(options.workers, thread_name_prefix="copy")

    def open(self) -> tuple[CopyPeer, CopyPeer]:
        """CannotConnect. The first pair, which may be used while no job runs."""
        for _ in range(self._options.workers):
            source = connect_peer(self._options.source, self._options.call_seconds)
            pair = source, connect_peer(self._options.target, self._options.call_seconds)
            self._pairs.append(pair)
            self._free.put(pair)
        return self._pairs[0]

    def run(self, parts: Sequence[CopyPart], job: Callable[[CopyPart, CopyPeer, CopyPeer], None]) -> None:
        """Does the work for each part. Raises the first error, when all have ended."""
        outcomes([self._threads.submit(self._one, part, job) for part in parts])

    def go_on(self) -> None:
        """Cancelled when the copy is broken off: jobs ask between pages."""
        if self._closing.is_set():
            raise Cancelled("broken off")

    def ask(self, question: Callable[[CopyPeer], T]) -> T:
        """Asks the source."""
        return self._with_a_pair("the source", lambda source, _: question(source))

    def _one(self, part: CopyPart, job: Callable[[CopyPart, CopyPeer, CopyPeer], None]) -> None:
        self._with_a_pair(part.shown(), lambda source, target: job(part, source, target))

    def _with_a_pair(self, name: str, work: Callable[[CopyPeer, CopyPeer], T]) -> T:
        """Work whose connection breaks is done again: HBase closes connections that rest for a minute, and whatever is
        written twice has the same times."""
        pair = self._free.get()
        try:
            for tries in count():
                try:
                    return work(*pair)
                except CannotConnect as error:
                    if tries == len(_PAUSES):
                        raise
                    self._say(f"{name}: {error}; trying again")
                    self._closing.wait(_PAUSES[tries])
            raise AssertionError("it counts without end")
        finally:
            self._free.put(pair)

    def close(self) -> None:
        """Waits for the pages under way."""
        self._closing.set()
        self._threads.shutdown(cancel_futures=True)
        for pair in self._pairs:
            for peer in pair:
                peer.close()


@final
class _Copy:
    """One copy under way."""

    def __init__(self, options: CopyOptions, around: Surroundings, shown: CopyProgress, workers: _Workers) -> None:
        self._options = options
        self._around = around
        self._shown = shown
        self._say = shown.say
        self._workers = workers
        self._progress = Progress(options.state, around.clock, kind="a copy", begins=_STATE)
        self._schemas: dict[bytes, TableSchema] = {}
        self._parts: list[CopyPart] = []
        self._saving = threading.Lock()
        self._began_millis = 0
        self._differs = False

    def run(self) -> str:
        source, target = self._workers.open()
        if self._options.anew:
            self._progress.forget()
        self._begin(source, target)
        left = [part for part in self._parts if not part.done]
        self._shown.begin(
            "copying", len(self._parts), len(self._parts) - len(left), sum(one.rows for one in self._parts)
        )
        self._workers.run(left, self._copy_part)
        if self._options.follow:
            self._follow()
        wholes = self._workers.ask(self._whole_tables)
        self._shown.begin("comparing", len(wholes))
        self._workers.run(wholes, self._compare_part)
        self._shown.line.clear()
        if self._options.tables is None:
            self._say("tables of the namespace hbase are not copied, unless --tables names them")
        rows = sum(part.rows for part in self._parts)
        if self._differs:
            self._save()
            raise ShellError("the two sides differ, as said above; the same command compares them again")
        return self._progress.finish(rows, "copied")

    def _begin(self, source: CopyPeer, target: CopyPeer) -> None:
        left = self._left()
        began_millis, parts = left_of(self._progress.path, left) if left else (self._around.wall_millis(), [])
        refuse_itself(source, target, (self._options.source, self._options.target))
        names = source.tables() if self._options.tables is None else self._options.tables
        self._schemas = prepared(names, source, target, self._options.allow_fewer, self._say)
        self._began_millis = began_millis
        self._parts = [part for part in parts if part.table in self._schemas]
        known = {part.table for part in self._parts}
        if not all(map(source.tells_lifetimes, self._schemas)):
            self._say(_NO_LIFETIMES)
        for name in self._schemas:
            if name not in known:
                self._parts += [CopyPart(name, start, stop) for start, stop in source.regions(name)]
        self._save()

    def _left(self) -> dict[str, Any]:
        """The state that a copy between the same two left behind; {} for none. ArgumentError."""
        left: dict[str, Any] = self._progress.load()
        origin = {"from": self._options.source.address, "to": self._options.target.address}
        if left and {key: left.get(key) for key in origin} != origin:
            raise ArgumentError(f"{self._progress.path} was left by another copy; {ANEW}")
        return left

    # ---------------------------------------------------------------- copying

    def _copy_part(self, part: CopyPart, source: CopyPeer, target: CopyPeer) -> None:
        schema = self._schemas[part.table]
        found = source.pages(schema, part.row or part.start, part.stop, 0, WITH_LIFETIMES)
        with closing(read_ahead(found)) as pages:
            for page in pages:
                self._workers.go_on()
                for rows in batches(page):
                    target.write(part.table, rows)
                new_rows = len({row for row, _ in page} - {part.row})
                with self._saving:
                    part.rows += new_rows
                    part.cells += sum(len(cells) for _, cells in page)
                    part.row = page[-1][0]
                self._save()
                self._shown.came(page, new_rows)
        part.done = True
        self._save()
        self._shown.ended()

    def _save(self) -> None:
        with self._saving:
            self._progress.save(
                {
                    "kind": "copy",
                    "from": self._options.source.address,
                    "to": self._options.target.address,
                    "began_millis": self._began_millis,
                    "parts": [part.saved() for part in self._parts],
                }
            )

    # ---------------------------------------------------------------- following

    def _follow(self) -> None:
        """Round after round, each with what is newer than the beginning of the one before; the last one begins when the
        end is asked for."""
        self._say(_NO_DELETES + ("" if self._options.delete else _HOW_TO_DELETE))
        last = False
        while True:
            since = self._began_millis - round(self._options.overlap_seconds * 1000)
            begin = self._around.wall_millis()
            cells = self._round(max(since, 0))
            self._began_millis = begin
            self._save()
            seconds = (self._around.wall_millis() - begin) / 1000
            self._say(f"followed: {cells:,} cells newer than {since} in {seconds:.1f} s")
            if last:
                return
            last = self._around.wait(self._options.every_seconds)

    def _round(self, since: int) -> int:
        found = SimpleQueue[int]()

        def job(part: CopyPart, reader: CopyPeer, writer: CopyPeer) -> None:
            newer = reader.pages(self._schemas[part.table], part.start, part.stop, since, WITH_LIFETIMES)
            with closing(read_ahead(newer)) as pages:
                for page in pages:
                    self._workers.go_on()
                    for rows in batches(page):
                        writer.write(part.table, rows)
                    found.put(sum(len(cells) for _, cells in page))
                    self._shown.came(page, len(page))
            self._shown.ended()

        wholes = self._workers.ask(self._whole_tables)
        self._shown.begin("following", len(wholes))
        self._workers.run(wholes, job)
        return sum(_drained(found))

    def _whole_tables(self, source: CopyPeer) -> list[CopyPart]:
        """As they are split now."""
        return [CopyPart(name, start, stop) for name in self._schemas for start, stop in source.regions(name)]

    # ---------------------------------------------------------------- comparing

    def _compare_part(self, part: CopyPart, source: CopyPeer, target: CopyPeer) -> None:
        mended = MendedRows()
        first = last = self._compared(part, source, target, True, mended)
        self._shown.ended()
        surplus, repeated = 0, first.repeated
        for _ in range(_LOOKS):
            if last.alike:
                break
            # A version that was deleted may show the one behind it, which was one too many.
            deletes = self._options.delete and last.surplus > 0
            surplus += last.surplus if deletes else 0
            # All other rows were alike, or had a cell twice.
            last = self._compared_again(part, mended, source, target, mend=deletes)
            repeated += last.repeated
            if not deletes:
                break
        whole = first
        if repeated or not last.alike:
            whole = last = self._compared(part, source, target, False, MendedRows())  # what is said is of it
        notes = "".join(
            f", {what}: {number:,}"
            for number, what in (
                (first.missing, "missing and written"),
                (surplus or first.surplus, "only at the target" + (" and deleted" if surplus else "")),
            )
            if number
        )
        if last.alike:
            self._say(f"{part.shown()}: {whole.source.cells:,} cells, digest {whole.source}, alike{notes}")
            return
        self._differs = True
        self._say(
            f"{part.shown()}: {last.source.cells:,} cells, digest {last.source}; the target has {last.target.cells:,}, "
            f"digest {last.target}; missing: {last.missing:,}, only there: {last.surplus:,}{notes}"
        )
        if first.missing and last.missing:
            self._say(part.hidden_cells(self._options.allow_fewer))

    def _compared_again(
        self, part: CopyPart, mended: MendedRows, source: CopyPeer, target: CopyPeer, mend: bool
    ) -> PartComparison:
        """Compares the rows that were mended alone. Those that it mends now take their place."""
        found = PartComparison()
        for start, stop in mended.taken():
            found.add(self._compared(CopyPart(part.table, start, stop), source, target, mend, mended))
        return found

    def _compared(
        self, part: CopyPart, source: CopyPeer, target: CopyPeer, mend: bool, mended: MendedRows
    ) -> PartComparison:
        schema = self._schemas[part.table]
        found = PartComparison()
        mended.begin()
        missing: list[Row] = []
        surplus: list[Row] = []

        def flush(at_least: int) -> None:
            if len(missing) >= at_least:
                for rows in batches(missing) if mend else ():
                    target.write(part.table, rows)
                missing.clear()
            if len(surplus) >= at_least:
                if mend and self._options.delete:
                    target.delete(part.table, surplus)
                surplus.clear()

        def gather(rows: list[Row]) -> Callable[[Row], None]:
            def take(row: Row) -> None:
                self._workers.go_on()
                mended.add(row[0], found.source.rows + found.target.rows)
                rows.append(row)
                flush(_AT_ONCE)

            return take

        lifetimes = source.tells_lifetimes(part.table) and target.tells_lifetimes(part.table)
        pages = source.pages(schema, part.start, part.stop, 0, WITH_LIFETIMES)
        theirs = target.pages(schema, part.start, part.stop, 0, WITH_LIFETIMES)
        with closing(read_ahead(pages)) as ours:
            compare(self._counted(ours), theirs, found, gather(missing), gather(surplus), lifetimes)
        flush(1)
        return found

    def _counted(self, pages: Iterator[list[Row]]) -> Iterator[list[Row]]:
        for page in pages:
            self._shown.came(page, len(page))
            yield page


def _drained(queue: "SimpleQueue[int]") -> Iterator[int]:
    while not queue.empty():
        yield queue.get()


def run_copy(options: CopyOptions, around: Surroundings) -> str:
    """The closing message. Started again after a break it goes on with the parts as they are. ShellError, also when the
    sides differ in the end."""
    shown = CopyProgress(around.clock, TerminalLine(around.clock, around.quiet), around.say)
    workers = _Workers(options, shown.say)
    try:
        return _Copy(options, around, shown, workers).run()
    finally:
        workers.close()
        shown.line.clear()
