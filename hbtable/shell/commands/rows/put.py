"""put 't', 'r', 'f:q', 'value' [, timestamp] [, {TTL => millis, ATTRIBUTES => {...}}]"""

from hbtable.hbase.admin.structs import AdminOperation
from hbtable.model.mutation import PUT
from hbtable.shell.arguments import columns
from hbtable.shell.arguments.names import table_of
from hbtable.shell.arguments.options import check_attributes, whole
from hbtable.shell.context import Context, row_of
from hbtable.shell.errors import ArgumentError, ServerError
from hbtable.shell.language.literals import Value, inspect, shown


def put(context: Context, arguments: list[Value]) -> Value:
    table, row, column, value, *rest = arguments
    timestamp, given = timed(rest, "put")
    family, qualifier = columns.one(column)
    ttl = whole(given.get(b"TTL", 0), "TTL")
    content = value if isinstance(value, bytes) else shown(value).encode()
    operation = AdminOperation(PUT, family, qualifier, timestamp, content)
    name = table_of(table)
    context.on_table(name, "adminMutate", row_of(row), [operation], ttl)
    return None


def timed(rest: list[Value], what: str) -> tuple[int, dict[Value, Value]]:
    """(timestamp or -1, options) from the end of a command's arguments."""
    given: dict[Value, Value] = {}
    if rest and isinstance(rest[-1], dict):
        given = rest[-1]
        rest = rest[:-1]
    check_attributes(given)
    if len(rest) > 1:
        raise ArgumentError(
            f"the options of {what} are a hash such as {{ATTRIBUTES => {{...}}}}, not {inspect(rest[1])}"
        )
    if not rest or rest[0] is None:
        return -1, given
    if not isinstance(rest[0], (int, float)) or isinstance(rest[0], bool):
        raise ArgumentError(f"the timestamp of {what} is a number of milliseconds since 1970, not {inspect(rest[0])}")
    timestamp = whole(int(rest[0]), "a timestamp")
    if timestamp < 0:  # the server would take -1 for now
        raise ServerError("java.lang.IllegalArgumentException", f"Timestamp cannot be negative. ts={timestamp}")
    return timestamp, given
