"""Grants: rights given to holders. A holder is a user's name, or "@" and a group's name; a user and a group of the same
name are two.

A Grants object never changes: a change makes another one, which lists are compared and stored whole.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple, final

from hbtable.access.actions import EVERY_ACTION, letters_of, union
from hbtable.access.scopes import Scope
from hbtable.access.user import User, check_name
from hbtable.errors import InvalidRequest

GROUP_MARK: Final = "@"


class Grant(NamedTuple):
    """All rights of one holder at one scope."""

    holder: str
    scope: Scope
    actions: int


def holders_of(user: User) -> tuple[str, ...]:
    """Everything by which rights may be held for him."""
    return (user.name, *(GROUP_MARK + group for group in user.groups))


def check_holder(holder: str) -> None:
    """InvalidRequest. A name has no comma: HBase keeps `user,family,qualifier`, so a grant to 'ann,f' becomes ann's on
    the family f."""
    check_name(holder.removeprefix(GROUP_MARK), "group" if holder.startswith(GROUP_MARK) else "user")


@final
class Grants:
    """All grants of a cluster, by scope and holder."""

    __slots__ = ("_by_scope", "of_table")

    def __init__(self, by_scope: Mapping[Scope, Mapping[str, int]] | None = None) -> None:
        """`by_scope` is kept: nobody may change it any more."""
        self._by_scope: Mapping[Scope, Mapping[str, int]] = by_scope or {}
        self.of_table: dict[bytes, list[Scope]] = {}
        """Scopes at and below each table."""
        for scope in self._by_scope:
            if scope.table:
                self.of_table.setdefault(scope.table, []).append(scope)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Grants) and self._by_scope == other._by_scope

    def __hash__(self) -> int:
        return hash(frozenset(self))

    def __iter__(self) -> Iterator[Grant]:
        """Ascending by scope, wider ones first, then by holder."""
        for scope in sorted(self._by_scope, key=_order):
            for holder, actions in sorted(self._by_scope[scope].items()):
                yield Grant(holder, scope, actions)

    def at(self, scope: Scope) -> Mapping[str, int]:
        """Holders and their actions at exactly this scope."""
        return self._by_scope.get(scope, {})

    def held(self, holders: Iterable[str], scope: Scope) -> int:
        """All actions that these hold at the scope or a wider one."""
        names = tuple(holders)
        return union(
            lists[name]
            for lists in (self._by_scope.get(wider) for wider in scope.widening())
            if lists
            for name in names
            if name in lists
        )

    def with_grant(self, holder: str, scope: Scope, actions: int, merge: bool = True) -> "Grants":
        """Added to what the holder has there, or in its place. InvalidRequest for a holder that cannot be."""
        check_holder(holder)
        if not actions or actions & ~EVERY_ACTION:
            raise InvalidRequest(f"a permission has at least one letter of RWXCA, not {letters_of(actions)!r}")
        before = self.at(scope)
        return self._changed(scope, {**before, holder: actions | (before.get(holder, 0) if merge else 0)})

    def without(self, holder: str, scope: Scope, actions: int = EVERY_ACTION) -> "Grants":
        """At exactly this scope: what is held at wider or narrower ones stays."""
        before = self.at(scope)
        left = before.get(holder, 0) & ~actions
        others = {name: held for name, held in before.items() if name != holder}
        return self._changed(scope, {**others, holder: left} if left else others)

    def without_below(self, gone: Scope) -> "Grants":
        """The grants without those on a namespace, table or family that is gone, and on what was in it."""
        return self._only(lambda scope: not gone.holds(scope))

    def _changed(self, scope: Scope, lists: dict[str, int]) -> "Grants":
        if lists == self.at(scope):
            return self
        others = {known: held for known, held in self._by_scope.items() if known != scope}
        return Grants({**others, scope: lists} if lists else others)

    def _only(self, stays: Callable[[Scope], bool]) -> "Grants":
        kept = {scope: lists for scope, lists in self._by_scope.items() if stays(scope)}
        return self if len(kept) == len(self._by_scope) else Grants(kept)


NO_GRANTS: Final = Grants()


def _order(scope: Scope) -> tuple[bytes, bytes, bytes, bool, bytes]:
    return scope.namespace, scope.table, scope.family, scope.qualifier is not None, scope.qualifier or b""
