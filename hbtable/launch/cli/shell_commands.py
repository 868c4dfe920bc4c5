"""`hbtable shell` and its one-shot forms get, put, scan, count, list...: arguments only, the work is
hbtable.shell's.

Exit codes: 0 fine, 1 the command failed, 2 misuse, 3 no server answers.
"""

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, Final, NamedTuple

import click

_ADDRESS: Final = "127.0.0.1:9090"
_FORMATS: Final = click.Choice(["hbase", "table", "json", "jsonl", "csv"])
_Function = Callable[..., None]


def _name(text: str) -> bytes:
    """The bytes that stood on the command line, also those that are no UTF-8."""
    return text.encode("utf-8", "surrogateescape")


def _cell_bytes(text: str) -> bytes:
    r"""A row, column or value as answers show it: the four characters \xHH are one byte."""
    from hbtable.shell.answers.text import from_binary

    return from_binary(_name(text))


def _column(text: str) -> object:
    """A column as answers show it: whatever follows its first colon is the qualifier."""
    from hbtable.shell.arguments.columns import undivided

    if not text:
        raise click.BadParameter("a column is written FAMILY or FAMILY:QUALIFIER: there is nothing in its place")
    return undivided(_cell_bytes(text))


class _Server(NamedTuple):
    """The options by which a command is told of its server, as they were given."""

    url: str
    tls: bool
    ca: str | None
    certificate: str | None
    user: str | None
    secret: str | None
    plain_text: bool


def server_options(function: _Function, kinds: bool = False) -> _Function:
    """Options of every command that talks to a server. `kinds`: its address may begin with thrift1:// or thrift2://,
    for those services of HBase's."""

    @wraps(function)
    def with_address(**given: Any) -> None:
        server = _Server(**{name: given.pop(name) for name in _Server._fields})
        function(url=_address_of_a_kind(server) if kinds else _address(server), **given)

    for option in (
        click.option(
            "--plain-text",
            is_flag=True,
            envvar="HBTABLE_PLAIN_TEXT",
            help="Sends it to another machine without TLS as well, where others can read it on the way.",
        ),
        click.option(
            "--secret", metavar="FILE", help="Its password or token; else HBTABLE_SECRET, or it is asked for."
        ),
        click.option("--user", envvar="HBTABLE_USER", metavar="NAME", help="The user, where the server has users."),
        click.option(
            "--certificate", envvar="HBTABLE_TLS_CERTIFICATE", metavar="FILE", help="Own certificate and key."
        ),
        click.option("--ca", envvar="HBTABLE_TLS_CA", metavar="FILE", help="The CA of the server's certificate."),
        click.option("--tls", is_flag=True, envvar="HBTABLE_TLS", help="Over TLS. --ca and --certificate say so, too."),
        click.option(
            "--url", metavar="HOST:PORT", envvar="HBTABLE_URL", default=_ADDRESS, show_default=True, help="The server."
        ),
    ):
        with_address = option(with_address)
    return with_address


def _address(server: _Server) -> str:
    """All of it in one text. Misuse, before anything is tried."""
    from hbtable.shell.address import parse_address

    try:
        address = parse_address(server.url)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--url") from None
    if server.secret and not (server.user or address.user):
        raise click.BadParameter("whose it is has to be said: give --user NAME as well", param_hint="--secret")
    return str(
        address._replace(
            tls=address.tls or server.tls or bool(server.ca or server.certificate),
            ca=server.ca or address.ca,
            certificate=server.certificate or address.certificate,
            user=server.user or address.user,
            secret=server.secret or address.secret,
            plain_text=server.plain_text or address.plain_text,
        )
    )


def peer_options(function: _Function) -> _Function:
    """Options of a command whose server may be a real HBase, by either of its services."""
    return server_options(function, kinds=True)


def _address_of_a_kind(server: _Server) -> str:
    kind, found, _ = server.url.partition("://")
    service = kind.partition("+")[0]
    if not found or service not in ("thrift1", "thrift2"):
        return _address(server)
    plain = _address(server._replace(url=server.url.replace(service, "thrift", 1)))
    return plain.replace("thrift", service, 1) if "://" in plain else f"{service}://{plain}"


def _format_option(function: _Function) -> _Function:
    option = click.option(
        "--format", "form", type=_FORMATS, default="hbase", show_default=True, help="How answers are written."
    )
    return option(function)


@click.command()
@server_options
@_format_option
@click.option("-n", "--noninteractive", is_flag=True, help="Reads commands from standard input, asks nothing.")
@click.option("-e", "commands", multiple=True, metavar="COMMAND", help="Runs this command. May be given several times.")
@click.option("--echo", is_flag=True, help="Prints prompts and the lines read, as HBase's shell does.")
@click.option("--yes", is_flag=True, help="Answers the questions of drop_all and its kin.")
@click.argument("file", required=False)
def shell(
    url: str, form: str, noninteractive: bool, commands: tuple[str, ...], echo: bool, yes: bool, file: str | None
) -> None:
    """The HBase shell: at a terminal, or running FILE, or commands from standard input."""
    from hbtable.shell.invocation import ShellOptions
    from hbtable.shell.main import run_shell

    sys.exit(run_shell(ShellOptions(url, commands, file, not noninteractive, form, echo, yes)))


@click.command()
@server_options
@_format_option
@click.argument("table")
@click.argument("row")
@click.argument("columns", nargs=-1)
@click.option("--versions", type=click.IntRange(1), default=1, help="How many of each column.")
def get(url: str, form: str, table: str, row: str, columns: tuple[str, ...], versions: int) -> None:
    r"""Shows the cells of one row. ROW and COLUMNS may hold \xHH for a byte, as answers show it."""
    arguments: list[object] = [_name(table), _cell_bytes(row)]
    if columns:
        arguments.append({b"COLUMN": [_column(column) for column in columns], b"VERSIONS": versions})
    elif versions > 1:
        arguments.append({b"TIMERANGE": [0, 2**63 - 1], b"VERSIONS": versions})
    _run(url, form, "get", arguments)


@click.command()
@server_options
@_format_option
@click.argument("table")
@click.argument("row")
@click.argument("column")
@click.argument("value")
@click.option("--timestamp", type=int, help="Milliseconds since 1970. Default: the server's time.")
def put(url: str, form: str, table: str, row: str, column: str, value: str, timestamp: int | None) -> None:
    r"""Writes one cell. ROW, COLUMN and VALUE may hold \xHH for a byte, as answers show it; \x5C is a backslash."""
    _run(url, form, "put", [_name(table), _cell_bytes(row), _column(column), _cell_bytes(value), timestamp])


def _scan_options(function: _Function) -> _Function:
    """`function` gets them as one, `options`, in the form of the shell's hash."""

    @wraps(function)
    def command(**given: Any) -> None:
        named = {name: given.pop(name) for name in ("start", "stop", "prefix", "filter_text", "columns")}
        function(options=_scan_hash(**named), **given)

    for option in (
        click.option("--columns", multiple=True, metavar="FAMILY[:QUALIFIER]", help="Only these."),
        click.option("--filter", "filter_text", help="In the filter language, such as \"PrefixFilter('a')\"."),
        click.option("--prefix", help="Rows that begin so, without --start and --stop."),
        click.option("--stop", help="Up to this row, not included; with --reversed down to it."),
        click.option("--start", help="From this row."),
    ):
        command = option(command)
    return command


@click.command()
@server_options
@_format_option
@_scan_options
@click.argument("table")
@click.option("--limit", type=click.IntRange(1), help="How many rows at most.")
@click.option("--versions", type=click.IntRange(1), default=1, help="How many of each column.")
@click.option("--reversed", "backwards", is_flag=True, help="From the last row to the first.")
def scan(
    url: str, form: str, table: str, limit: int | None, versions: int, backwards: bool, options: dict[object, object]
) -> None:
    """Shows rows in order."""
    more: dict[object, object] = {
        b"LIMIT": -1 if limit is None else limit,
        b"VERSIONS": versions,
        b"REVERSED": backwards,
    }
    _run(url, form, "scan", [_name(table), {**options, **more}])


@click.command()
@server_options
@_format_option
@_scan_options
@click.argument("table")
def count(url: str, form: str, table: str, options: dict[object, object]) -> None:
    """Counts rows."""
    _run(url, form, "count", [_name(table), options])


def _scan_hash(
    start: str | None, stop: str | None, prefix: str | None, filter_text: str | None, columns: tuple[str, ...]
) -> dict[object, object]:
    from hbtable.shell.arguments.options import RowsOfPrefix

    if prefix is not None and not (start is stop is None):
        raise click.UsageError("--prefix says from where to where: leave --start and --stop out, or --prefix")
    rows = {b"STARTROW": start, b"STOPROW": stop}
    given: dict[object, object] = {key: _cell_bytes(value) for key, value in rows.items() if value is not None}
    if prefix is not None:
        given[b"ROWPREFIXFILTER"] = RowsOfPrefix(_cell_bytes(prefix))
    if filter_text is not None:
        given[b"FILTER"] = _name(filter_text)
    if columns:
        given[b"COLUMNS"] = [_column(column) for column in columns]
    return given


def _run(url: str, form: str, name: str, arguments: list[object]) -> None:
    from hbtable.shell.invocation import ShellOptions
    from hbtable.shell.main import run_one

    sys.exit(run_one(ShellOptions(url, format=form, quiet=True), name, arguments))


_PLAIN: Final = {
    "list": ("[REGEX]", "Lists tables."),
    "exists": ("TABLE", "Says whether there is such a table."),
    "describe": ("TABLE", "Shows a table's options and families."),
    "status": ("[simple|detailed]", "Shows how the cluster is."),
    "why": ("TABLE ROW", "Shows where a row's tablet is, and the events that brought it there."),
    "create": ("TABLE FAMILY...", 'Creates a table; for options use the shell: hbtable shell -e "create ...".'),
    "disable": ("TABLE", "Takes a table out of service."),
    "enable": ("TABLE", "Puts a disabled table back into service."),
    "drop": ("TABLE", "Removes a disabled table and all it holds."),
    "truncate": ("TABLE", "Empties a table."),
    "delete": ("TABLE ROW FAMILY:QUALIFIER [TIMESTAMP]", "Removes one version of a cell."),
    "deleteall": ("TABLE ROW [FAMILY[:QUALIFIER]] [TIMESTAMP]", "Removes a row, a family or a column of it."),
    "incr": ("TABLE ROW FAMILY:QUALIFIER [AMOUNT]", "Adds to a counter; a negative amount goes behind --."),
    "get_counter": ("TABLE ROW FAMILY:QUALIFIER", "Shows a counter."),
    "append": ("TABLE ROW FAMILY:QUALIFIER VALUE", "Writes bytes behind a cell's value."),
    "grant": (
        "USER|@GROUP RWXCA [@NAMESPACE|TABLE [FAMILY [QUALIFIER]]]",
        "Gives permissions: letters of RWXCA (read, write, execute, create, administer).",
    ),
    "revoke": ("USER|@GROUP [@NAMESPACE|TABLE [FAMILY [QUALIFIER]]]", "Takes permissions back."),
    "user_permission": ("[REGEX|@REGEX]", "Shows permissions: everywhere, on tables, or on namespaces."),
    "whoami": ("", "Shows for whom the server takes you."),
}
_OF_CELLS: Final = ("delete", "deleteall", "incr", "get_counter", "append")
"""Row, column and value come behind the table's name. `why` reads \\xHH by itself."""
_NUMBERED: Final = ("delete", "deleteall", "incr")
"""Their fourth argument is a number."""


def _plain(name: str, syntax: str, what: str) -> click.Command:
    """A command that takes names only, as the shell's command of that name does."""

    @click.command(name, help=what)
    @server_options
    @_format_option
    @click.argument("arguments", nargs=-1, metavar=syntax)
    def run(url: str, form: str, arguments: tuple[str, ...]) -> None:
        of_cells = _cell_bytes if name in _OF_CELLS else _name
        values: list[object] = [*map(_name, arguments[:1]), *map(of_cells, arguments[1:])]
        if name in _OF_CELLS and len(arguments) > 2:
            values[2] = _column(arguments[2])
        if name in _NUMBERED and len(arguments) > 3:
            if not arguments[3].removeprefix("-").isdigit():
                raise click.BadParameter(f"{arguments[3]!r} is no whole number")
            values[3] = int(arguments[3])
        _run(url, form, name, values)

    return run


COMMANDS: Final = (shell, get, put, scan, count, *(_plain(name, *texts) for name, texts in _PLAIN.items()))
