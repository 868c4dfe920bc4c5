"""Permissions in our own service: granted, revoked, listed; and who the caller is."""

# ruff: noqa: N802 - methods are named as in the interface file.

from typing import final

from hbtable.access.actions import EVERY_ACTION, actions_of, letters_of
from hbtable.access.scopes import GLOBAL, Scope, of_table
from hbtable.access.user import acting_user
from hbtable.hbase.admin.structs import AdminGrant, AdminUser
from hbtable.hbase.errors import DO_NOT_RETRY, BadArgument, JavaError
from hbtable.hbase.permissions.guard import Guard
from hbtable.model import names
from hbtable.switches import switches

NOT_ENABLED = "access control is not enabled (auth.enabled)"


@final
class AdminGrantCalls:
    """Without `guard` everybody may do everything, and nothing can be granted."""

    def __init__(self, guard: Guard | None) -> None:
        self._guard = guard

    @switches
    def adminGrant(self, grant: AdminGrant | None, replace: bool | None) -> None:
        given = _given(grant)
        self._enabled().grant(given.holder, scope_of(given), actions_of(given.actions), merge=not replace)

    @switches
    def adminRevoke(self, grant: AdminGrant | None) -> None:
        given = _given(grant)
        actions = actions_of(given.actions) if given.actions else EVERY_ACTION
        self._enabled().revoke(given.holder, scope_of(given), actions)

    @switches
    def adminGrants(self, wanted: AdminGrant | None) -> list[AdminGrant]:
        given = wanted or AdminGrant()
        return [
            AdminGrant(one.holder, letters_of(one.actions), *one.scope)
            for one in self._enabled().grants_at(scope_of(given), given.holder)
        ]

    def adminWhoAmI(self) -> AdminUser:
        user = acting_user()
        return AdminUser() if user is None else AdminUser(user.name, sorted(user.groups))

    def _enabled(self) -> Guard:
        if self._guard is None:
            raise JavaError(DO_NOT_RETRY, NOT_ENABLED)
        return self._guard


def scope_of(grant: AdminGrant) -> Scope:
    """InvalidRequest for a name that nothing can have, for a family without a table, and for a table of another
    namespace than the one that is named."""
    if grant.table:
        if grant.family:
            names.check_family(grant.family)
        elif grant.qualifier is not None:
            raise BadArgument("a permission to a column names its family, too")
        scope = of_table(names.parse(grant.table), grant.family, grant.qualifier)
        if grant.namespace not in (b"", scope.namespace):  # that one is in what adminGrants() answers
            table, namespace = names.shown(scope.table), names.shown(grant.namespace)
            raise BadArgument(f"the table {table} is not in the namespace {namespace}")
        return scope
    if grant.family or grant.qualifier is not None:
        raise BadArgument("a permission to a family names its table, too")
    if not grant.namespace:
        return GLOBAL
    names.check_namespace(grant.namespace)
    return Scope(grant.namespace)


def _given(grant: AdminGrant | None) -> AdminGrant:
    if grant is None:
        raise BadArgument("the call has no grant")
    return grant
