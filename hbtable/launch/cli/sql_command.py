"""`hbtable sql`: arguments and the form of answers; the work is hbtable.library.sql's."""

import json
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from hbtable.launch.cli.shell_commands import server_options
from hbtable.launch.cli.transfer_commands import shown, typed_columns

if TYPE_CHECKING:
    from hbtable.library.sql.query import Answer


@click.command()
@server_options
@click.option(
    "--columns",
    "declared",
    multiple=True,
    metavar="TABLE=F:Q=TYPE,...",
    help="Columns of a table, and their types.",
)
@click.option(
    "--format", "form", type=click.Choice(["table", "csv", "json"]), default="table", show_default=True,
    help="How the answer is written; json is an object a line.",
)  # fmt: skip
@click.argument("statement")
def sql(url: str, declared: tuple[str, ...], form: str, statement: str) -> None:
    """Answers STATEMENT, in DuckDB's SQL, over tables: select count(*), max("f:n") from t where row >= 'a'.

    A table has a field `row`, of bytes, and one for each of its columns, called family:qualifier. --columns says which
    there are, and how they are read: int8 to int64, uint8 to uint64, float, double, bool, text or bytes. Without it
    they are those of the first 1000 rows, as bytes. The server reads the rows that the conditions on `row` leave, and
    the columns that are needed."""
    import threading

    from hbtable.errors import HbtableError

    types = _types(declared)
    with shown(url):
        try:
            from hbtable.library.server_calls import ServerCalls
            from hbtable.library.sql.query import answer
            from hbtable.shell.connection import ShellConnection
        except ModuleNotFoundError as error:
            if error.name != "pyarrow":
                raise
            click.echo("hbtable sql needs pyarrow, which is not installed: pip install 'hbtable[sql]'", err=True)
            sys.exit(1)
        server = ServerCalls(ShellConnection(url), threading.Lock())
        try:
            _write(answer(server, statement, types), form)
        except HbtableError as error:
            from hbtable.model.visible import visible
            from hbtable.shell.errors import ShellError

            click.echo(visible(f"{type(error).__name__}: {error}", lines=True), err=True)
            sys.exit(error.__cause__.exit_code if isinstance(error.__cause__, ShellError) else 1)
        finally:
            server.close()


def _types(declared: Sequence[str]) -> dict[str, dict[bytes, str]]:
    """The types of columns, by table."""
    types: dict[str, dict[bytes, str]] = {}
    for table, columns in map(_declared, declared):
        if table in types:
            raise click.BadParameter(f"table {table} is named twice", param_hint="--columns")
        types[table] = columns
    return types


def _declared(text: str) -> tuple[str, dict[bytes, str]]:
    """The table, and the types of its columns."""
    table, equals, columns = text.partition("=")
    if not table or not equals:
        raise click.BadParameter(f"{text} is not TABLE=F:Q=TYPE,...", param_hint="--columns")
    return table, typed_columns(columns, "--columns")


# ---------------------------------------------------------------- answers


def _write(answer: "Answer", form: str) -> None:
    if form == "table":
        _write_table(answer.fields, [[_text(value) for value in row] for some in answer.rows for row in some])
        return
    if form == "json":
        _check_names(answer.fields)
    else:
        _write_line(answer.fields)
    for some in answer.rows:
        for row in some:
            if form == "csv":
                _write_line(["" if value is None else _field(value) for value in row])
            else:
                made = dict(zip(answer.fields, map(_plain, row), strict=True))
                click.echo(json.dumps(made, ensure_ascii=True, default=_text))


def _write_line(fields: Sequence[str]) -> None:
    """In CSV text stands as it is, as others read it; where a terminal would obey some of it, as a table shows it."""
    from hbtable.model.visible import visible
    from hbtable.shell.answers.csv_line import csv_line

    sys.stdout.write(csv_line(list(map(visible, fields)) if sys.stdout.isatty() else fields))


def _field(value: Any) -> str:
    return _text(value) if isinstance(value, bytes) else str(value)


def _check_names(fields: Sequence[str]) -> None:
    """InvalidRequest: an object of JSON would have one of the values."""
    from hbtable.errors import InvalidRequest

    twice = next((name for place, name in enumerate(fields) if name in fields[:place]), None)
    if twice is not None:
        raise InvalidRequest(f"two fields of the answer are called {twice!r}, and JSON has one: name them, as by AS")


def _write_table(fields: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(map(_text, fields), *rows, strict=True)]
    for row in ([_text(field) for field in fields], ["-" * width for width in widths], *rows):
        click.echo("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())
    click.echo(f"{len(rows)} row{'' if len(rows) == 1 else 's'}")


def _plain(value: Any) -> Any:
    """As JSON has it."""
    if isinstance(value, bytes):
        return _text(value)
    if isinstance(value, float) and value - value != 0:  # no number of JSON
        return str(value)
    return list(_values(value)) if isinstance(value, (list, tuple)) else value


def _values(values: Sequence[Any]) -> Iterator[Any]:
    return map(_plain, values)


def _text(value: Any) -> str:
    r"""Bytes as the shell shows them: \xHH for what cannot be seen."""
    from hbtable.model.visible import visible
    from hbtable.shell.answers.text import binary

    return binary(value) if isinstance(value, bytes) else "NULL" if value is None else visible(str(value))


COMMANDS: Final = (sql,)
