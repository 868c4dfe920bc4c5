"""normalize, normalizer_switch, normalizer_enabled: small and emptied neighbours are merged."""

from typing import Final

from hbtable.shell.commands.cluster.switches import is_true
from hbtable.shell.commands.tables.listing import matching
from hbtable.shell.context import Context, text_of
from hbtable.shell.errors import ArgumentError
from hbtable.shell.language.literals import Value

_META: Final = b"hbase:meta"


def normalize(context: Context, arguments: list[Value]) -> Value:
    given = arguments[0] if arguments else {}
    if not isinstance(given, dict):
        raise ArgumentError("normalize takes a hash: TABLE_NAME, TABLE_NAMES, REGEX, NAMESPACE")
    if not given:
        return _answer(context, "normalized", bool(context.server.admin("adminNormalize", [])))
    names = _wanted(context, given)
    method, *values = ("adminNormalize", names) if names else ("adminNormalizerEnabled",)
    return _answer(context, "normalized", bool(context.server.admin(method, *values)))


def normalizer_switch(context: Context, arguments: list[Value]) -> Value:
    """Prints what it was before."""
    return _answer(context, "previous", bool(context.server.admin("adminNormalizerSwitch", is_true(arguments[0]))))


def normalizer_enabled(context: Context, _: list[Value]) -> Value:
    return _answer(context, "enabled", bool(context.server.admin("adminNormalizerEnabled")))


def _wanted(context: Context, given: dict[Value, Value]) -> list[bytes]:
    """Of the tables that fit REGEX, or all, those that fit the others as well."""
    found = [table.name for table in matching(context, given.get(b"REGEX", b".*"))]
    listed = given.get(b"TABLE_NAMES", given.get(b"TABLE_NAME"))
    if listed is not None:
        names = listed if isinstance(listed, list) else [listed]
        wanted = {text_of(name, "a table's name").removeprefix(b"default:") for name in names}
        found = [name for name in found if name in wanted]
        if _META in wanted and set(given) <= {b"TABLE_NAME", b"TABLE_NAMES"}:
            found.append(_META)  # no list of tables has it, and none but who names it means it
    if (space := given.get(b"NAMESPACE")) is not None:
        prefix = text_of(space, "a namespace's name")
        found = [name for name in found if (name.rpartition(b":")[0] or b"default") == prefix]
    return found


def _answer(context: Context, title: str, value: bool) -> bool:
    context.out.row((str(value).lower(),), {title: value})
    return value
