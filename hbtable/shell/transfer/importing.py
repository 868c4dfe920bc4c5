"""hbtable import: records of a file as puts, in rounds; bad ones are skipped up to a number, and kept in a file.

A round is sent by all workers at once while the next one is read. Each row belongs to one worker, so that of two lines
about the same row the later one wins, however many workers there are. What is remembered for a restart is the end of
the last round that was acknowledged whole.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO, final
from zlib import crc32

from hbtable.hbase.admin_structs import AdminMutation
from hbtable.shell.connection import Connection
from hbtable.shell.errors import ShellError
from hbtable.shell.transfer.progress import Progress
from hbtable.shell.transfer.reading import BadRecord, Record, records
from hbtable.shell.transfer.workers import Workers, outcomes


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """What the command line said."""

    table: bytes
    path: Path
    format: str
    columns: Sequence[str] = ()
    """Of CSV, TSV and Parquet, as ImportTsv names them; none: the file's own."""
    batch_rows: int = 500
    """Rows a call. More: fewer round trips, more to repeat after a break."""
    workers: int = 2
    """Connections that write at the same time."""
    skip_bad: int = 0
    """So many bad records are skipped before it gives up."""
    errors: Path | None = None
    """Where bad records go."""


@final
class _Rounds:
    """Collects rows by worker; one round is under way while the next is collected."""

    def __init__(self, workers: Workers, options: ImportOptions, progress: Progress, done: int) -> None:
        self.done = done
        self._workers = workers
        self._options = options
        self._progress = progress
        self._waiting: list[list[AdminMutation]] = [[] for _ in range(workers.count)]
        self._rows = 0
        self._under_way: list[Future[int]] = []
        self._state: dict[str, int] = {}

    def add(self, row: AdminMutation) -> bool:
        """True when the round is full."""
        self._waiting[crc32(row.row) % self._workers.count].append(row)
        self._rows += 1
        return self._rows >= self._options.batch_rows * self._workers.count

    def send(self, behind: int, bad: int) -> None:
        """Everything before `behind` is in this round or an earlier one. Waits for the earlier one."""
        self.settle()
        jobs = [self._job(batch) for batch in self._waiting if batch]
        self._waiting = [[] for _ in range(self._workers.count)]
        self._rows = 0
        self._state = {"bad": bad, "offset": behind}
        self._under_way = self._workers.start(jobs)

    def settle(self) -> None:
        """The round under way is acknowledged, and remembered so, on return. ShellError."""
        if not self._state:
            return
        self.done += sum(outcomes(self._under_way))
        self._progress.save({"rows": self.done, **self._state})
        self._progress.show(self.done, self._state["offset"])
        self._under_way, self._state = [], {}

    def _job(self, batch: list[AdminMutation]) -> Callable[[Connection], int]:
        size = self._options.batch_rows

        def write(server: Connection) -> int:
            for start in range(0, len(batch), size):
                server.admin("adminMutateRows", self._options.table, batch[start : start + size])
            return len(batch)

        return write


def run_import(address: str, options: ImportOptions, clock: Callable[[], float]) -> str:
    """The closing sentence. ShellError names the place of a bad record; start it again to go on."""
    state_path = options.path.with_name(f"{options.path.name}.{options.table.decode()}.import")
    progress = Progress(state_path, clock, options.path.stat().st_size if options.format != "parquet" else 0)
    state = progress.load()
    done, bad, offset = (_number(state.get(key)) for key in ("rows", "bad", "offset"))
    workers = Workers(address, options.workers)
    rounds = _Rounds(workers, options, progress, done)
    opened = options.errors.open("a", encoding="utf-8") if options.errors is not None else nullcontext()
    try:
        with opened as errors:
            behind = offset
            for record, end in records(options.path, options.format, options.columns, offset):
                before, behind = behind, end
                if isinstance(record, BadRecord):
                    bad += 1
                    _note(errors, options, record, behind)
                    if bad > options.skip_bad:
                        rounds.send(before, bad - 1)  # the next try begins with the bad record
                        rounds.settle()
                        place = _place(options, behind)
                        raise ShellError(f"{place}: {record} (--skip-bad {options.skip_bad})")
                elif rounds.add(record):
                    rounds.send(behind, bad)
            rounds.send(behind, bad)
            rounds.settle()
    finally:
        workers.close()
    skipped = f", {bad} bad records skipped" if bad else ""
    return progress.finish(rounds.done, "imported") + skipped


def _note(errors: IO[str] | None, options: ImportOptions, record: Record, behind: int) -> None:
    if errors is not None:
        errors.write(f"{_place(options, behind)}: {record}\n")


def _place(options: ImportOptions, behind: int) -> str:
    return f"{options.path}, {'record' if options.format == 'parquet' else 'before byte'} {behind}"


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
