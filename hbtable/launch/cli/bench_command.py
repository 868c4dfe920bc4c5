"""`hbtable bench`: arguments, and servers of its own; the work is hbtable.shell.bench's."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Final

import click

from hbtable.launch.cli.shell_commands import server_options
from hbtable.launch.cli.transfer_commands import shown


def _counts(_context: click.Context, _option: click.Parameter, text: str | None) -> list[int] | None:
    """1,2,4: numbers of tablet servers."""
    if text is None:
        return None
    if not all(re.fullmatch("[1-9][0-9]?", count) for count in text.split(",")):
        raise click.BadParameter(f"{text!r} has to be numbers from 1 to 99 with commas between them, as 1,2,4")
    return [int(count) for count in text.split(",")]


def _workloads(_context: click.Context, _option: click.Parameter, text: str | None) -> list[str]:
    from hbtable.shell.bench.workloads import PAPER

    names = list(PAPER) if text is None else [name.strip() for name in text.split(",")]
    if unknown := [name for name in names if name not in PAPER]:
        raise click.BadParameter(f"{unknown[0]!r} is none of {', '.join(PAPER)}")
    return names


@click.command()
@server_options
@click.option(
    "--servers", callback=_counts, metavar="1,2,...",
    help="Measures servers of its own, each with so many tablet servers, instead of the one at --url.",
)  # fmt: skip
@click.option("--clients", type=click.IntRange(1, 256), help="Client processes. Default: as many as tablet servers.")
@click.option(
    "--rows", type=click.IntRange(10, 1_000_000), default=10_000, show_default=True, help="For each tablet server."
)
@click.option(
    "--value-bytes", type=click.IntRange(10, 1 << 20), default=1000, show_default=True, help="Bytes of each value."
)
@click.option("--workloads", callback=_workloads, metavar="NAME,...", help="Some of the six. Default: all.")
@click.option("--table", default="hbtable_bench", show_default=True, help="Made, as TABLE_mem, and dropped.")
@click.option("--svg", type=click.Path(dir_okay=False, path_type=Path), help="Draws the rates into this file.")
def bench(
    url: str,
    servers: list[int] | None,
    clients: int | None,
    rows: int,
    value_bytes: int,
    workloads: list[str],
    table: str,
    svg: Path | None,
) -> None:
    """Measures what the paper's figure 6 shows: random and sequential reads and writes, scans, and random reads from
    memory, one value a call, against any server of HBase's Thrift1.

    As in the paper's section 7 the rows are cut into ten pieces for each client, and a client that has finished one is
    given the next. Every value that is read is looked at. The rates stand beside the paper's.

    A server of --servers keeps its data in a temporary folder; HBTABLE_ variables configure it, and no file does."""
    from time import perf_counter

    from hbtable.shell.bench import report
    from hbtable.shell.bench.measuring import BenchOptions, measure
    from hbtable.shell.bench.picture import picture

    if servers is not None and click.get_current_context().get_parameter_source("url") is _GIVEN:
        raise click.UsageError("--servers starts servers of its own, and --url names one that runs: give one of them")
    name = table.encode("utf-8", "surrogateescape")
    options = BenchOptions(rows, value_bytes, clients, workloads, name)

    def tell(line: str) -> None:
        click.echo(line, err=True)

    with shown("" if servers else url):
        try:
            results = []
            for count in servers or [0]:
                with _own_server(count) if count else nullcontext(url) as address:
                    results.append(measure(address, options, perf_counter, tell))
        except KeyboardInterrupt:
            click.echo("broken off; the tables of the benchmark are dropped", err=True)
            sys.exit(130)
        click.echo(report.table(results, options))
        if svg is not None:
            svg.write_text(picture(results))


_GIVEN: Final = click.core.ParameterSource.COMMANDLINE


@contextmanager
def _own_server(count: int) -> Iterator[str]:
    """The address of a server with so many tablet servers, which ends with the with block."""
    from hbtable.launch.servers.started_server import started_server

    with started_server(count) as server:
        yield f"127.0.0.1:{server.port}"


COMMANDS: Final = (bench,)
