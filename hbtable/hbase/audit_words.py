"""Says what an administrative call is about, in words that an operator reads: holder, rights, namespace, table...

Each method has a word, or a function that finds some, for each of its arguments. A call that rpc/services.py declares
has the names of its parameters, unless it is here as well. Values are shortened, and say so.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from hbtable.hbase.admin.declared import OFFERED, OFFERED_BY_SERVERS
from hbtable.hbase.admin.structs import AdminGrant, AdminTable
from hbtable.hbase.codec.missing import Missing
from hbtable.hbase.codec.thrift2_structs import (
    TColumnFamilyDescriptor,
    TNamespaceDescriptor,
    TTableDescriptor,
    TTableName,
)
from hbtable.hbase.codec.thrift_structs import AccessControlEntity
from hbtable.rpc.declaration import DeclaredCall, type_of
from hbtable.rpc.services import NamespaceName, ServerName, TableName

_MOST_LETTERS: Final = 200
_MOST_PARTS: Final = 8
_SCOPES: Final[Mapping[int | None, str]] = {0: "table", 1: "namespace"}
"""Thrift1's TPermissionScope."""

_NAMES: Final[Mapping[object, str]] = {TableName: "table", NamespaceName: "namespace", ServerName: "server"}

About = dict[str, object]
Words = Mapping[str, tuple[str | Callable[[Any], About], ...]]
"""By the name of a method."""


def about(words: Words, method: str, arguments: Iterable[object]) -> About:
    """Arguments that nobody has words for come by their places."""
    found: About = {}
    given = words.get(method, ())
    for place, argument in enumerate(arguments):
        word = given[place] if place < len(given) else f"argument {place + 1}"
        if type(argument) is Missing:
            found[f"argument {place + 1}"] = f"{argument.struct} without {argument.field}"
        elif argument is not None:
            found |= word(argument) if callable(word) else {word: shown(argument)}
    return found


def shown(value: object) -> object:
    """The value for JSON, cut short."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "backslashreplace")
    if isinstance(value, str):
        return value if len(value) <= _MOST_LETTERS else f"{value[:_MOST_LETTERS]}..."
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping):
        pairs = [(str(shown(key)), shown(inside)) for key, inside in list(value.items())[:_MOST_PARTS]]
        return dict(pairs) | ({"...": len(value) - _MOST_PARTS} if len(value) > _MOST_PARTS else {})
    if hasattr(value, "_asdict"):
        return {key: shown(inside) for key, inside in value._asdict().items() if inside is not None}
    if isinstance(value, list | tuple):
        more = [f"... and {len(value) - _MOST_PARTS} more"] if len(value) > _MOST_PARTS else []
        return [*map(shown, value[:_MOST_PARTS]), *more]
    return type(value).__name__


def _granted(grant: AdminGrant) -> About:
    found: About = {"holder": shown(grant.holder), "rights": shown(grant.actions)}
    for word, name in (("namespace", grant.namespace), ("table", grant.table), ("family", grant.family)):
        if name:
            found[word] = shown(name)
    if grant.qualifier is not None:
        found["column"] = shown(grant.qualifier)
    return found if grant.namespace or grant.table else found | {"scope": "everywhere"}


def _revoked(grant: AdminGrant) -> About:
    """Without rights that are named all of them are meant."""
    return _granted(grant) | ({} if grant.actions else {"rights": "all"})


def _permission(entity: AccessControlEntity) -> About:
    found: About = {"holder": shown(entity.username), "rights": shown(entity.actions)}
    found["scope"] = _SCOPES.get(entity.scope, f"none that there is: {entity.scope}")
    if entity.namespace is not None:
        found["namespace"] = shown(entity.namespace)
    if entity.table is not None:
        found["table"] = shown(entity.table)
    return found


def _named(name: TTableName) -> About:
    return {"table": shown((name.ns + b":" if name.ns else b"") + name.qualifier)}


def _families(families: Iterable[Any] | None) -> About:
    return {"families": shown([getattr(family, "name", None) for family in families or ()])}


def _family(family: TColumnFamilyDescriptor) -> About:
    return {"family": shown(family.name)}


def _table(table: AdminTable) -> About:
    return {"table": shown(table.name), **_families(table.families)}


def _described(table: TTableDescriptor) -> About:
    return {**_named(table.table_name), **_families(table.columns)}


def _namespace(namespace: TNamespaceDescriptor) -> About:
    found: About = {"namespace": shown(namespace.name)}
    return found | {"properties": shown(namespace.configuration)} if namespace.configuration else found


def _tablet(tablet_id: int) -> About:
    """0: the whole table."""
    return {"tablet": tablet_id} if tablet_id else {}


def _unless_empty(word: str) -> Callable[[Any], About]:
    return lambda given: {word: shown(given)} if given else {}


def _split_rows(rows: list[bytes]) -> About:
    return {"split rows": len(rows)} if rows else {}


def _declared(call: DeclaredCall) -> tuple[str, ...]:
    """The words of a call between roles: the names of its parameters, or what a name is the name of."""
    return tuple(_NAMES.get(type_of(one), one.name.replace("_", " ")) for one in call.parameters)


THRIFT1: Final[Words] = {
    "enableTable": ("table",),
    "disableTable": ("table",),
    "compact": ("table or region",),
    "majorCompact": ("table or region",),
    "createTable": ("table", _families),
    "deleteTable": ("table",),
    "grant": (_permission,),
    "revoke": (_permission,),
}

ADMIN: Final[Words] = {
    **{name: _declared(one) for name, one in OFFERED.items()},
    **{name: (*_declared(one), "servers") for name, one in OFFERED_BY_SERVERS.items()},
    "adminCreateTable": (_table, _split_rows),
    "adminAlterTable": (_table,),
    "adminFlush": ("table", _tablet),
    "adminCompact": ("table", "major", _tablet, "family"),
    "adminCompactServer": ("server", "major"),
    "adminSplit": ("table", "row", _tablet),
    "adminSwitch": ("switch", "on"),
    "adminClearBlockCache": ("table",),
    "adminRunCatalogJanitor": (),
    "adminRunCleaner": (),
    "adminClearSlowRequests": (),
    "adminGrant": (_granted, "replace"),
    "adminRevoke": (_revoked,),
    "adminDeleteRange": ("table", "start row", "stop row", "timestamp"),
    "adminMove": ("table", _tablet, "server"),
    "adminMerge": ("table", "tablets"),
    "adminSetThrottle": tuple(
        map(_unless_empty, ("user", "namespace", "table", "every server", "type", "limit", "seconds", "cluster"))
    ),
    "adminSetSpaceLimit": tuple(map(_unless_empty, ("namespace", "table", "bytes", "policy"))),
}

THRIFT2: Final[Words] = {
    "createTable": (_described, _split_rows),
    "deleteTable": (_named,),
    "truncateTable": (_named, "keep splits"),
    "enableTable": (_named,),
    "disableTable": (_named,),
    "addColumnFamily": (_named, _family),
    "deleteColumnFamily": (_named, "family"),
    "modifyColumnFamily": (_named, _family),
    "modifyTable": (_described,),
    "createNamespace": (_namespace,),
    "modifyNamespace": (_namespace,),
    "deleteNamespace": ("namespace",),
}
