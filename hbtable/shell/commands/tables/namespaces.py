"""create_namespace, alter_namespace, describe_namespace, drop_namespace, list_namespace, list_namespace_tables."""

from hbtable.shell.arguments.names import namespace_of
from hbtable.shell.commands.quotas import say_quotas
from hbtable.shell.commands.tables.listing import pattern_of
from hbtable.shell.context import Context, show_name, unknown_namespace
from hbtable.shell.errors import ArgumentError, ServerError, ShellError
from hbtable.shell.language.literals import Value, class_of, inspect, shown


def create(context: Context, arguments: list[Value]) -> Value:
    name = namespace_of(arguments[0])
    properties: dict[str, str] = {}
    for argument in arguments[1:]:
        if not isinstance(argument, dict):
            raise ArgumentError(f"{class_of(argument)} of {inspect(argument)} is not of Hash or String type")
        properties.update({shown(key): shown(value) for key, value in argument.items()})
    if name in (b"default", b"hbase"):  # the server takes their creation for done
        raise ServerError(
            "org.apache.hadoop.hbase.NamespaceExistException", f"Namespace {show_name(name)} already exists"
        )
    context.server.admin("adminCreateNamespace", name, properties)
    return None


def alter(context: Context, arguments: list[Value]) -> Value:
    name = namespace_of(arguments[0])
    properties = _properties(context, name)
    for argument in arguments[1:]:
        if not isinstance(argument, dict):
            raise ArgumentError(f"{class_of(argument)} of {inspect(argument)} is not of Hash type")
        given = dict(argument)
        method = given.pop(b"METHOD", None)
        if method == b"set":
            properties.update({shown(key): shown(value) for key, value in given.items()})
        elif method == b"unset":
            if given.get(b"NAME") is None:
                raise ArgumentError("NAME parameter missing for unset method")
            properties.pop(shown(given.get(b"NAME")), None)
        else:
            raise ArgumentError(f"Unknown method {shown(method)}")
    context.server.admin("adminAlterNamespace", name, properties)
    return None


def describe(context: Context, arguments: list[Value]) -> Value:
    name = namespace_of(arguments[0])
    properties = _properties(context, name)
    context.out.begin(("DESCRIPTION",))
    parts = [f"NAME => '{show_name(name)}'", *(f"{key} => '{properties[key]}'" for key in sorted(properties))]
    context.out.row((f"{{{', '.join(parts)}}}",), {"namespace": name, **properties})
    say_quotas(context, "namespace", name)
    return None


def drop(context: Context, arguments: list[Value]) -> Value:
    name = namespace_of(arguments[0])
    try:
        context.server.admin("adminDeleteNamespace", name)
    except ServerError as error:
        raise _known(error, name) from None
    return None


def list_namespaces(context: Context, arguments: list[Value]) -> Value:
    wanted = pattern_of(arguments[0] if arguments else b".*")
    context.out.begin(("NAMESPACE",))
    names = [name for name in context.server.admin("adminNamespaces") if wanted.search(show_name(name))]
    for name in names:
        context.out.row((show_name(name),), {"namespace": name})
    context.out.end(len(names))
    return None


def list_tables(context: Context, arguments: list[Value]) -> Value:
    namespace = namespace_of(arguments[0])
    context.out.begin(("TABLE",))
    _properties(context, namespace)
    found = []
    for table in context.server.admin("adminTables"):
        before, colon, after = table.name.partition(b":")
        if (before if colon else b"default") == namespace:
            found.append(after if colon else table.name)
    for name in found:
        context.out.row((show_name(name),), {"table": name})
    context.out.end(len(found))
    return found


def _properties(context: Context, name: bytes) -> dict[str, str]:
    try:
        found: dict[str, str] = context.server.admin("adminNamespace", name)
    except ServerError as error:
        raise _known(error, name) from None
    return dict(found)


def _known(error: ServerError, name: bytes) -> ShellError:
    if error.java_class.endswith(".NamespaceNotFoundException"):
        return unknown_namespace(name)
    return error
