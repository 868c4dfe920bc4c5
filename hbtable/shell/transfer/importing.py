"""hbtable import: records of a file as puts, in batches; bad ones are skipped up to a number, and kept in a file."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from hbtable.hbase.admin_structs import AdminMutation
from hbtable.shell.connection import Connection
from hbtable.shell.errors import BadArgument, ShellError
from hbtable.shell.transfer.progress import Progress
from hbtable.shell.transfer.records import BadRecord, Fields, from_json, lines


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """What the command line said."""

    table: bytes
    path: Path
    format: str
    columns: Sequence[str] = ()
    """Of CSV and TSV, as ImportTsv names them; none: the file's first line."""
    batch_rows: int = 500
    """Rows a call. More: fewer round trips, more to repeat after a break."""
    skip_bad: int = 0
    """So many bad records are skipped before it gives up."""
    errors: Path | None = None
    """Where bad records go."""


def run_import(server: Connection, options: ImportOptions, clock: Callable[[], float]) -> str:
    """The closing sentence. ShellError names the byte where a bad record begins; start it again to go on."""
    state_path = options.path.with_name(f"{options.path.name}.{options.table.decode()}.import")
    progress = Progress(state_path, clock, options.path.stat().st_size)
    state = progress.load()
    done, bad, offset = (_number(state.get(key)) for key in ("rows", "bad", "offset"))
    batch: list[AdminMutation] = []

    def send(behind: int) -> None:
        nonlocal done
        if batch:
            server.admin("adminMutateRows", options.table, batch)
        done += len(batch)
        batch.clear()
        progress.save({"rows": done, "bad": bad, "offset": behind})
        progress.show(done, behind)

    opened = options.errors.open("a", encoding="utf-8") if options.errors is not None else nullcontext()
    with options.path.open("rb") as file, opened as errors:
        behind = offset
        for record, behind in _records(file, options, offset):
            if isinstance(record, BadRecord):
                bad += 1
                if errors is not None:
                    errors.write(f"{options.path}: before byte {behind}: {record}\n")
                if bad > options.skip_bad:
                    raise ShellError(f"{options.path}, before byte {behind}: {record} (--skip-bad {options.skip_bad})")
                continue
            batch.append(record)
            if len(batch) >= options.batch_rows:
                send(behind)
        send(behind)
    skipped = f", {bad} bad records skipped" if bad else ""
    return progress.finish(done, "imported") + skipped


def _records(file: IO[bytes], options: ImportOptions, offset: int) -> Iterator[tuple[AdminMutation | BadRecord, int]]:
    """(a row or what is wrong with it, offset behind it)."""
    if options.format == "jsonl":
        file.seek(offset)
        for line in iter(file.readline, b""):
            if line.strip():
                yield _tried(lambda line=line: from_json(line.decode("utf-8", "replace"))), file.tell()  # type: ignore[misc]
        return
    separator = "," if options.format == "csv" else "\t"
    names = list(options.columns)
    if not names:
        names = next(lines(file, separator), ([], 0))[0]
        if not names:
            raise BadArgument(f"{options.path} is empty and no --columns are given")
    fields = Fields(names)
    if offset:
        file.seek(offset)
    for found, behind in lines(file, separator):
        if found:
            yield _tried(lambda found=found: fields.mutation(found)), behind  # type: ignore[misc]


def _tried(make: Callable[[], AdminMutation]) -> AdminMutation | BadRecord:
    try:
        return make()
    except BadRecord as error:
        return error


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
