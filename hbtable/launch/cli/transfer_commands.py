"""`hbtable import`, `hbtable export` and `hbtable copy`: arguments only, the work is hbtable.shell.transfer's."""

import errno
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from hbtable.launch.cli.shell_commands import peer_options

if TYPE_CHECKING:
    import threading

_KINDS: Final = ("jsonl", "csv", "tsv", "parquet")
_HBASE_EXPORT: Final = "hbase-export"
_FORMAT: Final = click.option("--format", "form", type=click.Choice(_KINDS), help="Default: by the file's name.")
_COLUMNS: Final = click.option(
    "--columns", default="", metavar="HBASE_ROW_KEY,F:Q,...", help="What the fields of CSV, TSV and Parquet are."
)
_ANEW: Final = click.option("--anew", is_flag=True, help="Forget how far a run came that was broken off.")
_WORKERS: Final = click.option(
    "--workers", type=click.IntRange(1, 64), default=2, show_default=True, help="Connections at work side by side."
)


@click.command("import")
@peer_options
@click.option("--format", "form", type=click.Choice((*_KINDS, _HBASE_EXPORT)), help="Default: by the file's name.")
@_COLUMNS
@click.option("--batch", type=click.IntRange(1, 10000), default=500, show_default=True, help="Rows a call.")
@_WORKERS
@click.option("--skip-bad", type=click.IntRange(0), default=0, help="How many bad records may be skipped.")
@click.option("--errors", type=click.Path(dir_okay=False, path_type=Path), help="Skipped records are kept here.")
@_ANEW
@click.argument("table")
@click.argument("file", type=click.Path(exists=True, path_type=Path))
def import_(
    url: str,
    form: str | None,
    columns: str,
    batch: int,
    workers: int,
    skip_bad: int,
    errors: Path | None,
    anew: bool,
    table: str,
    file: Path,
) -> None:
    """Writes the records of FILE into TABLE. Broken off, the same command goes on where it stopped, if FILE and TABLE
    are still the same. The server may be a real HBase: its Thrift1, or with --url thrift2://HOST:PORT its Thrift2.

    Of CSV and TSV the first line names the fields. --columns names them for files without such a line; a first line of
    the same names is no row. An empty field is no cell.

    A field of either that begins with a quote ends with one; both are no part of the value, and a quote within is
    written twice. What else has a quote at the beginning of a field is a bad record of one line, and the next line
    begins another: of a value of several lines with a quote missing, the others may be taken for rows.

    Of Parquet, what export wrote comes back as it was: a record a cell, or with --types the bytes of each value. So do
    other files with a field row of bytes, and all others named family:qualifier, as Table.to_arrow has them. Files that
    name HBASE_ROW_KEY are read as a CSV: numbers and times become text, lists and structs JSON. A null is no cell, an
    empty value is one.

    --errors keeps the records that were skipped as they stand in FILE, to be put right and imported, and in a second
    file, whose name ends in .why, what is wrong with each.

    FILE may be what HBase's own Export wrote: its folder, with _SUCCESS in it, or one of its part-m-... files, fetched
    by hdfs dfs -get."""
    from time import perf_counter

    from hbtable.shell.transfer.importing import ImportOptions, run_import

    names = columns.split(",") if columns else []
    kind = form or _kind_to_import(file)
    if file.is_dir():
        if kind != _HBASE_EXPORT:
            raise click.BadParameter(f"{file} is a folder, and {kind} is a file: name the file", param_hint="FILE")
        file = file.resolve()  # so that it has a name: how far it came is kept beside it
    options = ImportOptions(table.encode(), file, kind, names, batch, workers, skip_bad, errors, anew)
    _show(url, lambda: run_import(url, options, perf_counter), writes=f"what is kept beside {file}")


@click.command()
@peer_options
@_FORMAT
@_COLUMNS
@_WORKERS
@_ANEW
@click.option("--types", metavar="F:Q=TYPE,...", help="Parquet with a record a row, and these columns.")
@click.option("--overwrite", is_flag=True, help="FILE may be there already: it is replaced when the export is whole.")
@click.option("-o", "file", required=True, type=click.Path(dir_okay=False, path_type=Path), help="Where to write.")
@click.argument("table")
def export(
    url: str,
    form: str | None,
    columns: str,
    workers: int,
    anew: bool,
    types: str | None,
    overwrite: bool,
    file: Path,
    table: str,
) -> None:
    """Writes TABLE into a file: JSON lines or Parquet with every version, CSV or TSV with the newest of the columns
    that --columns names. Broken off, the same command goes on where it stopped, if TABLE is still the same.

    The server may be a real HBase: its Thrift1, or with --url thrift2://HOST:PORT its Thrift2.

    With --types Parquet has a record a row: the newest of each of these columns, as int8 to int64, uint8 to uint64,
    float, double, bool, text or bytes. Rows with none of them are left out. Import makes the same bytes of it; of a
    true bool the byte 255, as HBase does.

    In CSV and TSV a cell of an empty value cannot be told from none: how many there were is said in the end."""
    from time import perf_counter

    from hbtable.shell.transfer.exporting import ExportOptions, run_export

    names = [name for name in columns.split(",") if name and name != "HBASE_ROW_KEY"]
    typed = {} if types is None else typed_columns(types, "--types")
    kind = _kind(form, file)
    options = ExportOptions(table.encode(), file, kind, names, 1000, workers, anew, overwrite, typed)
    _show(url, lambda: run_export(url, options, perf_counter), writes=str(file))


def typed_columns(text: str, option: str) -> dict[bytes, str]:
    """A name of a type by column; bytes where none is given."""
    types: dict[bytes, str] = {}
    for one in text.split(","):
        name, _, type = one.rpartition("=") if "=" in one else (one, "", "bytes")
        column = name.encode("utf-8", "surrogateescape")
        if column in types:
            raise click.BadParameter(f"column {name} is named twice", param_hint=option)
        types[column] = type
    return types


class Seconds(click.FloatRange):
    """Up to 30 years: what a clock can wait for."""

    name = "seconds"

    def __init__(self) -> None:
        super().__init__(0, 1e9)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found: float = super().convert(value, param, ctx)
        if isnan(found):  # no bound holds it off
            self.fail("nan is no number of seconds", param, ctx)
        return found


@click.command()
@click.option("--from", "source", required=True, metavar="ADDRESS", help="thrift://HOST:PORT, also of a real HBase.")
@click.option(
    "--to", "target", default="thrift://127.0.0.1:9090", show_default=True, metavar="ADDRESS", help="Likewise."
)
@click.option("--tables", metavar="T,NS:T,...", help="Default: all, but those of the namespace hbase.")
@_WORKERS
@click.option("--follow", is_flag=True, help="Brings what is written meanwhile, until Ctrl-C or SIGTERM.")
@click.option("--every", type=Seconds(), default=5.0, show_default=True, help="Seconds between its rounds.")
@click.option("--overlap", type=Seconds(), default=60.0, show_default=True, help="Seconds that clocks differ.")
@click.option("--delete", is_flag=True, help="What the target alone has is deleted, of the rows that were copied.")
@click.option(
    "--compare-early",
    is_flag=True,
    help="With --follow: compares before Ctrl-C, and after it only what is newer. It cannot see all deletes.",
)
@click.option(
    "--allow-fewer", is_flag=True, help="Tables of the target may keep fewer cells: by VERSIONS, TTL or MIN_VERSIONS."
)
@click.option(
    "--state",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("hbtable-copy.json"),
    show_default=True,
    help="Keeps how far it came, while it runs.",
)
@click.option("--quiet", is_flag=True, help="Without the line on a terminal that says how far it came.")
@_ANEW
def copy(
    source: str,
    target: str,
    tables: str | None,
    workers: int,
    follow: bool,
    every: float,
    overlap: float,
    delete: bool,
    compare_early: bool,
    allow_fewer: bool,
    state: Path,
    quiet: bool,
    anew: bool,
) -> None:
    """Copies tables from one server to another: schema, and all versions with their times. Either may be a real HBase.

    Tablets are copied side by side. In the end both sides are read and compared; what is missing is written, and there
    is a line with a digest for each tablet. Broken off, the same command goes on where it stopped.

    thrift:// takes hbtable's own service or HBase's Thrift1; thrift2:// HBase's Thrift2, which gives all versions in
    one scan; thrift+tls://USER@HOST:PORT?ca=FILE&secret=FILE as with --url."""
    import threading
    from time import perf_counter, time_ns

    from hbtable.shell.copying.copying import CopyOptions, Surroundings, run_copy
    from hbtable.shell.copying.peers import parse_peer

    if compare_early and not follow:
        raise click.UsageError("--compare-early goes with --follow: without it the programs stand from the beginning")
    names = _names(tables)
    end = threading.Event()
    if follow:
        _end_at_a_signal(end)
    around = Surroundings(perf_counter, lambda: time_ns() // 1_000_000, end.wait, _tell, quiet)

    def work() -> str:
        ends = parse_peer(source), parse_peer(target)
        options = CopyOptions(
            *ends, state, names, workers, follow, every, overlap, delete, anew,
            allow_fewer=allow_fewer, compare_early=compare_early,
        )  # fmt: skip
        return run_copy(options, around)

    _show("", work, writes=str(state))


def _tell(line: str) -> None:
    """Names and keys in it are whatever somebody wrote into a table: no terminal shall obey them."""
    from hbtable.model.visible import visible

    click.echo(visible(line, lines=True), err=True)


def _names(tables: str | None) -> list[bytes] | None:
    """None: all."""
    if tables is None:
        return None
    names = [name.strip() for name in tables.split(",")]
    if not all(names):
        raise click.UsageError("--tables has an empty name; for all tables leave the option out")
    return [name.encode() for name in names]


def _end_at_a_signal(end: "threading.Event") -> None:
    """The second one breaks off."""
    import signal

    def asked(*_: object) -> None:
        if end.is_set():
            raise KeyboardInterrupt
        end.set()
        click.echo("one more round, then both sides are compared; once more to break off", err=True)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, asked)


def _kind_to_import(file: Path) -> str:
    if file.is_dir():
        return _HBASE_EXPORT
    if file.suffix.lstrip(".") not in _KINDS and file.is_file():  # nothing is read from a pipe
        with file.open("rb") as begins:
            if begins.read(3) == b"SEQ":
                return _HBASE_EXPORT
    return _kind(None, file, (*_KINDS, _HBASE_EXPORT))


def _kind(form: str | None, file: Path, kinds: Sequence[str] = _KINDS) -> str:
    kind = form or file.suffix.lstrip(".")
    if kind not in kinds:
        raise click.UsageError(f"{file.name} tells no format: give --format {' | '.join(kinds)}")
    return kind


def _show(url: str, work: Callable[[], str], writes: str) -> None:
    """`url` and `writes` as of shown()."""
    with shown(url, writes):
        _tell(work())


@contextmanager
def shown(url: str = "", writes: str = "the file") -> Iterator[None]:
    """Errors are shown as one message, and end the command. `url` is of the server that is asked for advice; "" for
    none. `writes`: what the command writes, which an error of a write does not name."""
    from hbtable.shell.advice import advice
    from hbtable.shell.connection import ShellConnection
    from hbtable.shell.copying.peers import parse_peer
    from hbtable.shell.errors import CannotConnect, ShellError, plain_kind

    try:
        yield
    except ShellError as error:
        _tell(f"{plain_kind(error)}: {error}")
        # An address that cannot be read is an error itself, and nobody is there to ask.
        second = error.advice
        if url and not isinstance(error, CannotConnect):
            with closing(ShellConnection(parse_peer(url).address)) as server:
                second = advice(error, server, [], one_shot=True)
        if second:
            _tell(f"  {second}")
        sys.exit(error.exit_code)
    except OSError as error:  # a folder that is not there, a full disk
        cure = "; make room, then give the same command again" if error.errno == errno.ENOSPC else ""
        click.echo(f"hbtable: {error.filename or writes}: {error.strerror}{cure}", err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        click.echo("broken off; the same command goes on from here", err=True)
        sys.exit(130)


COMMANDS: Final = (import_, export, copy)
