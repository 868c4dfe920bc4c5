"""hbtable export: a table with every version as JSON lines or Parquet, or the newest of named columns as CSV or TSV.

Each tablet is a part (parts.py); workers read them side by side. As with every scan of Bigtable, rows are consistent
each for itself, and the whole is no snapshot.
"""

import os
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar, final

from hbtable.hbase.admin.structs import AdminArrowPage, AdminPage, AdminRow
from hbtable.shell.answers.csv_line import csv_line
from hbtable.shell.copying.columns import Wanted
from hbtable.shell.errors import ArgumentError
from hbtable.shell.transfer import parts
from hbtable.shell.transfer.origin import looked_at, origin_of, refuse_another
from hbtable.shell.transfer.parts import ExportPart
from hbtable.shell.transfer.progress import Progress
from hbtable.shell.transfer.records import ROW_KEY, bytes_of_field, to_json
from hbtable.shell.transfer.servers import LOOK_SECONDS, Reading, State, TransferServer
from hbtable.shell.transfer.transfer_workers import TransferWorkers, outcomes

_LOSSLESS: Final = ("jsonl", "parquet")
_TYPED_PAGE_ROWS: Final = 10_000
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """The options of the command line."""

    table: bytes
    path: Path
    format: str
    columns: Sequence[str] = ()
    """family:qualifier each; CSV and TSV need some."""
    page_rows: int = 1000
    workers: int = 2
    """Tablets read at the same time."""
    anew: bool = False
    """Forget what an earlier run left."""
    overwrite: bool = False
    """A file that is there already is replaced."""
    types: Mapping[bytes, str] = field(default_factory=dict)
    """By column, for Parquet with a record a row; without any it has a record a cell."""


@final
class _Export:
    """One export under way."""

    def __init__(
        self,
        options: ExportOptions,
        progress: Progress,
        clock: Callable[[], float],
        go_on: Callable[[], None] = lambda: None,
    ) -> None:
        self.parts: list[ExportPart] = []
        self.origin: State = {}
        self._options = options
        self._progress = progress
        self._saving = threading.Lock()
        self._go_on = go_on
        self._clock = clock
        self._looked = clock()
        self._typed = typed_rows(options)
        lossless = options.format in _LOSSLESS and not options.types
        columns = list(options.types) or [bytes_of_field(name) for name in options.columns]
        rows = _TYPED_PAGE_ROWS if options.types else options.page_rows
        self._reading = Reading(
            options.table, Wanted(columns, newest=not lossless, lifetimes=lossless), rows, pieces=lossless
        )

    def write_part(self, server: TransferServer, part: ExportPart) -> None:
        if part.done:
            return
        if self._options.format == "parquet":
            self._write_parquet(server, part)
        else:
            self._write_text(server, part)
        part.done = True
        self._save()

    def _write_text(self, server: TransferServer, part: ExportPart) -> None:
        path = part.path(self._options.path)
        if part.position is None:
            part.begin()
        keeps_all = self._options.format in _LOSSLESS
        pages = self._pages(server, part)
        with path.open("r+b" if part.bytes else "wb") as file, closing(pages):
            file.truncate(part.bytes)
            file.seek(part.bytes)
            for page in pages:
                text = text_of(self._options, page.rows)
                file.write(text)
                file.flush()
                os.fsync(file.fileno())  # the progress file may not speak of bytes that a power loss takes back
                empty = 0 if keeps_all else sum(not cell.value for row in page.rows for cell in row.cells or ())
                with self._saving:  # another part's worker saves all parts: this one is before the page, or behind it
                    part.digest.update(text)
                    part.count([row.row for row in page.rows])
                    part.empty += empty
                    part.bytes, part.position = file.tell(), page.position
                self._save()

    def _write_parquet(self, server: TransferServer, part: ExportPart) -> None:
        from hbtable.shell.transfer.parquet import GroupsWriter

        part.begin()
        path = part.path(self._options.path)
        typed = self._typed
        if typed:
            with closing(self._typed_pages(server, part)) as found, GroupsWriter(path, typed.schema) as writer:
                for batch in typed.batches(found):
                    writer.write_batch(batch)
                    part.rows += batch.num_rows
        else:
            with closing(self._pages(server, part)) as pages, GroupsWriter(path) as writer:
                for page in pages:
                    writer.write_cells(page.rows)
                    part.count([row.row for row in page.rows])
                    part.mortal += sum(bool(cell.ttl_millis) for row in page.rows for cell in row.cells or ())
        with self._saving:
            part.take(path)

    def _pages(self, server: TransferServer, part: ExportPart) -> Generator[AdminPage, None, None]:
        return self._watched(server, server.pages(self._reading, part.start, part.stop, part.position))

    def _typed_pages(
        self, server: TransferServer, part: ExportPart
    ) -> Generator[AdminArrowPage | AdminPage, None, None]:
        pages = server.typed_pages(self._reading, self._typed.columns, part.start, part.stop)
        return self._watched(server, pages)

    def _watched(self, server: TransferServer, pages: Generator[T, None, None]) -> Generator[T, None, None]:
        """Between pages it ends where it shall, and looks whether the table is another one by now."""
        with closing(pages):  # a scanner that is closed later would open its connection again
            for page in pages:
                self._go_on()
                if self._clock() - self._looked > LOOK_SECONDS:
                    self.look(server)
                yield page

    def look(self, server: TransferServer) -> None:
        """ShellError, also of the next page of every other part: the table is another one."""
        path = self._options.path
        left = f"what was exported, in {path.name}.part-..., may be rows of both tables, and {path} was not written"
        self.origin = looked_at(server, self._options.table, self.origin, left)
        self._looked = self._clock()

    def _save(self) -> None:
        with self._saving:
            self._progress.save({**self.origin, "parts": [part.saved() for part in self.parts]})
            self._progress.show(sum(part.rows for part in self.parts), 0)

    def join(self) -> None:
        options = self._options
        if options.format == "parquet":
            from hbtable.shell.transfer.parquet import join_parts

            join_parts(options.path, [part.path(options.path) for part in self.parts])
        else:
            header = b"" if options.format == "jsonl" else _lines(options, [[ROW_KEY, *options.columns]])
            parts.joined(options.path, self.parts, header)


def run_export(address: str, options: ExportOptions, clock: Callable[[], float]) -> str:
    """The closing message. Started again after a break it goes on with the parts as they are."""
    typed_rows(options)
    if options.format not in _LOSSLESS and not options.columns:
        raise ArgumentError("name the columns of a CSV or TSV: --columns f:a,f:b; JSON lines and Parquet need none")
    families = [name for name in options.columns if ":" not in name]
    if options.format not in _LOSSLESS and families:
        raise ArgumentError(
            f"a field of CSV or TSV is a column, and {', '.join(families)} is a family: name its columns, as in "
            f"{families[0]}:a, or export JSON lines or Parquet"
        )
    progress = Progress(options.path.with_name(f"{options.path.name}.export"), clock)
    _refuse_to_overwrite(options, goes_on=progress.path.exists() and not options.anew)
    workers = TransferWorkers(address, options.workers)
    export = _Export(options, progress, clock, workers.go_on)
    try:
        (export.origin,) = outcomes(workers.start([lambda server: _origin(server, options)]))
        if options.anew:
            progress.forget()
            parts.forget(options.path)
        left = progress.load()
        if left:
            refuse_another(progress.path, left, export.origin)
        export.parts = parts.restored(left, options.path) or _parts_of(workers, options.table)
        jobs = [lambda server, part=part: export.write_part(server, part) for part in export.parts]
        outcomes(workers.start(jobs))
        outcomes(workers.start([export.look]))
        told = workers.told()
    finally:
        workers.close()
        if not progress.path.exists():  # no run would go on with them
            parts.remove(options.path, export.parts)
    export.join()
    closing = progress.finish(sum(part.rows for part in export.parts), "exported")
    parts.remove(options.path, export.parts)
    empty, mortal = sum(one.empty for one in export.parts), sum(one.mortal for one in export.parts)
    return closing + _what_is_missing(empty, mortal) + told


def typed_rows(options: ExportOptions) -> Any:
    """A typed_parquet.TypedRows, where columns have types, else None. ArgumentError; ShellError: without pyarrow."""
    if not options.types:
        return None
    if options.format != "parquet" or options.columns:
        raise ArgumentError(
            "--types are the columns of Parquet with a record a row: give them with --format parquet, without --columns"
        )
    from hbtable.shell.transfer.parquet import check_pyarrow

    check_pyarrow()
    from hbtable.shell.transfer.typed_parquet import TypedRows

    return TypedRows(options.types)


def _what_is_missing(empty: int, mortal: int) -> str:
    if mortal:
        return (
            f"; {mortal:,} cells have times to live of their own, which Parquet does not keep: export JSON lines to "
            "keep them"
        )
    if not empty:
        return ""
    return (
        f"; {empty:,} cells of an empty value are empty fields, which an import takes for no cells: to keep them "
        "export JSON lines or Parquet"
    )


def _refuse_to_overwrite(options: ExportOptions, goes_on: bool) -> None:
    """`goes_on`: an earlier run was let in, and may even have put its file there before it was broken off."""
    if not options.path.exists():
        return
    if not options.path.is_file():
        raise ArgumentError(f"{options.path} is no file, and would be replaced by one: name a file")
    if not (options.overwrite or goes_on):
        raise ArgumentError(
            f"{options.path} is there already, and nothing was written: name another file, or say --overwrite, which "
            "replaces it when the export is whole"
        )


def _origin(server: TransferServer, options: ExportOptions) -> State:
    typed = [f"{name.decode('utf-8', 'surrogateescape')}={type}" for name, type in options.types.items()]
    columns = ["--types", *typed] if typed else list(options.columns)
    return origin_of(server, options.table, file_format=options.format, columns=columns)


def _parts_of(workers: TransferWorkers, table: bytes) -> list[ExportPart]:
    (bounds,) = outcomes(workers.start([lambda server: server.ranges(table)]))
    return [ExportPart(number, start, stop) for number, (start, stop) in enumerate(bounds)]


def text_of(options: ExportOptions, rows: Sequence[AdminRow]) -> bytes:
    """Some rows as lines of the export's format."""
    if options.format == "jsonl":
        return "".join([to_json(row) + "\n" for row in rows]).encode()
    made = []
    for row in rows:
        values = {cell.column: cell.value for cell in row.cells or ()}
        found = [values.get(bytes_of_field(name), b"") for name in options.columns]
        made.append([one.decode("utf-8", "surrogateescape") for one in (row.row, *found)])
    return _lines(options, made)


def _lines(options: ExportOptions, rows: Sequence[Sequence[str]]) -> bytes:
    delimiter = "," if options.format == "csv" else "\t"
    return "".join([csv_line(row, delimiter) for row in rows]).encode("utf-8", "surrogateescape")
