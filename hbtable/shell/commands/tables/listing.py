"""list and its kin: tables by a regular expression that must match the whole name."""

import re

from hbtable.hbase.admin.structs import AdminTable
from hbtable.shell.commands.tables.states import is_on
from hbtable.shell.context import Context, show_name, text_of
from hbtable.shell.errors import ArgumentError
from hbtable.shell.language.literals import Value

SHOWN_FILTERS = (
    "DependentColumnFilter KeyOnlyFilter ColumnCountGetFilter SingleColumnValueFilter PrefixFilter "
    "SingleColumnValueExcludeFilter FirstKeyOnlyFilter ColumnRangeFilter ColumnValueFilter TimestampsFilter "
    "FamilyFilter QualifierFilter ColumnPrefixFilter RowFilter MultipleColumnPrefixFilter InclusiveStopFilter "
    "PageFilter ValueFilter ColumnPaginationFilter"
)


def pattern_of(value: Value) -> re.Pattern[str]:
    source = text_of(value, "a regular expression").decode("utf-8", "surrogateescape")
    try:
        return re.compile(source)
    except re.error as error:
        raise ArgumentError(f"{source!r} is no regular expression: {error}") from None


def matching(context: Context, pattern: Value) -> list[AdminTable]:
    wanted = pattern_of(pattern)
    tables: list[AdminTable] = context.server.admin("adminTables")
    return [table for table in tables if _matches(wanted, show_name(table.name))]


def _matches(wanted: re.Pattern[str], name: str) -> bool:
    """A table of the default namespace is found by `default:...`, too. (HBase tries that name for every expression,
    so that its drop_all 'd.*' means all tables.)"""
    if wanted.fullmatch(name):
        return True
    return ":" in wanted.pattern and ":" not in name and bool(wanted.fullmatch(f"default:{name}"))


def list_tables(context: Context, arguments: list[Value]) -> Value:
    context.out.begin(("TABLE",))
    return _show(context, matching(context, arguments[0] if arguments else b".*"))


def list_enabled(context: Context, _: list[Value]) -> Value:
    context.out.begin(("TABLE",))
    return _show(context, [table for table in matching(context, b".*") if is_on(table)])


def list_disabled(context: Context, _: list[Value]) -> Value:
    context.out.begin(("TABLE",))
    return _show(context, [table for table in matching(context, b".*") if not is_on(table)])


def _show(context: Context, tables: list[AdminTable]) -> Value:
    for table in tables:
        context.out.row((show_name(table.name),), {"table": table.name, "state": table.state})
    context.out.end(len(tables))
    return [table.name for table in tables]


def show_filters(context: Context, _: list[Value]) -> Value:
    for name in SHOWN_FILTERS.split():
        context.out.row((name,), {"filter": name})
    return None
