"""The messages of refusals in HBase's words, which name the user, the right that he lacks, and where."""

from collections.abc import Iterable

from hbtable.access.actions import Action
from hbtable.access.scopes import Scope
from hbtable.access.user import User
from hbtable.errors import AccessDenied
from hbtable.model.names import shown, split


def name_of(user: User | None) -> str:
    return "(nobody has logged in)" if user is None else user.name


def everywhere(user: User | None, action: Action) -> AccessDenied:
    return AccessDenied(f"Insufficient permissions for user '{name_of(user)}' (global, action={action.name})")


def reading(user: User | None, table: bytes) -> AccessDenied:
    return AccessDenied(
        f"Insufficient permissions for user '{name_of(user)}' (table={shown(table)}, action={Action.READ.name})"
    )


def of_column(user: User | None, table: bytes, family: bytes, qualifier: bytes, action: Action) -> AccessDenied:
    """Names a column. For a whole family the qualifier is empty, as in HBase."""
    named, column = full_name(table), shown(family + b":" + qualifier)
    return AccessDenied(
        f"Insufficient permissions (user={name_of(user)}, scope={named}, family={column}, "
        f"params=[table={named},family={column}],action={action.name})"
    )


def at(user: User | None, scope: Scope, action: Action, filter_user: str = "") -> AccessDenied:
    """`filter_user`: whose permissions were asked for."""
    if scope.table:
        named, family, params = full_name(scope.table), "", ""
        if scope.family:
            column = scope.family if scope.qualifier is None else scope.family + b":" + scope.qualifier
            family, params = f"family={shown(column)}, ", f"family={shown(column)},"
        params = f"table={named},{params}" + (f"filterUser={filter_user}" if filter_user else "")
    elif scope.namespace:
        named, family = shown(scope.namespace), ""
        params = f"namespace={named},"
    else:
        return everywhere(user, action)
    return AccessDenied(
        f"Insufficient permissions (user={name_of(user)}, scope={named}, {family}params=[{params}],"
        f"action={action.name})"
    )


def creating(user: User | None, table: bytes, families: Iterable[bytes]) -> AccessDenied:
    namespace = shown(split(table)[0])
    listed = "|".join(map(shown, families))
    return AccessDenied(
        f"Insufficient permissions (user={name_of(user)}, scope={namespace}, params=[namespace={namespace},"
        f"table={full_name(table)},family={listed}],action={Action.CREATE.name})"
    )


def full_name(table: bytes) -> str:
    """The table with its namespace, also the default one."""
    namespace, name = split(table)
    return f"{shown(namespace)}:{shown(name)}"
