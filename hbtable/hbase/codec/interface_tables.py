"""A table holds what thriftpy2 makes of an interface file, and the same is made of it again without the parser.

To read thrift/hbase.thrift, hbase2.thrift and admin.thrift took 0.09 s of the processor, a sixth of a server's start:
half for the parser, and half for an `__init__` of each struct, of which a process calls few. Each is compiled here when
it is called first.

A kind is in tables what it is in thriftpy2, a number of Thrift's or a tuple of kinds, but names stand for structs and
enums.
"""

from types import ModuleType
from typing import Any, Final, final

from thriftpy2.thrift import TException, TPayload, TType, gen_init

_STRUCTS: Final[dict[str, Any]] = {"structs": TPayload, "unions": TPayload, "exceptions": TException}
"""By thriftpy2's name of each kind, what their classes are made of."""
_SUCCESS: Final = 0
"""The number of a result's field that is no exception."""


def table_of(module: Any) -> dict[str, Any]:
    """`module` is what thriftpy2 made of one file. The table can be written as JSON."""
    of_kind = module.__thrift_meta__
    return {
        "types": {name: _written(value) for name, value in vars(module).items() if isinstance(value, int | tuple)},
        "enums": {enum.__name__: enum._NAMES_TO_VALUES for enum in of_kind["enums"]},
        **{kind: {struct.__name__: _fields(struct) for struct in of_kind[kind]} for kind in _STRUCTS},
        "services": {service.__name__: _methods(service) for service in of_kind["services"]},
    }


def _methods(service: Any) -> dict[str, Any]:
    """Each method's arguments, its result, and whether nobody waits for that."""
    found = {}
    for name in service.thrift_services:
        result = getattr(service, f"{name}_result")
        found[name] = [_fields(getattr(service, f"{name}_args")), _fields(result), result.oneway]
    return found


def _fields(struct: Any) -> list[list[Any]]:
    """Each field's number, its entry in thrift_spec, and its default."""
    defaults = dict(struct.default_spec)
    return [[number, _written(entry), defaults[entry[1]]] for number, entry in struct.thrift_spec.items()]


def _written(entry: Any) -> Any:
    if isinstance(entry, tuple):
        return [_written(part) for part in entry]
    return entry.__name__ if isinstance(entry, type) else entry


def module_of(table: dict[str, Any], name: str, path: str) -> ModuleType:
    """The module that thriftpy2 makes of the file at `path`, without numbers of lines, notes and namespaces."""
    return _Maker(name, path).make(table)


@final
class _Maker:
    def __init__(self, name: str, path: str) -> None:
        self._module = ModuleType(name)
        self._of_each = {"__module__": name, "__thrift_file__": path}
        self._made: dict[str, Any] = {}

    def make(self, table: dict[str, Any]) -> ModuleType:
        meta = {"enums": [self._enum(name, values) for name, values in table["enums"].items()]}
        for kind, base in _STRUCTS.items():
            meta[kind] = [self._struct(name, base) for name in table[kind]]
        self._made = {one.__name__: one for kind in meta.values() for one in kind}
        for kind in _STRUCTS:
            for name, fields in table[kind].items():
                self._fill(self._made[name], fields)
        meta["services"] = [self._service(name, methods) for name, methods in table["services"].items()]
        vars(self._module).update({"__thrift_file__": self._of_each["__thrift_file__"], "__thrift_meta__": meta})
        vars(self._module).update(self._made)
        vars(self._module).update({one.__name__: one for one in meta["services"]})
        vars(self._module).update({name: self._kind(kind) for name, kind in table["types"].items()})
        return self._module

    def _enum(self, name: str, values: dict[str, int]) -> type:
        names = {value: text for text, value in values.items()}
        own = {"_ttype": TType.I32, "_VALUES_TO_NAMES": names, "_NAMES_TO_VALUES": values}
        return type(name, (), {**self._of_each, **values, **own})

    def _struct(self, name: str, base: Any) -> Any:
        return type(base)(name, (base,), {**self._of_each, "_ttype": TType.STRUCT, "__init__": _first_init})

    def _fill(self, struct: Any, fields: list[list[Any]]) -> None:
        found = [(number, self._entry(entry), default) for number, entry, default in fields]
        struct.thrift_spec = {number: entry for number, entry, _ in found}
        # As the values stand in calls: a result's comes before its exceptions.
        found.sort(key=lambda field: field[0] != _SUCCESS)
        struct.default_spec = [(entry[1], default) for _, entry, default in found]
        struct._tspec = {
            entry[1]: (entry[-1], entry[0] if len(entry) == 3 else (entry[0], entry[2]))
            for number, entry, _ in found
            if number != _SUCCESS
        }

    def _entry(self, entry: list[Any]) -> tuple[Any, ...]:
        kind, name, *detail, required = entry
        return (kind, name, *map(self._kind, detail), required)

    def _kind(self, kind: Any) -> Any:
        if isinstance(kind, list):
            return tuple(map(self._kind, kind))
        return self._made[kind] if isinstance(kind, str) else kind

    def _service(self, name: str, methods: dict[str, Any]) -> type:
        made: dict[str, Any] = {"thrift_services": list(methods)}
        for method, (arguments, answer, oneway) in methods.items():
            given, result = (self._struct(f"{method}_{part}", TPayload) for part in ("args", "result"))
            self._fill(given, arguments)
            self._fill(result, answer)
            result.oneway = oneway
            made |= {f"{method}_args": given, f"{method}_result": result}
        return type(name, (), {**self._of_each, **made})


def _first_init(self: Any, *values: Any, **fields: Any) -> None:
    """The `__init__` of each struct until it is called: it makes the one of this struct, which takes its place."""
    gen_init(type(self), default_spec=type(self).default_spec)
    self.__init__(*values, **fields)
