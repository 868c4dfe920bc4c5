"""Attaches the calls' implementations to the interface, each behind the permission that it needs. Every method must
have exactly one implementation, and one requirement."""

from collections.abc import Callable, Mapping, Sequence

from hbtable.hbase.codec.interface import ThriftInterface, ThriftMethod
from hbtable.hbase.codec.missing import refuse_missing
from hbtable.hbase.permissions.guard import Guard
from hbtable.hbase.permissions.methods import ADMIN, THRIFT1, THRIFT2
from hbtable.hbase.permissions.requirements import Requirement
from hbtable.switches import switches


def bind(interface: ThriftInterface, parts: Sequence[object], guard: Guard | None = None) -> None:
    """`parts` have one public method for each call, named as in the interface file. ValueError for a gap. Without
    `guard` everybody may call everything."""
    _attach(interface.methods, parts, THRIFT1, guard)


def bind_admin(interface: ThriftInterface, parts: Sequence[object], guard: Guard | None = None) -> None:
    """The same for our own service, whose methods join the others."""
    _attach(interface.admin_methods, parts, ADMIN, guard)
    interface.methods.update(interface.admin_methods)


def bind_thrift2(interface: ThriftInterface, parts: Sequence[object], guard: Guard | None = None) -> None:
    """The same for HBase's newer service."""
    _attach(interface.thrift2_methods, parts, THRIFT2, guard)
    for method in interface.thrift2_methods.values():
        method.call = _whole(method)
    interface.offer_thrift2()


def _whole(method: ThriftMethod) -> Callable[..., object]:
    """The call, refused where a required field was not sent."""
    call, name, required = method.call, method.name, method.required

    @switches
    def checked(*values: object) -> object:
        refuse_missing(name, required, values)
        return call(*values)

    return checked


def _attach(
    methods: Mapping[bytes, ThriftMethod],
    parts: Sequence[object],
    requirements: Mapping[str, Requirement],
    guard: Guard | None,
) -> None:
    for method in methods.values():
        owners = [part for part in parts if hasattr(part, method.name)]
        if len(owners) != 1:
            raise ValueError(f"{method.name} of the interface has {len(owners)} implementations instead of one")
        if method.name not in requirements:
            raise ValueError(f"{method.name} of the interface has no entry in hbase/permissions/methods.py")
        method.call = getattr(owners[0], method.name)
        if guard is not None:
            method.call = requirements[method.name](guard, method.call)
