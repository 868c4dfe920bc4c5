"""The interface files, loaded: every method with the layout of its arguments and what it may answer.

thrift/hbase.thrift and thrift/admin.thrift are the only places where names, ids and types stand; this turns them into
what the readers and the answers work from. Handlers are attached by bind(); a method without one cannot be called.
"""

import os
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, Final, final

import thriftpy2

from hbtable.hbase.admin import structs as admin_structs
from hbtable.hbase.codec import thrift_structs
from hbtable.hbase.codec.fast_mutations import fast_batches, fast_mutations
from hbtable.metrics.registry import Counter, Histogram
from hbtable.thrift.shapes import CallLayout, FastList, Field, StructLayout, ValueType
from hbtable.thrift.wire import LIST, MAP, REPLY, SET, STRICT, STRING, STRUCT

IDL_PATH: Final = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(__file__))), "idl", "hbase.thrift")
ADMIN_PATH: Final = os.path.join(os.path.dirname(IDL_PATH), "admin.thrift")
_MODULE: Final = "hbtable_hbase_thrift"
_ADMIN_MODULE: Final = "hbtable_admin_thrift"
_THRIFT_TEXT: Final = 11
_THRIFT_BINARY: Final = 18

_STRUCTS: Final[dict[str, Callable[..., tuple[Any, ...]]]] = {
    "Mutation": thrift_structs.Mutation,
    "BatchMutation": thrift_structs.BatchMutation,
    "ColumnDescriptor": thrift_structs.ColumnDescriptor,
    "TIncrement": thrift_structs.TIncrement,
    "TAppend": thrift_structs.TAppend,
    "TScan": thrift_structs.TScan,
    "TAccessControlEntity": thrift_structs.AccessControlEntity,
    "AdminTable": admin_structs.AdminTable,
    "AdminFamily": admin_structs.AdminFamily,
    "AdminColumn": admin_structs.AdminColumn,
    "AdminRead": admin_structs.AdminRead,
    "AdminPosition": admin_structs.AdminPosition,
    "AdminScan": admin_structs.AdminScan,
    "AdminOperation": admin_structs.AdminOperation,
    "AdminMutation": admin_structs.AdminMutation,
}
_FAST: Final[dict[str, FastList]] = {"Mutation": fast_mutations, "BatchMutation": fast_batches}

THRIFT2_ONLY: Final = frozenset(
    b"exists existsAll getMultiple put putMultiple checkAndDelete deleteSingle deleteMultiple openScanner "
    b"getScannerRows closeScanner getScannerResults getRegionLocation getAllRegionLocations checkAndMutate "
    b"getTableDescriptor getTableDescriptors tableExists getTableDescriptorsByPattern "
    b"getTableDescriptorsByNamespace getTableNamesByPattern getTableNamesByNamespace truncateTable isTableDisabled "
    b"isTableAvailable isTableAvailableWithSplit addColumnFamily modifyColumnFamily deleteColumnFamily modifyTable "
    b"createNamespace modifyNamespace deleteNamespace getNamespaceDescriptor listNamespaceDescriptors "
    b"listNamespaces getSlowLogResponses clearSlowLogResponses".split()
)
"""Methods that only HBase's other service has: whoever calls them on this port took the wrong client."""


@final
class ThriftMethod(CallLayout):
    """One call of the interface, with everything that a request of it needs at hand."""

    __slots__ = (
        "call", "declares", "encode", "loose_head", "name", "ok", "result_class", "seconds", "strict_head",
    )  # fmt: skip

    def __init__(self, name: str, fields: dict[int, ValueType]) -> None:
        super().__init__(fields)
        wire_name = name.encode("ascii")
        length = len(wire_name).to_bytes(4, "big")
        self.name = name
        self.strict_head = STRICT + bytes([REPLY]) + length + wire_name
        self.loose_head = length + wire_name + bytes([REPLY])
        self.result_class: type = object
        self.declares: dict[str, int] = {}
        """Declared exceptions: "io", "ia", "exist" -> field id in the answer."""
        self.call: Callable[..., object] = _unbound
        self.encode: Callable[[bytes, Any], bytes | Iterator[bytes]] = _unbound_encode
        self.ok = Counter()
        self.seconds = Histogram()


def _unbound(*_: object) -> object:
    raise NotImplementedError("this method has no handler")


def _unbound_encode(_: bytes, __: object) -> bytes:
    raise NotImplementedError("this method has no encoder")


@final
class ThriftInterface:
    """Methods by the name on the wire; `thrift` is the loaded module, for answers that are built as objects."""

    def __init__(self, path: str = IDL_PATH) -> None:
        # thriftpy2 keeps loaded modules by name for ever; a name of our own cannot meet happybase's Hbase_thrift.
        self.thrift: ModuleType = thriftpy2.load(path, module_name=_MODULE)
        self.admin_thrift: ModuleType = thriftpy2.load(ADMIN_PATH, module_name=_ADMIN_MODULE)
        self._layouts: dict[str, StructLayout] = {}
        self.methods: dict[bytes, ThriftMethod] = {}
        """Of HBase's service."""
        self.admin_methods: dict[bytes, ThriftMethod] = {}
        """Of our own: offered on the same port when bound."""
        self._load(self.thrift.Hbase, self.methods)
        self._load(self.admin_thrift.HbtableAdmin, self.admin_methods)

    def _load(self, service: Any, methods: dict[bytes, ThriftMethod]) -> None:
        for name in service.thrift_services:
            arguments: dict[int, tuple[Any, ...]] = getattr(service, name + "_args").thrift_spec
            method = ThriftMethod(name, {field: _shape(self, spec) for field, spec in arguments.items()})
            method.result_class = getattr(service, name + "_result")
            for field, spec in getattr(service, name + "_result").thrift_spec.items():
                if field:
                    method.declares[spec[1]] = field
            methods[name.encode("ascii")] = method

    def layout_of(self, struct: Any) -> StructLayout:
        name: str = struct.__name__
        if name not in self._layouts:
            make = _STRUCTS[name]
            spec: dict[int, tuple[Any, ...]] = struct.thrift_spec
            fields = [
                Field(number, entry[1], _shape(self, entry), default)
                for (number, entry), default in zip(spec.items(), make(), strict=True)
            ]
            self._layouts[name] = StructLayout(fields, make, fast_list=_FAST.get(name))
        return self._layouts[name]


def _shape(interface: ThriftInterface, spec: tuple[Any, ...]) -> ValueType:
    """`spec` is thriftpy2's: (kind, name, required) or (kind, name, inner, required)."""
    return _inner(interface, (spec[0], spec[2]) if len(spec) > 3 else spec[0])


def _inner(interface: ThriftInterface, spec: Any) -> ValueType:
    kind, detail = spec if isinstance(spec, tuple) else (spec, None)
    if kind == _THRIFT_BINARY:
        return ValueType(STRING)
    if kind == _THRIFT_TEXT:
        return ValueType(STRING, convert=_text)
    if kind in (LIST, SET):
        return ValueType(kind, element=_inner(interface, detail))
    if kind == MAP:
        return ValueType(MAP, key=_inner(interface, detail[0]), element=_inner(interface, detail[1]))
    if kind == STRUCT:
        return ValueType(STRUCT, layout=interface.layout_of(detail))
    return ValueType(kind)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
