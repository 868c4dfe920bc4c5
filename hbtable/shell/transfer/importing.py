"""hbtable import: records of a file as puts, in rounds; bad ones are skipped up to a number, and kept in a file.

A round is sent by all workers at once while the next one is read. Each row belongs to one worker, so that of two lines
about the same row the later one wins, however many workers there are. What is remembered for a restart is the end of
the last round that was acknowledged whole, and what was read up to there (origin.py).
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final
from zlib import crc32

from hbtable.hbase.admin.structs import AdminMutation
from hbtable.shell.errors import ShellError
from hbtable.shell.transfer.known_families import KnownFamilies
from hbtable.shell.transfer.origin import FilesDigest, looked_at, origin_of, refuse_another
from hbtable.shell.transfer.places import Places
from hbtable.shell.transfer.progress import Progress
from hbtable.shell.transfer.reading import HAVE_OFFSETS, BadRecord, files_to_read, header, records
from hbtable.shell.transfer.refused import RefusedRow, Sent, bad_record, write
from hbtable.shell.transfer.rejects import Rejects
from hbtable.shell.transfer.servers import LOOK_SECONDS, State, TransferServer
from hbtable.shell.transfer.transfer_workers import TransferWorkers, outcomes

_ROUND_BYTES: Final = 32 << 20
"""Of values; two rounds are in memory, one under way and the next one."""


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """The options of the command line."""

    table: bytes
    path: Path
    """A folder, where it is an export of HBase."""
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
    """The file that takes bad records."""
    anew: bool = False
    """Forget what an earlier run left."""


@final
class ImportSource:
    """The file or files that are read, as they are told apart from others. Where records have no offsets, all of them
    counts as read from the beginning."""

    def __init__(self, options: ImportOptions) -> None:
        files = files_to_read(options.path, options.format)
        self.size = sum(path.stat().st_size for path in files)
        self._whole = options.format not in HAVE_OFFSETS
        self._digest = FilesDigest(files)

    def read_up_to(self, offset: int) -> State:
        return {"size": self.size, "digest": self._digest.up_to(self.size if self._whole else offset)}

    def close(self) -> None:
        self._digest.close()


@final
class _Rounds:
    """Collects rows by worker; one round is under way while the next is collected."""

    def __init__(
        self,
        workers: TransferWorkers,
        options: ImportOptions,
        progress: Progress,
        rejects: Rejects,
        source: ImportSource,
        clock: Callable[[], float],
    ) -> None:
        self.done = 0
        self.bad = 0
        """Records that were skipped in rounds that are acknowledged."""
        self.origin: State = {}
        self._workers = workers
        self._options = options
        self._progress = progress
        self._rejects = rejects
        self._source = source
        self._places = Places(options.path, options.format)
        self._waiting: list[list[Sent]] = [[] for _ in range(workers.count)]
        self._rejected: list[tuple[int, BadRecord]] = []
        """Each with the offset behind it."""
        self._records = 0
        self._last_row = b""
        self._bytes = 0
        self._under_way: list[Future[list[RefusedRow]]] = []
        self._rows_under_way = 0
        self._leaving: list[tuple[int, BadRecord]] = []
        self._offset = -1
        self._clock = clock
        self._looked = clock()

    def add(self, row: AdminMutation, before: int, behind: int) -> bool:
        """True when the round is full."""
        counts = row.row != self._last_row  # of one row several records may stand behind each other
        self._waiting[crc32(row.row) % self._workers.count].append(Sent(row, before, behind, counts))
        self._bytes += sum(len(one.value) for one in row.operations or ())
        self._last_row = row.row
        return self._is_full()

    def reject(self, behind: int, record: BadRecord) -> bool:
        """True when the round is full."""
        self._rejected.append((behind, record))
        return self._is_full()

    def may_reject(self) -> bool:
        """One more, as far as it is known yet what the server refuses."""
        return self.bad + len(self._leaving) + len(self._rejected) < self._options.skip_bad

    def _is_full(self) -> bool:
        self._records += 1
        return self._records >= self._options.batch_rows * self._workers.count or self._bytes >= _ROUND_BYTES

    def send(self, behind: int) -> None:
        """Everything before `behind` is in this round or an earlier one. Waits for the earlier one."""
        self.settle()
        jobs = [self._job(batch) for batch in self._waiting if batch]
        self._rows_under_way = sum(one.counts for batch in self._waiting for one in batch)
        self._waiting = [[] for _ in range(self._workers.count)]
        self._leaving, self._rejected = self._rejected, []
        self._records = self._bytes = 0
        self._offset = behind
        self._under_way = self._workers.start(jobs)

    def settle(self) -> None:
        """The round under way is acknowledged, and remembered so, on return. ShellError, also where too many of its
        records are bad: then it is not remembered, and the next try begins with it."""
        if self._offset < 0:
            return
        refused = [one for some in outcomes(self._under_way) for one in some]
        self._skip(refused)
        self.done += self._rows_under_way - sum(one.sent.counts for one in refused)
        if self._clock() - self._looked > LOOK_SECONDS:
            self.look()
        came = {"rows": self.done, "bad": self.bad, "offset": self._offset}
        self._progress.save({**self.origin, **self._source.read_up_to(self._offset), **came})
        self._progress.show(self.done, self._offset)
        self._under_way, self._leaving, self._offset = [], [], -1

    def _skip(self, refused: Sequence[RefusedRow]) -> None:
        """Those of the round that could not be read, and those that the server refused. ShellError names the first one
        that is one too many."""
        path, form = self._options.path, self._options.format
        found = [*self._leaving, *((one.sent.behind, bad_record(path, form, one)) for one in refused)]
        found.sort(key=lambda one: one[0])
        most = max(0, self._options.skip_bad - self.bad)  # it may be less than an earlier try had
        for behind, record in found[most : most + 1]:
            raise self.too_many(behind, record)
        self._rejects.keep([(self._places.of(behind, record), record) for behind, record in found])
        self.bad += len(found)

    def too_many(self, behind: int, record: BadRecord) -> ShellError:
        """The error of a record that is not skipped."""
        return ShellError(f"{self._places.of(behind, record)}: {record}; {_what_to_do(self._options.skip_bad)}")

    def look(self) -> None:
        """No round is under way. ShellError: the table is another one."""
        table, origin = self._options.table, self.origin
        left = f"of the {self.done:,} rows of {self._options.path} that were written, the table of now may lack some"
        (self.origin,) = outcomes(self._workers.start([lambda server: looked_at(server, table, origin, left)]))
        self._looked = self._clock()

    def _job(self, batch: list[Sent]) -> Callable[[TransferServer], list[RefusedRow]]:
        size, most = self._options.batch_rows, self._options.skip_bad

        def write_batch(server: TransferServer) -> list[RefusedRow]:
            refused: list[RefusedRow] = []
            for start in range(0, len(batch), size):
                self._workers.go_on()
                if len(refused) <= most:
                    refused += write(server, self._options.table, batch[start : start + size], most - len(refused))
            return refused

        return write_batch


def run_import(address: str, options: ImportOptions, clock: Callable[[], float]) -> str:
    """The closing message. ShellError names the place of a bad record; start it again to go on."""
    state_path = options.path.with_name(f"{options.path.name}.{options.table.decode()}.import")
    source = ImportSource(options)
    progress = Progress(state_path, clock, source.size if options.format in HAVE_OFFSETS else 0)
    if options.anew:
        progress.forget()
    workers = TransferWorkers(address, options.workers)
    rejects = Rejects(options.errors, header(options.path, options.format, options.columns))
    rounds = _Rounds(workers, options, progress, rejects, source, clock)
    try:
        (rounds.origin,) = outcomes(workers.start([lambda server: _origin(server, options)]))
        rounds.done, rounds.bad, offset = _came(progress, rounds.origin, source)
        (families,) = outcomes(workers.start([lambda server: server.families(options.table)]))
        _read(options, rounds, KnownFamilies(options.table, families), offset)
        rounds.look()
        told = workers.told()
    finally:
        workers.close()
        source.close()
    skipped = f", {rounds.bad} bad records skipped" if rounds.bad else ""
    return progress.finish(rounds.done, "imported") + skipped + told


def _origin(server: TransferServer, options: ImportOptions) -> State:
    try:
        return origin_of(server, options.table, file_format=options.format, columns=list(options.columns))
    except ShellError as error:
        if error.about is not None and error.about[0] == "table":
            error.about = "imported table", error.about[1]
        raise


def _came(progress: Progress, origin: State, source: ImportSource) -> tuple[int, int, int]:
    """(rows written, bad records skipped, offset behind them). BadArgument when what was left is another import's."""
    state = progress.load()
    if not state:
        return 0, 0, 0
    rows, bad, offset = (_number(state.get(key)) for key in ("rows", "bad", "offset"))
    refuse_another(progress.path, {**state, "digest": ""}, {**origin, "size": source.size, "digest": ""})
    refuse_another(progress.path, state, {**origin, **source.read_up_to(offset)})
    return rows, bad, offset


def _read(options: ImportOptions, rounds: _Rounds, families: KnownFamilies, offset: int) -> None:
    """Reads all records."""
    behind = offset
    for record, end in records(options.path, options.format, options.columns, offset, families.check):
        before, behind = behind, end
        if not isinstance(record, BadRecord):
            full = rounds.add(record, before, behind)
        elif rounds.may_reject():
            full = rounds.reject(behind, record)
        else:
            rounds.send(before)  # the next try begins with the bad record
            rounds.settle()
            raise rounds.too_many(behind, record)
        if full:
            rounds.send(behind)
    rounds.send(behind)
    rounds.settle()


def _what_to_do(skipped: int) -> str:
    more = f"more than the {skipped} of --skip-bad are bad: " if skipped else ""
    return (
        f"{more}mend it and import the file with --anew, or go on with --skip-bad {skipped + 1} or more; --errors FILE "
        "keeps what is skipped"
    )


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
