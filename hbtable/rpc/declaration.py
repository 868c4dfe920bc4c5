"""Declarations of calls between roles: a method of a Service with types, the mark @call, a docstring and no body.

    class MasterService(Service):
        @call(CallTimeout.ORDER, repeatable=True)
        def recommission(self, server: str) -> None:
            "It takes tablets again. InvalidRequest when it is not there."

Who carries calls out is a subclass that overrides the methods. Who only passes them on is the Service itself, made with
a function `carry` that takes any call: peer.py sends it to another process. codec/calls.py makes messages out of the
types, and thrift_server.py finds the method again by its name. So the declaration is the only place where a call's
parameters are written down, and mypy knows them wherever it is called.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import wraps
from operator import getitem
from typing import Annotated, Any, Final, NamedTuple, TypeVar, cast, get_args

from hbtable.switches import switches


class CallTimeout(Enum):
    """The time for which a caller waits for the answer (connections.RpcOptions has the seconds)."""

    READ = "read"
    WRITE = "write"
    REPORTS = "reports"
    LOAD = "load"
    ORDER = "order"
    COMPACT = "compact"


class DeclaredCall(NamedTuple):
    """One declared call. `repeatable`: it changes nothing, or doing it twice is as good as once, so that it may be sent
    again when its answer was lost. `changes_nothing`: who may only read may make it, and no audit hears of it."""

    name: str
    parameters: tuple[inspect.Parameter, ...]
    """Without `self`."""
    returns: Any
    timeout: CallTimeout
    repeatable: bool
    changes_nothing: bool
    admin: str
    """Its name in thrift/admin.thrift, where operators call it (hbase/admin/declared.py); "": it is not for them."""

    @switches
    def on(self, service: Any, arguments: Sequence[Any]) -> Any:
        """Calls it."""
        return getattr(service, self.name)(*arguments)


Carry = Callable[[DeclaredCall, tuple[Any, ...]], Any]
"""Takes a call and all its arguments, in order, and gives the answer."""


class Service:
    """The calls that a role offers to others. `carry` gets the calls that a subclass does not carry out itself."""

    __slots__ = ("_carry",)

    def __init__(self, carry: Carry) -> None:
        self._carry = carry


ADDED: Final = "added"
"""Annotated on a parameter with a default, of a call that was there before it: older releases do not know it. It is not
sent while it has its default."""


def type_of(parameter: inspect.Parameter) -> Any:
    """The type of a parameter, without the mark ADDED."""
    kind = parameter.annotation
    if ADDED not in get_args(kind):
        return kind
    kind, *marks = get_args(kind)
    rest = tuple(mark for mark in marks if mark != ADDED)
    return getitem(Annotated, (kind, *rest)) if rest else kind


F = TypeVar("F", bound=Callable[..., Any])
_DECLARED: Final = "declared_call"


def call(
    timeout: CallTimeout, *, repeatable: bool = False, changes_nothing: bool = False, admin: str = ""
) -> Callable[[F], F]:
    """The mark of a declared call, which switches. One that `changes_nothing` is repeatable."""

    def declare(method: F) -> F:
        signature = inspect.signature(method)
        parameters = tuple(signature.parameters.values())[1:]
        repeats = repeatable or changes_nothing
        declared = DeclaredCall(
            method.__name__, parameters, signature.return_annotation, timeout, repeats, changes_nothing, admin
        )
        expected = len(parameters)

        @wraps(method)
        @switches
        def pass_on(self: Service, *arguments: Any, **named: Any) -> Any:
            if named or len(arguments) != expected:
                arguments = _in_order(signature, (self, *arguments), named)
            return self._carry(declared, arguments)

        setattr(pass_on, _DECLARED, declared)
        return cast(F, pass_on)

    return declare


def _in_order(signature: inspect.Signature, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Any, ...]:
    """All arguments but `self`, defaults included. TypeError as of any function."""
    bound = signature.bind(*arguments, **named)
    bound.apply_defaults()
    return bound.args[1:]


def calls_of(service: type[Service]) -> dict[str, DeclaredCall]:
    """The declared calls by name, in the order of their declaration."""
    found = ((name, getattr(method, _DECLARED, None)) for name, method in vars(service).items())
    return {name: declared for name, declared in found if declared is not None}
