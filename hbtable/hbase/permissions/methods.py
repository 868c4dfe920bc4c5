"""The requirement of every method of the Thrift port, as in HBase where HBase asks for one.

HBase carries some out for everybody that are not so here: compactions, `balance` and the balancer's switch (it answers
and does nothing). Others are hbtable's own.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from hbtable.access.actions import Action
from hbtable.access.scopes import GLOBAL, Scope, of_table
from hbtable.hbase import cell_methods
from hbtable.hbase.admin.declared import DECLARED
from hbtable.hbase.admin.structs import AdminTable
from hbtable.hbase.codec.thrift2_structs import TNamespaceDescriptor, TTableDescriptor, TTableName
from hbtable.hbase.permissions.guard import Guard
from hbtable.hbase.permissions.requirements import (
    Requirement,
    administers,
    changes,
    creates,
    describes,
    everywhere,
    lists,
    namespace,
    needs,
    of_cells,
    open_to_users,
    table,
)
from hbtable.hbase.regions import table_of_region
from hbtable.hbase.thrift2.descriptors import table_name
from hbtable.model import names


def _each(methods: str, requirement: Requirement) -> dict[str, Requirement]:
    return dict.fromkeys(methods.split(), requirement)


_ADMINISTRATORS: Final = everywhere(Action.ADMIN)
_CHANGES_TABLE: Final = changes(table())
_ADMINISTERS_TABLE: Final = needs(table(), Action.ADMIN)

# ---------------------------------------------------------------- Thrift1


def _of_region_or_table(arguments: Sequence[Any]) -> Scope | None:
    target = arguments[0]
    return None if target is None else of_table(names.parse(table_of_region(target) or target))


def _created_by_thrift1(arguments: Sequence[Any]) -> tuple[bytes, list[bytes]] | None:
    name, families = arguments
    if name is None:
        return None
    return names.parse(name), [(family.name or b"").partition(b":")[0] for family in families or ()]


THRIFT1: Final[dict[str, Requirement]] = {
    **dict.fromkeys(cell_methods.THRIFT1, of_cells),
    **_each("isTableEnabled getTableRegions getRegionInfo getThriftServerType getClusterId", open_to_users),
    "getTableNames": lists(lambda guard, answer: [name for name in answer if guard.knows_of(name)]),
    "getTableNamesWithIsTableEnabled": lists(
        lambda guard, answer: {name: on for name, on in answer.items() if guard.knows_of(name)}
    ),
    "getColumnDescriptors": describes(table()),
    "createTable": creates(_created_by_thrift1),
    **_each("deleteTable enableTable disableTable", _CHANGES_TABLE),
    **_each("compact majorCompact", changes(_of_region_or_table)),
    **_each("grant revoke", open_to_users),  # Guard checks who may
}
"""By name."""

# ---------------------------------------------------------------- Thrift2


def _named(arguments: Sequence[Any]) -> Scope | None:
    name: TTableName | None = arguments[0]
    return None if name is None else of_table(table_name(name))


def _named_in_descriptor(arguments: Sequence[Any]) -> Scope | None:
    descriptor: TTableDescriptor | None = arguments[0]
    return None if descriptor is None else of_table(table_name(descriptor.table_name))


def _created_by_thrift2(arguments: Sequence[Any]) -> tuple[bytes, list[bytes]] | None:
    descriptor: TTableDescriptor | None = arguments[0]
    if descriptor is None:
        return None
    return table_name(descriptor.table_name), [family.name for family in descriptor.columns or ()]


def _namespace_in_descriptor(arguments: Sequence[Any]) -> Scope | None:
    descriptor: TNamespaceDescriptor | None = arguments[0]
    return None if descriptor is None else Scope(descriptor.name.encode())


def _described(guard: Guard, answer: Sequence[TTableDescriptor]) -> list[TTableDescriptor]:
    return [one for one in answer if guard.describes(table_name(one.table_name))]


def _all_described(guard: Guard, answer: Sequence[TTableDescriptor]) -> Sequence[TTableDescriptor]:
    for one in answer:
        guard.check(of_table(table_name(one.table_name)), Action.CREATE, Action.ADMIN)
    return answer


def _known(guard: Guard, answer: Sequence[TTableName]) -> list[TTableName]:
    return [one for one in answer if guard.knows_of(table_name(one))]


def _administered(guard: Guard, answer: Sequence[TNamespaceDescriptor]) -> list[TNamespaceDescriptor]:
    return [one for one in answer if guard.may(Scope(one.name.encode()), Action.ADMIN)]


THRIFT2: Final[dict[str, Requirement]] = {
    **dict.fromkeys(cell_methods.THRIFT2, of_cells),
    **_each(
        "tableExists isTableEnabled isTableDisabled isTableAvailable getRegionLocation getAllRegionLocations "
        "listNamespaces getThriftServerType getClusterId",
        open_to_users,
    ),
    "getTableDescriptor": describes(_named),
    "getTableDescriptors": lists(_all_described),
    **_each("getTableDescriptorsByPattern getTableDescriptorsByNamespace", lists(_described)),
    **_each("getTableNamesByPattern getTableNamesByNamespace", lists(_known)),
    "createTable": creates(_created_by_thrift2),
    **_each(
        "deleteTable truncateTable enableTable disableTable addColumnFamily modifyColumnFamily deleteColumnFamily",
        changes(_named),
    ),
    "modifyTable": changes(_named_in_descriptor),
    **_each("createNamespace deleteNamespace", _ADMINISTRATORS),
    "modifyNamespace": administers(_namespace_in_descriptor),
    "getNamespaceDescriptor": needs(namespace(), Action.ADMIN),
    "listNamespaceDescriptors": lists(_administered),
}
"""By name."""

# ---------------------------------------------------------------- hbtable's own service


def _altered(arguments: Sequence[Any]) -> Scope | None:
    given: AdminTable | None = arguments[0]
    return None if given is None else of_table(names.parse(given.name))


def _created(arguments: Sequence[Any]) -> tuple[bytes, list[bytes]] | None:
    given: AdminTable | None = arguments[0]
    return None if given is None else (names.parse(given.name), [family.name for family in given.families or ()])


def _shown(guard: Guard, found: AdminTable) -> AdminTable:
    """Its state and number alone for those who may not see how it is made."""
    return found if guard.describes(found.name) else found._replace(families=[], attributes={})


def _listed(guard: Guard, answer: Sequence[AdminTable]) -> list[AdminTable]:
    return [_shown(guard, one) for one in answer if guard.knows_of(one.name)]


def _quotas(guard: Guard, answer: Sequence[Mapping[str, str]]) -> Sequence[Mapping[str, str]]:
    return answer if guard.may(GLOBAL, Action.READ) else []


def _throttled(arguments: Sequence[Any]) -> Scope | None:
    """Whoever administers a table may throttle it, and users on it; a namespace, and users elsewhere, are for those who
    administer everything."""
    name: bytes | None = arguments[2]
    return of_table(names.parse(name)) if name else GLOBAL


def _limited(arguments: Sequence[Any]) -> Scope | None:
    name: bytes | None = arguments[1]
    return of_table(names.parse(name)) if name else GLOBAL


def _sizes(guard: Guard, answer: Sequence[Mapping[str, str]]) -> list[Mapping[str, str]]:
    return [one for one in answer if guard.knows_of(one["table"].encode())]


def _usages(guard: Guard, answer: Mapping[str, Sequence[Mapping[str, str]]]) -> dict[str, list[Mapping[str, str]]]:
    """Of tables whose families the caller may see."""
    shown = {server: [one for one in kept if guard.describes(one["table"].encode())] for server, kept in answer.items()}
    return {server: kept for server, kept in shown.items() if kept}


ADMIN: Final[dict[str, Requirement]] = {
    **dict.fromkeys(DECLARED, _ADMINISTRATORS),  # unless it is below: nobody else has a right by mistake
    **_each(
        "adminGet adminScan adminScanArrow adminAggregate adminMutate adminMutateRows adminCheckAndMutate "
        "adminMutateIf adminDeleteRange",
        of_cells,
    ),
    **_each(
        "adminTablets adminServers adminStatus adminNamespaces adminCompactionState adminIsOn adminBalancerEnabled "
        "adminNormalizerEnabled adminTransitions adminDeadServers adminUnknownServers adminWhoAmI",
        open_to_users,
    ),
    "adminTables": lists(_listed),
    "adminTable": lists(_shown),
    "adminCreateTable": creates(_created),
    "adminAlterTable": changes(_altered),
    **_each("adminTruncateTable adminFlush adminCompact adminTabletHistory", _CHANGES_TABLE),
    **_each("adminSplit adminMove adminMerge", _ADMINISTERS_TABLE),
    "adminNamespace": needs(namespace(), Action.ADMIN),
    "adminAlterNamespace": administers(namespace()),
    "adminDecommissioned": everywhere(Action.READ),
    **_each(
        "adminCompactServer adminClearBlockCache adminRunCatalogJanitor adminRunCleaner adminSwitch adminSlowRequests "
        "adminClearSlowRequests",
        _ADMINISTRATORS,
    ),
    "adminSetThrottle": needs(_throttled, Action.ADMIN),
    "adminSetSpaceLimit": needs(_limited, Action.ADMIN),
    "adminSpaceUsage": lists(_sizes),
    "adminFamilyUsage": lists(_usages),
    "adminQuotas": lists(_quotas),
    **_each("adminGrant adminRevoke adminGrants", open_to_users),  # Guard checks who may
}
"""By name."""
