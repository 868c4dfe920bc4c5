"""The checks of one gateway, over the grants that this process knows; and their changes."""

from collections.abc import Callable, Iterable
from typing import Final, final

from hbtable.access import denials
from hbtable.access.actions import EVERY_ACTION, Action
from hbtable.access.data_checks import DataChecks
from hbtable.access.grants import Grant, Grants
from hbtable.access.grants_file import WatchedGrants, with_grant
from hbtable.access.permissions import Permissions
from hbtable.access.position_key import PositionKey
from hbtable.access.scopes import GLOBAL, Scope, of_table
from hbtable.access.user import User, acting_user
from hbtable.errors import AccessDenied, NamespaceNotFound
from hbtable.hbase.conversion import check_families
from hbtable.lockservice.interface import Session
from hbtable.model.names import shown
from hbtable.model.table import TableRecord
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches

_SUPERUSERS_KEPT: Final = "Granting or revoking superusers's or supergroups's permissions is not allowed"
"""Told to everybody but superusers."""


@final
class Guard:
    """start(), then stop(). Before start() superusers alone may do something."""

    def __init__(
        self,
        runtime: Runtime,
        session: Session,
        superusers: frozenset[str],
        namespaces: Callable[[], list[bytes]],
        record: Callable[[bytes], TableRecord],
        caller: Callable[[], User | None] = acting_user,
    ) -> None:
        """`superusers`: names, and groups as @NAME. `namespaces`: those that there are; `record`: of a table, or
        TableNotFound, also while it is made or dropped: both as METADATA has it now. `caller`: the user of the call."""
        self._caller = caller
        self._namespaces = namespaces
        self._record = record
        self._permissions = Permissions(superusers)
        self._watched = WatchedGrants(runtime, session, self._know)
        self._clock = runtime.clock_seconds
        self._copy = self._watched.copy
        self.data = DataChecks(self.in_force, caller)
        self.position_key = PositionKey(session, runtime.clock_seconds)

    def _know(self, grants: Grants) -> None:
        self._permissions = self._permissions.with_grants(grants)

    @switches
    def start(self) -> None:
        """The grants are known on return, if they can be read."""
        self._watched.start()

    @switches
    def stop(self) -> None:
        """Later changes are not heard of any more."""
        self._watched.stop()

    @switches
    def in_force(self) -> Permissions:
        """The permissions for the caller's next check: whatever was granted or revoked a second ago, or earlier, is in
        them. Unavailable when that cannot be found out; superusers need no grant. Hot."""
        if self._clock() >= self._copy.good_until and not self._permissions.is_superuser(self._caller()):
            self._watched.catch_up()
        return self._permissions

    # ---------------------------------------------------------------- checks

    @switches
    def check(self, scope: Scope, *actions: Action, filter_user: str = "") -> None:
        """AccessDenied unless the caller holds one of these at the scope or a wider one; it names the first."""
        self.in_force()
        if not self.may(scope, *actions):
            raise denials.at(self._caller(), scope, actions[0], filter_user)

    @switches
    def check_everything(self, named: Scope, action: Action) -> None:
        """AccessDenied unless the caller holds it everywhere. `named`: the scope in the message to those who do not
        even hold it there."""
        self.check(named, action)
        self.check(GLOBAL, action)

    def may(self, scope: Scope, *actions: Action) -> bool:
        """Whether the caller holds one of these, by the permissions that are known: a call begins with check() or
        in_force()."""
        wanted = 0
        for action in actions:
            wanted |= action
        return self._permissions.allowed(self._caller(), wanted, scope)

    @switches
    def check_create(self, table: bytes, families: Iterable[bytes]) -> None:
        """Checks the right to make a table, which is one on its namespace: a right on the table itself does not count.
        NamespaceNotFound, which everybody is told."""
        self.in_force()
        namespace = Scope(of_table(table).namespace)
        if self.may(namespace, Action.CREATE, Action.ADMIN):
            return
        if namespace.namespace not in self._namespaces():
            raise NamespaceNotFound(f"namespace {shown(namespace.namespace)} of table {shown(table)} does not exist")
        raise denials.creating(self._caller(), table, families)

    def knows_of(self, table: bytes) -> bool:
        """Whether the table is in the caller's lists."""
        return self._permissions.anything(self._caller(), table)

    def describes(self, table: bytes) -> bool:
        """Whether the caller may see how the table is made."""
        return self.may(of_table(table), Action.CREATE, Action.ADMIN)

    # ---------------------------------------------------------------- grants

    @switches
    def grant(self, holder: str, scope: Scope, actions: int, merge: bool = True) -> None:
        """Grants the rights, which are in force everywhere within a second. AccessDenied; InvalidRequest for a holder
        that cannot be, LimitExceeded. NamespaceNotFound, TableNotFound, NoSuchFamily: who had a right to something
        before it is there would be its secret owner later."""

        def edit(grants: Grants) -> Grants:
            self._check_change(self._permissions.with_grants(grants), holder, scope)
            self._check_exists(scope)
            return with_grant(grants, holder, scope, actions, merge)

        self._change(edit, holder, scope)

    @switches
    def revoke(self, holder: str, scope: Scope, actions: int = EVERY_ACTION) -> None:
        """At exactly this scope, whether or not it exists. AccessDenied."""

        def edit(grants: Grants) -> Grants:
            self._check_change(self._permissions.with_grants(grants), holder, scope)
            return grants.without(holder, scope, actions)

        self._change(edit, holder, scope)

    @switches
    def _change(self, edit: Callable[[Grants], Grants], holder: str, scope: Scope) -> None:
        """`edit` checks by the grants that it changes: those that are remembered here may be half a second old."""
        self._check_change(self._permissions, holder, scope)  # nobody without a right has the lock service asked
        self._watched.change(edit)

    def _check_change(self, permissions: Permissions, holder: str, scope: Scope) -> None:
        user = self._caller()
        if not permissions.allowed(user, Action.ADMIN, scope):
            raise denials.at(user, scope, Action.ADMIN)
        if permissions.is_superuser_name(holder) and not permissions.is_superuser(user):
            raise AccessDenied(_SUPERUSERS_KEPT)

    @switches
    def _check_exists(self, scope: Scope) -> None:
        if scope.table:
            families = self._record(scope.table).schema.families
            check_families({scope.family: None} if scope.family else None, families, scope.table)
        elif scope.namespace and scope.namespace not in self._namespaces():
            raise NamespaceNotFound(f"namespace {shown(scope.namespace)} does not exist")

    @switches
    def refresh(self) -> None:
        """Changes by others are in force here on return."""
        self._watched.refresh()

    @switches
    def grants_at(self, scope: Scope, holder: str = "") -> list[Grant]:
        """The grants on a scope, for a table or a family with those below it. `holder`: of this one only.
        AccessDenied."""
        self.check(scope, Action.ADMIN, filter_user=holder)
        narrow = bool(scope.table)
        found = [one for one in self._permissions.grants if one.scope == scope or (narrow and scope.holds(one.scope))]
        if scope == GLOBAL:
            users = sorted(name for name in self._permissions.superusers if not name.startswith("@"))
            found = [one for one in found if one.holder not in users]
            found += [Grant(name, GLOBAL, EVERY_ACTION) for name in users]
        return [one for one in found if holder in ("", one.holder)]
