"""One statement of SQL over tables, by DuckDB."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any, Final, NamedTuple

from hbtable.arrow.forms import TYPES
from hbtable.errors import HbtableError, InvalidRequest, TableNotFound
from hbtable.library.server_calls import Calls
from hbtable.library.server_table import ServerTable
from hbtable.library.sql.relation import TableRelation, wide_column
from hbtable.model.read import ScanRequest
from hbtable.model.values import shown

_MOST_TABLES: Final = 100
_CONFIG: Final = {
    "python_enable_replacements": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}
"""A name of the statement is no variable of this program, and nothing is fetched and run because of one."""
_ROWS_AT_ONCE: Final = 1000
_SAMPLED_ROWS: Final = 1000
_WORDS: Final = re.compile(r"""\"(?:[^"]|"")+"|'(?:[^']|'')+'|\w+""")
_OWN_VIEWS: Final = (
    "select lower(view_name) from duckdb_views() where internal and schema_name in ('main', 'pg_catalog')"
)
"""Views of DuckDB's that a statement reads by their names alone."""
_ABSENT: Final = re.compile(r"Table with name (.+?) does not exist")


class Answer(NamedTuple):
    """The fields of an answer, and its rows in lists of some."""

    fields: Sequence[str]
    rows: Iterator[Sequence[tuple[Any, ...]]]


Types = Mapping[str, Mapping[bytes, str]]
"""By table: a name of TYPES for each column, by `family:qualifier`."""


def answer(server: Calls, statement: str, types: Types) -> Answer:
    """Tables of the server are those of the statement. Of one without `types` the columns are those of its first rows,
    as bytes, and its rows are all of the table's. HbtableError."""
    duckdb = _duckdb()
    _check_single(duckdb, statement)
    connection = duckdb.connect(":memory:", config=_CONFIG)
    relations: dict[str, TableRelation] = {}
    unread = set(types)

    def refused(error: Exception) -> HbtableError:
        kept = next((one.error for one in relations.values() if one.error is not None), None)
        return kept or InvalidRequest(f"DuckDB refuses it: {error}")

    def add(name: str, table: str) -> None:
        if len(relations) >= _MOST_TABLES:
            raise InvalidRequest(f"the statement names more than {_MOST_TABLES} tables")
        relations[name] = _relation(server, table, types.get(table, {}))
        connection.register(name, relations[name])
        unread.discard(table)

    for name, table in _named(duckdb, connection, statement, server).items():
        add(name, table)
    while True:
        try:
            connection.execute(statement)
            break
        except duckdb.Error as error:
            absent = _absent(str(error)) if isinstance(error, duckdb.CatalogException) else None
            if absent is None or absent.lower() in relations:
                raise refused(error) from None
            add(absent.lower(), _table(absent, server.hbase("getTableNames")))
    if unread:
        raise InvalidRequest(
            f"columns are named of {min(unread)}, which the statement does not read: write the table's "
            "name as it is, capital and small letters too"
        )

    fields = [one[0] for one in connection.description or ()]

    def rows() -> Iterator[Sequence[tuple[Any, ...]]]:
        try:
            while found := connection.fetchmany(_ROWS_AT_ONCE):
                yield found
        except duckdb.Error as error:
            raise refused(error) from None

    return Answer(fields, rows())


def _named(duckdb: Any, connection: Any, statement: str, server: Calls) -> dict[str, str]:
    """The server's tables that the statement names, by their names in small letters. DuckDB is to know them before it
    runs the statement: a name that it does not know it may take for a file. InvalidRequest: the name is a file's, too.
    """
    every = _WORDS.findall(statement)
    words = {_unquoted(word) for word in every}
    try:
        names, qualified = (connection.get_table_names(statement, qualified=full) for full in (False, True))
    except duckdb.Error:
        # A kind of statement that it does not look into, as PIVOT. Whatever else is absent it says as it runs; of what
        # stands in quotes it may take a file.
        names = {_unquoted(word) for word in every if word.startswith('"')}
        qualified = {_quoted(word) for word in names}
    own = {name for (name,) in connection.execute(_OWN_VIEWS).fetchall()}
    named = sorted({*names, *(word for word in words if word.lower() in own)})
    tables = server.hbase("getTableNames") if named else ()
    known = {table.decode() for table in tables}
    found: dict[str, str] = {}
    for name in named:
        table = _table(name, tables)
        if table not in known or name.lower() in found:
            continue
        if not qualified.isdisjoint((name, _quoted(name))) and _is_file(duckdb, connection, name):
            raise InvalidRequest(
                f"there is a table {table} and a file {name} in this folder: write the table as main.{_quoted(name)}, "
                f"and the file as './{name}'"
            )
        found[name.lower()] = table
    return found


def _unquoted(word: str) -> str:
    quote = word[0]
    return word[1:-1].replace(quote * 2, quote) if quote in "\"'" else word


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _is_file(duckdb: Any, connection: Any, name: str) -> bool:
    """Whether DuckDB would read a file of this folder where a statement has this name, which is no pattern."""
    if not os.path.exists(name):
        return False
    try:
        connection.execute(f"explain from {_quoted(name)}")
    except duckdb.CatalogException:
        return False
    except duckdb.Error:
        pass
    return True


def _check_single(duckdb: Any, statement: str) -> None:
    """InvalidRequest: it is run again for each table that is found in it, and so would be the statements before."""
    try:
        number = len(duckdb.extract_statements(statement))
    except duckdb.Error as error:
        raise InvalidRequest(f"DuckDB refuses it: {error}") from None
    if number != 1:
        raise InvalidRequest(f"there are {number} statements, and one can be answered at a time")


def _duckdb() -> Any:
    try:
        return import_module("duckdb")
    except ModuleNotFoundError:
        raise InvalidRequest("hbtable sql needs duckdb, which is not installed: pip install 'hbtable[sql]'") from None


def _sampled(table: ServerTable) -> set[bytes]:
    """The columns of its first rows, of however many pages."""
    columns: set[bytes] = set()
    request, left = ScanRequest(max_rows=_SAMPLED_ROWS), _SAMPLED_ROWS
    while left > 0:
        page = table.scan_page(request)
        columns.update(column for _, cells in page.rows for column, _, _ in cells)
        left -= len(page.rows)
        if page.next is None:
            break
        request = replace(request, position=page.next, max_rows=max(left, 1))
    return columns


def _absent(message: str) -> str | None:
    found = _ABSENT.search(message)
    return None if found is None else found[1].strip('"')


def _table(name: str, tables: Sequence[bytes]) -> str:
    """The table that a statement means by this name, as the server calls it: SQL makes no difference between capital
    and small letters. InvalidRequest: there are two."""
    alike = sorted(other for table in tables if (other := table.decode()).lower() == name.lower())
    if alike[1:]:
        raise InvalidRequest(
            f"tables {alike[0]} and {alike[1]} have one name in SQL, which makes no difference between capital and "
            "small letters: write them to files by hbtable export"
        )
    return alike[0] if alike else name


def _check_column_case(table: str, columns: Iterable[bytes]) -> None:
    """InvalidRequest: DuckDB would call the second one of a name otherwise."""
    names: dict[bytes, bytes] = {}
    for column in sorted(columns):
        field = wide_column(column, TYPES["bytes"]).field_name
        other = names.setdefault(field.encode().lower(), column)  # ASCII's letters alone, as DuckDB
        if other != column:
            raise InvalidRequest(
                f"columns {shown(other)} and {shown(column)} of table {table} have one name in SQL, which makes no "
                "difference between capital and small letters: name those to be read by --columns, with one of these"
            )


def _relation(server: Calls, name: str, types: Mapping[bytes, str]) -> TableRelation:
    table = ServerTable(server, name.encode("utf-8", "surrogateescape"))
    record = table.record()  # TableNotFound
    columns = dict(types)
    if not columns:
        columns = dict.fromkeys(_sampled(table), "bytes")
    if not columns:
        raise TableNotFound(f"table {shown(table.name)} has no rows, of which its columns could be learned: name them")
    for column, type in columns.items():
        if b":" not in column or type not in TYPES:
            raise InvalidRequest(
                f"column {shown(column)} of table {name} is to be read as {type}: columns are family:qualifier, and "
                f"read as one of {', '.join(TYPES)}"
            )
    _check_column_case(name, columns)
    families = () if types else sorted(record.schema.families)
    return TableRelation(table, [wide_column(column, TYPES[columns[column]]) for column in sorted(columns)], families)
