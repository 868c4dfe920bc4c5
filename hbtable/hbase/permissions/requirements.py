"""The kinds of requirements that methods have (methods.py). Each puts a check before a call, or leaves things out of
its answer; what it is about is read from the call's own arguments. A call without a name or a struct goes on: its own
method says what is missing.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from hbtable.access.actions import Action
from hbtable.access.scopes import GLOBAL, Scope, of_table
from hbtable.hbase.permissions.guard import Guard
from hbtable.model import names
from hbtable.switches import switches

Call = Callable[..., Any]
Requirement = Callable[[Guard, Call], Call]
"""(guard, method) -> the method with its check."""

ScopeOf = Callable[[Sequence[Any]], Scope | None]
"""The scope that arguments are about; None: they name none."""


def open_to_users(_: Guard, call: Call) -> Call:
    """Every user who has proved who he is may make the call. Connections of others carry out no call."""
    return call


def of_cells(_: Guard, call: Call) -> Call:
    """Checked for each table that it uses, by GuardedTable."""
    return call


def needs(scope_of: ScopeOf, *actions: Action) -> Requirement:
    """The call needs one of these rights, at the scope or a wider one."""

    def requirement(guard: Guard, call: Call) -> Call:
        @switches
        def checked(*arguments: Any) -> Any:
            scope = scope_of(arguments)
            if scope is not None:
                guard.check(scope, *actions)
            return call(*arguments)

        return checked

    return requirement


def everywhere(*actions: Action) -> Requirement:
    """A right to everything."""
    return needs(lambda _: GLOBAL, *actions)


def administers(scope_of: ScopeOf) -> Requirement:
    """The call needs the right to administer everything; the refusal names the scope that it is about, as HBase's
    does."""

    def requirement(guard: Guard, call: Call) -> Call:
        @switches
        def checked(*arguments: Any) -> Any:
            scope = scope_of(arguments)
            if scope is not None:
                guard.check_everything(scope, Action.ADMIN)
            return call(*arguments)

        return checked

    return requirement


def table(place: int = 0) -> ScopeOf:
    """The argument is a table's name, in any spelling."""

    def scope_of(arguments: Sequence[Any]) -> Scope | None:
        return None if arguments[place] is None else of_table(names.parse(arguments[place]))

    return scope_of


def namespace(place: int = 0) -> ScopeOf:
    """The argument is a namespace's name."""

    def scope_of(arguments: Sequence[Any]) -> Scope | None:
        name = arguments[place]
        return Scope(name.encode() if isinstance(name, str) else name) if name else None

    return scope_of


_MADE_BY: Final = (Action.CREATE, Action.ADMIN)


def changes(scope_of: ScopeOf) -> Requirement:
    """The call changes a table, its state or its families: it needs the right to create or to administer the table."""
    return needs(scope_of, *_MADE_BY)


def describes(scope_of: ScopeOf) -> Requirement:
    """The same right; but that there is no such table is told to everybody."""

    def requirement(guard: Guard, call: Call) -> Call:
        @switches
        def checked(*arguments: Any) -> Any:
            answer = call(*arguments)  # TableNotFound
            scope = scope_of(arguments)
            if scope is not None:
                guard.check(scope, *_MADE_BY)
            return answer

        return checked

    return requirement


def creates(made: Callable[[Sequence[Any]], tuple[bytes, list[bytes]] | None]) -> Requirement:
    """A table with these families, whose creator gets every right to it: the master gives them, and they are in force
    here on return."""

    def requirement(guard: Guard, call: Call) -> Call:
        @switches
        def checked(*arguments: Any) -> Any:
            named = made(arguments)
            if named is None:
                return call(*arguments)
            guard.check_create(*named)
            answer = call(*arguments)
            guard.refresh()
            return answer

        return checked

    return requirement


def lists(keeps: Callable[[Guard, Any], Any]) -> Requirement:
    """Everybody may make the call. `keeps` takes out of the answer what the user may not know of."""

    def requirement(guard: Guard, call: Call) -> Call:
        @switches
        def filtered(*arguments: Any) -> Any:
            guard.in_force()
            return keeps(guard, call(*arguments))

        return filtered

    return requirement
