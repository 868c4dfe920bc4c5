"""Grants and superusers together: they say what each user may do.

Immutable as grants are. The answers for the data path are remembered for as long as this object is: another list of
grants makes another object.
"""

from collections.abc import Iterable
from typing import Final, final

from hbtable.access.actions import EVERY_ACTION, Action
from hbtable.access.grants import NO_GRANTS, Grants, holders_of
from hbtable.access.scopes import Scope, of_table
from hbtable.access.table_rights import ALL_OF_IT, NOTHING_OF_IT, TableRights, of_parts
from hbtable.access.user import User

_MOST_REMEMBERED: Final = 100_000
"""Of either right."""
_Remembered = tuple[str, frozenset[str], bytes]
"""A user's name and groups, and a table."""


@final
class Permissions:
    """`superusers`: names, and groups as @NAME; they may do everything."""

    __slots__ = ("_readable", "_superusers", "_writable", "grants")

    def __init__(self, superusers: Iterable[str] = (), grants: Grants = NO_GRANTS) -> None:
        self._superusers = frozenset(superusers)
        self.grants = grants
        self._readable: dict[_Remembered, TableRights] = {}
        self._writable: dict[_Remembered, TableRights] = {}

    @property
    def superusers(self) -> frozenset[str]:
        """The superusers, as they are configured."""
        return self._superusers

    def with_grants(self, grants: Grants) -> "Permissions":
        """The same superusers."""
        return Permissions(self._superusers, grants)

    def is_superuser(self, user: User | None) -> bool:
        return user is not None and user.is_one_of(self._superusers)

    def is_superuser_name(self, holder: str) -> bool:
        """Whether this user is a superuser, or this group, whose name begins with @."""
        return holder in self._superusers

    def held(self, user: User | None, scope: Scope) -> int:
        """All that he may do at the scope."""
        if user is None:
            return 0
        if self.is_superuser(user):
            return EVERY_ACTION
        return self.grants.held(holders_of(user), scope)

    def allowed(self, user: User | None, actions: int, scope: Scope) -> bool:
        """Whether he holds one of the actions, at the scope or a wider one."""
        return bool(self.held(user, scope) & actions)

    def anything(self, user: User | None, table: bytes) -> bool:
        """Whether he holds any right that has to do with this table, at whatever scope: then he may know of it."""
        if user is None:
            return False
        if self.held(user, of_table(table)):
            return True
        holders = holders_of(user)
        return any(
            holder in self.grants.at(scope) for scope in self.grants.of_table.get(table, ()) for holder in holders
        )

    def readable(self, user: User | None, table: bytes) -> TableRights:
        """The part of a table that he may read. Hot."""
        if user is not None and (known := self._readable.get((user.name, user.groups, table))) is not None:
            return known
        return self._remembered(self._readable, user, table, Action.READ)

    def writable(self, user: User | None, table: bytes) -> TableRights:
        """The part of a table that he may write. Hot."""
        if user is not None and (known := self._writable.get((user.name, user.groups, table))) is not None:
            return known
        return self._remembered(self._writable, user, table, Action.WRITE)

    def _remembered(
        self, rights: dict[_Remembered, TableRights], user: User | None, table: bytes, action: Action
    ) -> TableRights:
        """Each read and write looks for it, so nothing in a key is hashed by a method written in Python."""
        if user is None:
            return NOTHING_OF_IT
        known = self._found(user, table, action)
        if len(rights) >= _MOST_REMEMBERED:
            rights.clear()
        rights[user.name, user.groups, table] = known
        return known

    def _found(self, user: User, table: bytes, action: Action) -> TableRights:
        if self.allowed(user, action, of_table(table)):
            return ALL_OF_IT
        holders = holders_of(user)
        below = (scope for scope in self.grants.of_table.get(table, ()) if scope.family)
        return of_parts(
            (scope.family, scope.qualifier)
            for scope in below
            if any(self.grants.at(scope).get(holder, 0) & action for holder in holders)
        )
