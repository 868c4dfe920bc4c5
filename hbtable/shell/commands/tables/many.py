"""disable_all, enable_all, drop_all: tables by a regular expression, after a question."""

from collections.abc import Callable

from hbtable.hbase.admin.structs import AdminTable
from hbtable.shell.commands.tables.listing import matching
from hbtable.shell.context import Context, show_name
from hbtable.shell.errors import ShellError
from hbtable.shell.language.literals import Value


def disable_all(context: Context, arguments: list[Value]) -> Value:
    return _each(context, arguments[0], "disable", lambda name: context.server.hbase("disableTable", name), "enabled")


def enable_all(context: Context, arguments: list[Value]) -> Value:
    return _each(context, arguments[0], "enable", lambda name: context.server.hbase("enableTable", name), "disabled")


def drop_all(context: Context, arguments: list[Value]) -> Value:
    return _each(context, arguments[0], "drop", lambda name: context.server.hbase("deleteTable", name), "")


def _each(context: Context, pattern: Value, word: str, act: Callable[[bytes], object], needed: str) -> Value:
    """`needed`: tables in another state are done already."""
    tables: list[AdminTable] = matching(context, pattern)
    if not tables:
        context.out.say(f"No tables matched the regex {show_name(pattern) if isinstance(pattern, bytes) else ''}")
        return None
    for table in tables:
        context.out.say(show_name(table.name))
    context.out.say("")
    if not context.confirm(f"{word.capitalize()} the above {len(tables)} tables (y/n)?"):
        return None
    failed = []
    for table in tables:
        if needed and table.state != needed:
            continue
        if word == "drop" and table.state == "enabled":
            failed.append(f"{show_name(table.name)} is enabled. Disable it first")
            continue
        try:
            act(table.name)
        except ShellError as error:
            failed.append(f"{show_name(table.name)}: {error}")
    if failed:
        raise ShellError(f"{len(failed)} of {len(tables)} tables were left as they were: {'; '.join(failed)}")
    past = {"disable": "disabled", "enable": "enabled", "drop": "dropped"}[word]
    context.out.say(f"{len(tables)} tables successfully {past}")
    return None
