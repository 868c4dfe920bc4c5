"""create 't', families and options; clone_table_schema."""

from hbtable.hbase.admin.structs import AdminFamily, AdminTable
from hbtable.model.names import is_system, parse
from hbtable.model.schema_limits import many_families
from hbtable.shell.arguments import schema, splits
from hbtable.shell.arguments.names import table_of
from hbtable.shell.commands.tables.references import TableReference
from hbtable.shell.context import Context, show_name, text_of, unknown_namespace
from hbtable.shell.errors import ArgumentError, ServerError, ShellError
from hbtable.shell.language.literals import Value, class_of, inspect, shown


def create(context: Context, arguments: list[Value]) -> Value:
    name = table_of(arguments[0])
    say = context.out.say
    families: dict[bytes, AdminFamily] = {}
    table = AdminTable(name)
    rows: list[bytes] = []
    for argument in _flat(arguments[1:]):
        given: dict[Value, Value] = {b"NAME": argument} if isinstance(argument, bytes) else _hash(argument)
        family_name = given.pop(b"NAME", None)
        if family_name is None and given.pop(b"METHOD", b"table_att") != b"table_att":
            raise ArgumentError("table_att is currently the only supported method")
        if family_name is None:
            if b"SPLITS_FILE" in given:  # HBase remembers where from
                kept = {**(table.attributes or {}), "SPLITS_FILE": shown(given[b"SPLITS_FILE"])}
                table = table._replace(attributes=kept)
            rows += splits.from_hash(given)
            table = schema.table_attributes(given, table, say)
            continue
        family = AdminFamily(text_of(family_name, "a column family"))
        family = schema.family(given, family, say)
        if family.name in families:
            say(f"Family '{show_name(family.name)}' already exists, the old one will be replaced")
        families[family.name] = family
    if not families:
        raise ArgumentError("Table must have at least one column family")
    make(context, table._replace(families=list(families.values())), rows)
    say(f"Created table {show_name(name)}")
    if is_system(parse(name)):
        context.out.note(
            f"{show_name(name)} is in the namespace of the system's tables, as HBase lets it be: no list of tables "
            "shows it, and hbtable copy takes it only when --tables names it"
        )
    note_many_families(context, name, len(families))
    return TableReference(name)


def note_many_families(context: Context, name: bytes, families: int, before: int = 0) -> None:
    """Says what so many column families cost, where they are many. `before`: so many there were."""
    warning = many_families(show_name(name), families, before)
    if warning:
        context.out.note(warning)


def make(context: Context, table: AdminTable, rows: list[bytes]) -> None:
    """`Table already exists: X!`, `Unknown namespace N!`"""
    shown = show_name(table.name)
    try:
        context.server.admin("adminCreateTable", table, rows)
    except ServerError as error:
        if error.java_class.endswith(".TableExistsException"):
            raise ShellError(f"Table already exists: {shown}!") from None
        if error.java_class.endswith(".NamespaceNotFoundException"):
            raise unknown_namespace(table.name) from None
        raise


def clone_table_schema(context: Context, arguments: list[Value]) -> Value:
    """Families, options and, unless the third argument is false, the splits."""
    source, target, *rest = arguments
    name, new = table_of(source), table_of(target)
    table = context.table(name)
    rows: list[bytes] = []
    if not rest or rest[0] is not False:
        tablets = context.server.admin("adminTablets", name)
        rows = [tablet.start_row for tablet in tablets if tablet.start_row]
    make(context, table._replace(name=new, version=1, state=""), rows)
    note_many_families(context, new, len(table.families or ()))
    return None


def _flat(values: list[Value]) -> list[Value]:
    """Arrays are their elements, nil is nothing."""
    found: list[Value] = []
    for value in values:
        found += _flat(value) if isinstance(value, list) else [] if value is None else [value]
    return found


def _hash(argument: Value) -> dict[Value, Value]:
    if not isinstance(argument, dict):
        raise ArgumentError(f"{class_of(argument)} of {inspect(argument)} is not of Hash or String type")
    return dict(argument)
