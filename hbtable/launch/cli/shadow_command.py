"""`hbtable shadow`: arguments only, the work is hbtable.shell.shadow's."""

import sys
from pathlib import Path
from typing import Final

import click

from hbtable.launch.cli.cluster_commands import INSECURE_HELP
from hbtable.launch.cli.transfer_commands import Seconds, shown


@click.command()
@click.option("--primary", required=True, metavar="ADDRESS", help="thrift://HOST:PORT that answers; today's server.")
@click.option("--secondary", required=True, metavar="ADDRESS", help="thrift://HOST:PORT that is tried out.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=9090, show_default=True, help="0 picks a free one.")
@click.option(
    "--report",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("hbtable-shadow.jsonl"),
    show_default=True,
    help="Written anew as it goes.",
)
@click.option("--every", type=Seconds(), default=10.0, show_default=True, help="Seconds between two reports.")
@click.option(
    "--wait", type=Seconds(), default=0.05, show_default=True,
    help="Seconds that an answer waits at most while the secondary is too far behind.",
)  # fmt: skip
@click.option("--timeout", type=Seconds(), default=10.0, show_default=True, help="Seconds for the secondary's calls.")
@click.option("--clocks", type=Seconds(), default=60.0, show_default=True, help="Seconds that clocks differ.")
@click.option("--insecure", is_flag=True, help=INSECURE_HELP)
def shadow(
    primary: str,
    secondary: str,
    host: str,
    port: int,
    report: Path,
    every: float,
    wait: float,
    timeout: float,
    clocks: float,
    insecure: bool,
) -> None:
    """Answers HBase's clients from one server, repeats each call on another, and reports what differs.

    The primary alone decides what clients see: its answer goes out before the secondary is asked. Clients of Thrift1
    connect to this command as they did to the primary, in whatever transport and protocol.

    Ctrl-C or SIGTERM ends it, with a table of all methods. Exit codes: 0 nothing differs of what was compared, 1
    something does, or it failed, 3 a server does not answer, 4 nothing was compared. What is compared, and how, is in
    the manual: docs/manual/migration.md."""
    import signal
    import threading
    from time import perf_counter, sleep, time_ns

    from hbtable.launch.exposure import refuse_exposed_proxy
    from hbtable.model.visible import visible
    from hbtable.shell.address import parse_address
    from hbtable.shell.shadow.shadowing import ShadowOptions, run_shadow
    from hbtable.shell.shadow.tally import Verdict

    if not insecure:
        refuse_exposed_proxy(host)
    try:
        addresses = parse_address(primary), parse_address(secondary)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if addresses[0][:2] == addresses[1][:2]:
        raise click.UsageError("--primary and --secondary are one server: there is nothing to compare")
    end = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: end.set())
    options = ShadowOptions(*addresses, host, port, report, every, wait, timeout, clocks)

    def say(line: str) -> None:
        click.echo(visible(line, lines=True), err=True)

    with shown():
        found = run_shadow(options, perf_counter, sleep, lambda: time_ns() // 1_000_000, end.wait, say)
        sys.exit({Verdict.ALIKE: 0, Verdict.DIFFERENT: 1, Verdict.NOTHING: 4}[found])


COMMANDS: Final = (shadow,)
