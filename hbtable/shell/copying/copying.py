"""The copy itself: tables made, regions copied side by side, what is written meanwhile followed, both sides compared.

The state file is written after what it speaks of, so a copy that is broken off repeats a page at most.
"""

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final, final

from hbtable.model.schema import TableSchema
from hbtable.shell.copying.columns import WITH_LIFETIMES
from hbtable.shell.copying.copy_parts import CopyPart, left_of
from hbtable.shell.copying.copy_progress import CopyProgress
from hbtable.shell.copying.copy_workers import CopyWorkers, Say
from hbtable.shell.copying.page_size import batches
from hbtable.shell.copying.peers import CopyPeer, PeerAddress
from hbtable.shell.copying.read_ahead import read_ahead
from hbtable.shell.copying.region_comparer import RegionComparer
from hbtable.shell.copying.same_server import refuse_itself
from hbtable.shell.copying.target_tables import prepared
from hbtable.shell.errors import ArgumentError, ShellError
from hbtable.shell.transfer.origin import ANEW
from hbtable.shell.transfer.progress import Progress
from hbtable.shell.transfer.terminal_line import TerminalLine

_STATE: Final = re.compile(rb'\{"format": \d+, "kind": "copy"')
"""The beginning of a state, also of one that a later version left, or that is cut off."""
_NO_DELETES: Final = (
    "deletes at the source are not followed: a cell that is deleted there from now on stays at the target until the "
    "comparison in the end, which finds it"
)
_NO_LIFETIMES: Final = (
    "the source does not tell cells' own times to live (_ttl): a cell that has one stays at the target for as long as "
    "its family keeps cells"
)
_NO_DELETES_EARLY: Final = (
    "deletes at the source are not followed: of older cells, those from the early comparison on are never found, and a "
    "cell that is deleted before stays at the target until the comparison in the end"
)
_MAY_STOP: Final = (
    "both sides are compared as they were: when the programs have stopped writing, press Ctrl-C, and only what is "
    "newer is compared, and the rows that differed"
)
_NOT_SEEN: Final = (
    "not looked at, as programs wrote while it was compared: what they deleted since then of older cells, and cells "
    "that they wrote with times of before {}"
)
_DIFFER: Final = "the two sides differ, as said above: mend that, then give the same command again, which compares them"
_SURPLUS: Final = (
    "cells that only the target has are left there: give the same command again with --delete, and it deletes them for "
    "good, also those that a program wrote to the target alone"
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
    compare_early: bool = False
    """With `follow`: both sides are compared while programs write, and in the end only what is newer, and what
    differed."""


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
class _Copy:
    """One copy under way."""

    def __init__(self, options: CopyOptions, around: Surroundings, shown: CopyProgress, workers: CopyWorkers) -> None:
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
        self._rounds = 0
        self._newer_cells = 0
        self._comparer = RegionComparer(self._schemas, options.delete, options.allow_fewer, shown, workers.go_on)

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
        self._compare()
        self._shown.line.clear()
        if self._options.tables is None:
            self._say("tables of the namespace hbase are not copied, unless --tables names them")
        rows = sum(part.rows for part in self._parts)
        if self._comparer.differs:
            self._save()
            if self._comparer.surplus and not self._options.delete:
                self._say(_SURPLUS)
            raise ShellError(_DIFFER)
        return self._progress.finish(rows, "copied", self._followed() if self._options.follow else "")

    def _begin(self, source: CopyPeer, target: CopyPeer) -> None:
        left = self._left()
        began_millis, parts = left_of(self._progress.path, left) if left else (self._around.wall_millis(), [])
        refuse_itself(source, target, (self._options.source, self._options.target))
        names = source.tables() if self._options.tables is None else self._options.tables
        self._schemas.update(prepared(names, source, target, self._options.allow_fewer, self._say))
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
        end is asked for. The comparison beside the writers comes after the first."""
        deletes = _NO_DELETES_EARLY if self._options.compare_early else _NO_DELETES
        self._say(deletes + ("" if self._options.delete else _HOW_TO_DELETE))
        last = False
        while True:
            since = max(self._began_millis - round(self._options.overlap_seconds * 1000), 0)
            begin = self._around.wall_millis()
            cells = self._round(since)
            self._began_millis = begin
            self._save()
            seconds = (self._around.wall_millis() - begin) / 1000
            self._rounds += 1
            self._newer_cells += cells
            self._say(f"followed: {cells:,} cells newer than {since} ({_utc(since)}) in {seconds:.1f} s")
            if last:
                return
            if self._options.compare_early and not self._comparer.early:
                self._compare_early()
            last = self._around.wait(self._options.every_seconds)

    def _followed(self) -> str:
        """The rounds of this run, for people."""
        several = "" if self._rounds == 1 else ", some of them in several"
        rounds = "1 round" if self._rounds == 1 else f"{self._rounds:,} rounds"
        return f"then {self._newer_cells:,} newer cells in {rounds} of following{several}"

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

    def _compare_early(self) -> None:
        parts = self._workers.ask(self._whole_tables)
        self._shown.begin("comparing, while programs write", len(parts))
        since = self._around.wall_millis() - round(self._options.overlap_seconds * 1000)
        self._workers.run(parts, self._comparer.begin_early(parts, max(since, 0)))
        self._say(_MAY_STOP)

    def _compare(self) -> None:
        early = self._comparer.early
        parts = early.parts if early else self._workers.ask(self._whole_tables)
        self._shown.begin("comparing", len(parts))
        self._workers.run(parts, self._comparer.compare_newer if early else self._comparer.compare)
        if early:
            self._say(_NOT_SEEN.format(_utc(early.since)))

    def _whole_tables(self, source: CopyPeer) -> list[CopyPart]:
        """As they are split now."""
        return [CopyPart(name, start, stop) for name in self._schemas for start, stop in source.regions(name)]


def _utc(millis: int) -> str:
    return datetime.fromtimestamp(millis / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _drained(queue: "SimpleQueue[int]") -> Iterator[int]:
    while not queue.empty():
        yield queue.get()


def run_copy(options: CopyOptions, around: Surroundings) -> str:
    """The closing message. Started again after a break it goes on with the parts as they are. ShellError, also when the
    sides differ in the end."""
    shown = CopyProgress(around.clock, TerminalLine(around.clock, around.quiet), around.say)
    workers = CopyWorkers((options.source, options.target), options.workers, options.call_seconds, shown.say)
    try:
        return _Copy(options, around, shown, workers).run()
    finally:
        workers.close()
        shown.line.clear()
