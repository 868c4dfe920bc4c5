"""Snapshots, which hbtable does not have yet: none exists, and every name of one is unknown."""

from hbtable.shell.context import Context, show_name, text_of
from hbtable.shell.errors import ShellError
from hbtable.shell.language.literals import Value

_TITLES = ("SNAPSHOT", "TABLE + CREATION TIME")


def snapshot(context: Context, arguments: list[Value]) -> Value:
    name = text_of(arguments[0], "a table name")
    if context.find_table(name) is None:
        raise ShellError(f"Table '{show_name(name)}' doesn't exist, can't take snapshot.")
    raise ShellError("snapshot is not there yet: hbtable has no snapshots")


def list_snapshots(context: Context, _: list[Value]) -> Value:
    context.out.begin(_TITLES)
    context.out.end(0)
    return []


def list_table_snapshots(context: Context, _: list[Value]) -> Value:
    context.out.begin(_TITLES)
    context.out.end(0)
    return []


def clone_snapshot(context: Context, arguments: list[Value]) -> Value:
    target = text_of(arguments[1], "a table name")
    if context.find_table(target) is not None:
        raise ShellError(f"Table already exists: {show_name(target)}!")
    raise _unknown(arguments[0])


def restore_snapshot(_: Context, arguments: list[Value]) -> Value:
    raise _unknown(arguments[0])


def delete_snapshot(_: Context, arguments: list[Value]) -> Value:
    raise _unknown(arguments[0])


def delete_all_snapshot(context: Context, arguments: list[Value]) -> Value:
    pattern = show_name(text_of(arguments[0], "a regular expression"))
    context.out.begin(_TITLES)
    context.out.say(f"No snapshots matched the regex {pattern}")
    return None


def delete_table_snapshots(context: Context, _: list[Value]) -> Value:
    context.out.begin(_TITLES)
    context.out.say("No snapshots matched the table name regex and the snapshot name regex")
    return None


def _unknown(value: Value) -> ShellError:
    return ShellError(f"Unknown snapshot {show_name(text_of(value, 'a snapshot'))}!")
