"""Attaches the calls' implementations to the interface. Every method of thrift/hbase.thrift must have exactly one."""

from collections.abc import Sequence

from hbtable.hbase.interface import Interface


def bind(interface: Interface, parts: Sequence[object]) -> None:
    """`parts` have one public method for each call, named as in the interface file. ValueError for a gap."""
    for method in interface.methods.values():
        owners = [part for part in parts if hasattr(part, method.name)]
        if len(owners) != 1:
            raise ValueError(f"{method.name} of the interface has {len(owners)} implementations instead of one")
        method.call = getattr(owners[0], method.name)
