"""splitormerge_switch, splitormerge_enabled: whether regions may be split, by themselves too, or merged."""

from typing import Final

from hbtable.shell.context import Context
from hbtable.shell.errors import ArgumentError
from hbtable.shell.language.literals import Value, shown

_KINDS: Final = {b"SPLIT": b"splits", b"MERGE": b"merges"}


def splitormerge_switch(context: Context, arguments: list[Value]) -> Value:
    """Prints what it was before."""
    kind = _kind(arguments[0])
    return _answer(context, "previous", bool(context.server.admin("adminSwitch", kind, is_true(arguments[1]))))


def splitormerge_enabled(context: Context, arguments: list[Value]) -> Value:
    return _answer(context, "enabled", bool(context.server.admin("adminIsOn", _kind(arguments[0]))))


def is_true(value: Value) -> bool:
    """As HBase's shell reads the position of a switch: true, also in quotes, and anything else is off."""
    return shown(value).lower() == "true"


def _kind(value: Value) -> bytes:
    kind = _KINDS.get(value) if isinstance(value, bytes) else None
    if kind is None:
        raise ArgumentError("only SPLIT or MERGE accepted for type!")
    return kind


def _answer(context: Context, title: str, value: bool) -> bool:
    context.out.row((str(value).lower(),), {title: value})
    return value
