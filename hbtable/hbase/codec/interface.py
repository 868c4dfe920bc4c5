"""The interface files, loaded: every method with the layout of its arguments and what it may answer.

thrift/hbase.thrift, thrift/hbase2.thrift and thrift/admin.thrift are the only places where names, ids and types stand;
this turns them into what the readers and the answers work from. Handlers are attached by bind(); a method without one
cannot be called.
"""

import os
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, Final, NamedTuple, final

from hbtable.hbase.admin import structs as admin_structs
from hbtable.hbase.codec import thrift2_structs, thrift_structs
from hbtable.hbase.codec.either import EitherCall
from hbtable.hbase.codec.fast_mutations import fast_batches, fast_mutations
from hbtable.hbase.codec.fast_puts import fast_puts
from hbtable.hbase.codec.interface_files import load_interface
from hbtable.hbase.codec.missing import checked
from hbtable.hbase.codec.usual_calls import UsualCalls
from hbtable.metrics.registry import Counter, Histogram
from hbtable.thrift.shapes import CallLayout, FastList, Field, StructLayout, ValueType
from hbtable.thrift.wire import LIST, MAP, REPLY, SET, STRICT, STRING, STRUCT

IDL_PATH: Final = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(__file__))), "idl", "hbase.thrift")
ADMIN_PATH: Final = os.path.join(os.path.dirname(IDL_PATH), "admin.thrift")
_MODULE: Final = "hbtable_hbase_thrift"
THRIFT2_PATH: Final = os.path.join(os.path.dirname(IDL_PATH), "hbase2.thrift")
_ADMIN_MODULE: Final = "hbtable_admin_thrift"
_THRIFT2_MODULE: Final = "hbtable_hbase2_thrift"
_THRIFT_TEXT: Final = 11
_THRIFT_BINARY: Final = 18

_STRUCTS: Final[dict[str, Callable[..., tuple[Any, ...]]]] = {
    "Mutation": thrift_structs.Mutation,
    "BatchMutation": thrift_structs.row_batch,
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
    "AdminArrowColumn": admin_structs.AdminArrowColumn,
    "AdminAggregate": admin_structs.AdminAggregate,
    "AdminAggregation": admin_structs.AdminAggregation,
    "AdminOperation": admin_structs.AdminOperation,
    "AdminMutation": admin_structs.AdminMutation,
    "AdminGrant": admin_structs.AdminGrant,
}
_FAST: Final[dict[str, FastList]] = {"Mutation": fast_mutations, "BatchMutation": fast_batches, "TPut": fast_puts}

_THRIFT2_STRUCTS: Final[dict[str, Callable[..., tuple[Any, ...]]]] = {
    # Thrift1 has structs of these names, too.
    name.replace("Thrift2", "T"): value
    for name, value in vars(thrift2_structs).items()
    if name.startswith("T") and isinstance(value, type)
}


@final
class ThriftMethod(CallLayout):
    """One call of the interface, with everything that a request of it needs at hand."""

    __slots__ = (
        "call", "choose", "declares", "encode", "look_ahead", "loose_head", "module", "name", "ok", "required",
        "result_class", "returns", "seconds", "strict_head",
    )  # fmt: skip

    def __init__(self, name: str, fields: dict[int, ValueType], module: Any) -> None:
        super().__init__(fields)
        self.module = module
        """The interface file, loaded: its structs are what the answer is made of."""
        self.required: list[tuple[int, str]] = []
        self.choose: Choose | None = None
        """Of a name that two services have: which of the two a call is."""
        wire_name = name.encode("ascii")
        length = len(wire_name).to_bytes(4, "big")
        self.name = name
        self.strict_head = STRICT + bytes([REPLY]) + length + wire_name
        self.loose_head = length + wire_name + bytes([REPLY])
        self.result_class: type = object
        self.returns = False
        self.declares: dict[str, int] = {}
        """Declared exceptions: "io", "ia", "exist" -> field id in the answer."""
        self.call: Callable[..., object] = _unbound
        self.encode: Callable[[bytes, Any], bytes | Iterator[bytes]] = _unbound_encode
        self.look_ahead: LookAhead | None = None
        """Makes the answer to the next call with the same arguments (hbase/read_ahead.py)."""
        self.ok = Counter()
        self.seconds = Histogram()


class PageAhead(NamedTuple):
    """The answer of a call, made before it was asked for."""

    answer: Any
    take: Callable[[], bool]
    """Whether the call would return so now. Then it has been carried out by this. Raises what the call would.
    *Switches.*"""


LookAhead = Callable[..., Callable[[], PageAhead | None] | None]
"""Takes how many bytes an answer had, and the arguments of its call. Gives what makes the next one, of GROWTH times as
many at most, and *switches*. None: nothing is made ahead."""
GROWTH: Final = 2

Choose = Callable[[list[object], ThriftMethod | None], tuple[ThriftMethod, list[object]]]
"""(arguments, the method that was called before on this connection) -> (method, its arguments)."""


def _unbound(*_: object) -> object:
    raise NotImplementedError("this method has no handler")


def _unbound_encode(_: bytes, __: object) -> bytes:
    raise NotImplementedError("this method has no encoder")


@final
class ThriftInterface:
    """Methods by the name on the wire; `thrift` is the loaded module, for answers that are built as objects."""

    def __init__(self, path: str = IDL_PATH) -> None:
        # thriftpy2 keeps loaded modules by name for ever; a name of our own cannot meet happybase's Hbase_thrift.
        self.thrift: ModuleType = load_interface(path, _MODULE)
        self.admin_thrift: ModuleType = load_interface(ADMIN_PATH, _ADMIN_MODULE)
        self.thrift2: ModuleType = load_interface(THRIFT2_PATH, _THRIFT2_MODULE)
        self.methods: dict[bytes, ThriftMethod] = {}
        """Of HBase's service."""
        self.admin_methods: dict[bytes, ThriftMethod] = {}
        """Of our own: offered on the same port when bound."""
        self.thrift2_methods: dict[bytes, ThriftMethod] = {}
        """Of HBase's newer service: offered on the same port when bound."""
        structs = _Structs(_STRUCTS)
        _load(self.thrift.Hbase, self.thrift, structs, self.methods)
        for method in self.methods.values():
            if _is_of_a_row(getattr(self.thrift.Hbase, method.name + "_args").thrift_spec):
                method.usual = UsualCalls()
        _load(self.admin_thrift.HbtableAdmin, self.admin_thrift, structs, self.admin_methods)
        structs = _Structs(_THRIFT2_STRUCTS, is_strict=True)
        _load(self.thrift2.THBaseService, self.thrift2, structs, self.thrift2_methods)
        for method in self.thrift2_methods.values():
            method.required = _required(getattr(self.thrift2.THBaseService, method.name + "_args").thrift_spec)

    def offer_thrift2(self) -> None:
        """Adds Thrift2's methods to the others. Where a name is Thrift1's as well, the call is laid out for both, and
        its arguments tell which one it is."""
        for name, method in self.thrift2_methods.items():
            if name in self.methods:
                _either(self.methods[name], method)
            else:
                self.methods[name] = method


def _either(first: ThriftMethod, second: ThriftMethod) -> None:
    both = EitherCall(first.layout, second.layout)
    count, usual = both.first_count, both.usual

    def choose(values: list[object], before: ThriftMethod | None) -> tuple[ThriftMethod, list[object]]:
        if values[count:] == usual:  # each mutateRow of Thrift1
            return first, values[:count]
        if both.tells_by_arguments:
            is_second = both.is_second(values)
        else:  # no arguments: as the calls before it
            is_second = before is not None and before.module is second.module
        return (second, both.second(values)) if is_second else (first, both.first(values))

    first.layout = both.layout
    first.choose = choose


def _load(service: Any, module: Any, structs: "_Structs", methods: dict[bytes, ThriftMethod]) -> None:
    for name in service.thrift_services:
        arguments: dict[int, tuple[Any, ...]] = getattr(service, name + "_args").thrift_spec
        method = ThriftMethod(name, {field: _shape(structs, spec) for field, spec in arguments.items()}, module)
        method.result_class = getattr(service, name + "_result")
        for field, spec in getattr(service, name + "_result").thrift_spec.items():
            if field == 0:
                method.returns = True
            else:
                method.declares[spec[1]] = field
        methods[name.encode("ascii")] = method


def _is_of_a_row(spec: dict[int, tuple[Any, ...]]) -> bool:
    """Whether the call is about one row, or about several, which most clients send one by one."""
    return [entry[1] for entry in list(spec.values())[:2]] in (["tableName", "row"], ["tableName", "rowBatches"])


def _required(spec: dict[int, tuple[Any, ...]]) -> list[tuple[int, str]]:
    """By place in a list of arguments."""
    return [(field - 1, entry[1]) for field, entry in spec.items() if entry[-1]]


@final
class _Structs:
    """Layouts of a service's structs, by name. `is_strict`: one without a required field is a Missing."""

    def __init__(self, makers: dict[str, Callable[..., tuple[Any, ...]]], is_strict: bool = False) -> None:
        self._makers = makers
        self._is_strict = is_strict
        self._layouts: dict[str, StructLayout] = {}

    def layout_of(self, struct: Any) -> StructLayout:
        name: str = struct.__name__
        if name not in self._layouts:
            self._layouts[name] = self._strict(struct) if self._is_strict else self._lenient(struct)
        return self._layouts[name]

    def _lenient(self, struct: Any) -> StructLayout:
        make = self._makers[struct.__name__]
        spec: dict[int, tuple[Any, ...]] = struct.thrift_spec
        fields = [
            Field(number, entry[1], _shape(self, entry), default)
            for (number, entry), default in zip(spec.items(), make(), strict=True)
        ]
        return StructLayout(fields, make, fast_list=_FAST.get(struct.__name__))

    def _strict(self, struct: Any) -> StructLayout:
        name, spec = struct.__name__, struct.thrift_spec
        fields = [Field(number, spec[number][1], _shape(self, spec[number]), None) for number in sorted(spec)]
        required = [(place, field.name) for place, field in enumerate(fields) if spec[field.id][-1]]
        return StructLayout(fields, checked(self._makers[name], name, required), fast_list=_FAST.get(name))


def _shape(structs: _Structs, spec: tuple[Any, ...]) -> ValueType:
    """`spec` is thriftpy2's: (kind, name, required) or (kind, name, inner, required)."""
    return _inner(structs, (spec[0], spec[2]) if len(spec) > 3 else spec[0])


def _inner(structs: _Structs, spec: Any) -> ValueType:
    kind, detail = spec if isinstance(spec, tuple) else (spec, None)
    if kind == _THRIFT_BINARY:
        return ValueType(STRING)
    if kind == _THRIFT_TEXT:
        return ValueType(STRING, convert=_text)
    if kind in (LIST, SET):
        return ValueType(kind, element=_inner(structs, detail))
    if kind == MAP:
        return ValueType(MAP, key=_inner(structs, detail[0]), element=_inner(structs, detail[1]))
    if kind == STRUCT:
        return ValueType(STRUCT, layout=structs.layout_of(detail))
    return ValueType(kind)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
