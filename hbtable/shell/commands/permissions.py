"""grant, revoke, user_permission: who may do what."""

import re

from hbtable.hbase.admin.structs import AdminGrant, AdminTable
from hbtable.shell.arguments.names import table_of
from hbtable.shell.context import Context, show_name
from hbtable.shell.errors import ArgumentError, ServerError, ShellError, UnknownName
from hbtable.shell.language.literals import Value, class_of, shown

_NAMES = {"R": "READ", "W": "WRITE", "X": "EXEC", "C": "CREATE", "A": "ADMIN"}
_NOT_ENABLED = "access control is not enabled"


def grant(context: Context, arguments: list[Value]) -> Value:
    holder, actions, *where = _filled(arguments, 5)
    if not isinstance(holder, bytes):
        raise ArgumentError("First argument should be a String")
    if isinstance(actions, dict):
        raise ArgumentError("hbtable has no permissions of single cells: grant them on a column instead")
    if not isinstance(actions, bytes):
        raise ArgumentError("Second argument should be a String or Hash")
    if not actions:
        raise ArgumentError("Invalid permission: no actions associated with user")
    _change(context, "adminGrant", _wanted(context, holder, actions, where), False)
    return None


def revoke(context: Context, arguments: list[Value]) -> Value:
    holder, *where = _filled(arguments, 4)
    if not isinstance(holder, bytes):
        raise UnknownName(f"no method 'revoke' for a user that is a {class_of(holder)}, not a String")
    _change(context, "adminRevoke", _wanted(context, holder, b"", where))
    return None


def user_permission(context: Context, arguments: list[Value]) -> Value:
    context.out.begin(("User", "Namespace,Table,Family,Qualifier:Permission"))
    found: list[AdminGrant] = []
    for place in _places(context, arguments[0] if arguments else None):
        try:
            found += context.server.admin("adminGrants", place)
        except ServerError as error:
            if _NOT_ENABLED not in str(error):
                raise
    for one in found:
        rights = ",".join(_NAMES[letter] for letter in one.actions)
        where = f"{_place(one)}: [Permission: actions={rights}]"
        context.out.row((one.holder, where), {"user": one.holder, **one._asdict()})
    context.out.end(len(found))
    return None


def _filled(arguments: list[Value], count: int) -> list[Value]:
    missing: list[Value] = [None] * (count - len(arguments))
    return arguments + missing


def _change(context: Context, method: str, *arguments: object) -> None:
    try:
        context.server.admin(method, *arguments)
    except ServerError as error:
        if _NOT_ENABLED in str(error):
            raise ShellError("DISABLED: Security features are not available (auth.enabled)") from None
        raise


def _wanted(context: Context, holder: bytes, actions: bytes, where: list[Value]) -> AdminGrant:
    """ArgumentError for a table, family or namespace that is not there, as HBase's shell refuses it."""
    table, family, qualifier = where
    user, letters = holder.decode("utf-8", "replace"), actions.decode("utf-8", "replace")
    if table is None:
        return AdminGrant(user, letters)
    if not isinstance(table, bytes):
        raise ArgumentError("Table name is not of String type")
    if table.startswith(b"@"):
        if table[1:] not in context.server.admin("adminNamespaces"):
            raise ArgumentError(f"Can't find a namespace: {show_name(table[1:])}", about=("namespace", table[1:]))
        return AdminGrant(user, letters, table[1:])
    found = context.find_table(table_of(table))
    if found is None:
        raise ArgumentError(f"Can't find a table: {show_name(table)}", about=("table", table))
    if family is None:
        return AdminGrant(user, letters, b"", table)
    if not isinstance(family, bytes):
        raise ArgumentError("Family name is not of String type")
    _check_family(found, family)
    if qualifier is not None and not isinstance(qualifier, bytes):
        raise ArgumentError("Qualifier is not of String type")
    return AdminGrant(user, letters, b"", table, family, qualifier)


def _check_family(table: AdminTable, family: bytes) -> None:
    """Unless the caller may not see which there are: then the server has the last word."""
    if table.families and family not in [one.name for one in table.families]:
        raise ArgumentError(f"Can't find a family: {show_name(family)}")


def _places(context: Context, wanted: Value) -> list[AdminGrant]:
    """Everything; or the tables that a regular expression matches, or after an @ the namespaces."""
    if wanted is None:
        return [AdminGrant()]
    if not isinstance(wanted, bytes):
        raise ArgumentError("a table or a namespace is named by a String")
    text = shown(wanted)
    try:
        matches = re.compile(text.removeprefix("@")).fullmatch
    except re.error as error:
        raise ArgumentError(f"{text!r} is no regular expression: {error}") from None
    if text.startswith("@"):
        names: list[bytes] = context.server.admin("adminNamespaces")
        return [AdminGrant(namespace=name) for name in names if matches(show_name(name))]
    tables: list[AdminTable] = context.server.admin("adminTables")
    # Of those that the caller may change: others are left out, as in HBase.
    return [AdminGrant(table=one.name) for one in tables if one.families and matches(show_name(one.name))]


def _place(one: AdminGrant) -> str:
    """HBase's form: a table's name has its namespace in front unless that is the default one."""
    names = (one.namespace, one.table, one.family, one.qualifier or b"")
    return ",".join(map(show_name, names))
