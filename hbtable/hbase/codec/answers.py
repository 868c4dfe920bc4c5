"""A reply or an error as bytes, in the protocol that the client speaks.

The binary protocol's usual answers are built by binary_answers; everything else (compact protocol, table descriptions,
declared exceptions) goes through Thrift objects and thriftpy2's codec.
"""

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, Final, Protocol, final

from thriftpy2.protocol.compact import TCompactProtocol
from thriftpy2.protocol.cybin import TCyBinaryProtocol
from thriftpy2.thrift import TApplicationException
from thriftpy2.transport.memory import TCyMemoryBuffer

from hbtable.hbase.codec import binary_answers
from hbtable.hbase.codec.binary_answers import SortedRows, in_map_order
from hbtable.hbase.codec.interface import ThriftInterface, ThriftMethod
from hbtable.hbase.codec.large_answers import LARGE_VALUE_BYTES, LargeAnswer
from hbtable.hbase.codec.scanned_pages import ScannedPages
from hbtable.hbase.errors import Declared
from hbtable.hbase.regions import Region
from hbtable.model.cell import Cell, Row
from hbtable.model.schema import FamilySchema
from hbtable.runtime.slices import OwnList
from hbtable.switches import switches
from hbtable.thrift.failures import encode_failure
from hbtable.thrift.wire import EXCEPTION, REPLY, STRICT, STRING, STRUCT

_SEQUENCE: Final = struct.Struct(">i").pack
_STRUCT_FIELD: Final = struct.Struct(">BH").pack
_STRING_FIELD: Final = struct.Struct(">BHI").pack
_U32: Final = struct.Struct(">I").pack
_STOP: Final = b"\0"
_LIST_COUNT: Final = 4
"""Bytes of the field of a list before the number of its elements."""
_LIST_ELEMENTS: Final = 8
_MANY_CELLS: Final = 512
"""More of them are made into objects, and these into bytes, some at a time."""
_AT_ONCE: Final = 48
_MEMBER_BYTES: Final = 1024
"""So many of a large value take as long as a cell: thriftpy2 copies it three times."""
_KEPT_ERRORS: Final = 64
Offload = Callable[[Callable[[], bytes]], bytes]
Collect = Callable[[Iterable[bytes]], bytes | LargeAnswer]


def _at_once(function: Callable[[], bytes]) -> bytes:
    return function()


_ENCODERS: Final[dict[str, Callable[[bytes, Any], bytes | Iterator[bytes]]]] = {
    "void": binary_answers.nothing,
    "bool": binary_answers.boolean,
    "i32": binary_answers.i32,
    "i64": binary_answers.i64,
    "text": binary_answers.text,
    "names": binary_answers.names,
    "flags": binary_answers.flags,
    "cells": binary_answers.cells,
    "rows": binary_answers.rows,
}
_ANSWERS: Final = {
    "getTableNames": "names",
    "getTableNamesWithIsTableEnabled": "flags",
    "getColumnDescriptors": "descriptors",
    "getTableRegions": "regions",
    "getRegionInfo": "region",
    "getClusterId": "text",
    "getThriftServerType": "i32",
    "atomicIncrement": "i64",
    "isTableEnabled": "bool",
    "checkAndPut": "bool",
    "grant": "bool",
    "revoke": "bool",
    "append": "cells",
}


def answer_kind(method: str) -> str:
    """The kind of a method's answer, by a name that _ENCODERS and Objects know."""
    if method in _ANSWERS:
        return _ANSWERS[method]
    if method.startswith("admin"):
        return "structs"
    if method.startswith("scannerOpen"):
        return "i32"
    if method.startswith(("getRow", "scannerGet")):
        return "rows"
    return "cells" if method.startswith("get") else "void"


class Dialect(Protocol):
    """The encoder of answers for one kind of client. Every function returns a whole message, without a frame."""

    @switches
    def reply(self, method: ThriftMethod, sequence: int, value: Any) -> bytes | LargeAnswer:
        """*Switches* where the answer is large."""

    def declared(self, method: ThriftMethod, sequence: int, error: Declared) -> bytes: ...
    def refusal(self, name: bytes, sequence: int, code: int, message: str) -> bytes:
        """A TApplicationException."""


@final
class Objects:
    """Values as thriftpy2's objects."""

    def __init__(self, interface: ThriftInterface) -> None:
        self._thrift: Any = interface.thrift

    def result(self, method: ThriftMethod, value: Any) -> Any:
        answer: Any = method.result_class()
        if method.returns:
            answer.success = self._maker(method)(value)
        return answer

    def binary_pieces(self, method: ThriftMethod, value: Any) -> Iterator[bytes]:
        """The bytes of a large result(), some at a time. An empty piece is an occasion to let others run."""
        yield from _field_pieces(method.result_class(), 0, value, self._maker(method), method.module)
        yield _STOP

    def _maker(self, method: ThriftMethod) -> Callable[[Any], Any]:
        """Makes what a method answers with of the value, or, of a list, of some of its elements."""
        make = None if method.module is not self._thrift else getattr(self, "_" + answer_kind(method.name), None)
        return make or partial(_objects, module=method.module)

    def exception(self, method: ThriftMethod, error: Declared) -> Any:
        answer = method.result_class()
        module: Any = method.module
        if module is not self._thrift and hasattr(module, "TIOError"):  # Thrift2, whose errors are HBase's alone
            made = (
                module.TIOError(message=error.message, canRetry=error.can_retry)
                if error.field == "io"
                else module.TIllegalArgument(error.message)
            )
        else:
            kinds = {"io": "IOError", "ia": "IllegalArgument", "exist": "AlreadyExists"}
            made = getattr(module, kinds[error.field])(message=error.message, classes=error.classes)
            if error.field == "io":
                made.canRetry = error.can_retry
        setattr(answer, error.field, made)
        return answer

    def _cells(self, value: Sequence[Cell]) -> list[Any]:
        return [self._thrift.TCell(content, timestamp) for _, timestamp, content in value]

    def _rows(self, value: Sequence[Row] | ScannedPages) -> list[Any]:
        thrift = self._thrift
        if isinstance(value, ScannedPages):
            value = value.rows()
        if type(value) is SortedRows:
            return [
                thrift.TRowResult(
                    row=row, sortedColumns=[thrift.TColumn(name, thrift.TCell(held, ts)) for name, ts, held in found]
                )
                for row, found in value
            ]
        return [
            thrift.TRowResult(row=row, columns={name: thrift.TCell(held, ts) for name, ts, held in in_map_order(found)})
            for row, found in value
        ]

    def _descriptors(self, value: Mapping[bytes, FamilySchema]) -> dict[bytes, Any]:
        return {name: self._descriptor(name, family) for name, family in value.items()}

    def _descriptor(self, name: bytes, family: FamilySchema) -> Any:
        return self._thrift.ColumnDescriptor(
            name=name,
            maxVersions=family.max_versions,
            compression=family.compression,
            inMemory=family.in_memory,
            bloomFilterType=family.bloom,
            blockCacheEnabled=family.block_cache,
            timeToLive=family.ttl_seconds,
        )

    def _regions(self, value: Sequence[Region]) -> list[Any]:
        return [self._region(region) for region in value]

    def _region(self, value: Region) -> Any:
        return self._thrift.TRegionInfo(
            startKey=value.start_row,
            endKey=value.stop_row,
            id=value.created_millis,
            name=value.name,
            version=1,
            serverName=value.host,
            port=value.port,
        )


@final
class BinaryDialect:
    """The binary protocol, with versions (strict) or, for very old clients, without."""

    def __init__(self, interface: ThriftInterface, strict: bool, collect: Collect = b"".join) -> None:
        """`collect` puts the pieces of a large answer together."""
        self._objects = Objects(interface)
        self._strict = strict
        self._collect = collect
        self._errors: dict[tuple[object, ...], bytes] = {}
        """Errors as they go out, of the last few: when too much is asked for, the same one goes to thousands."""
        for method in interface.methods.values():
            method.encode = _ENCODERS.get(answer_kind(method.name), self._object_encoder(method))
        for method in interface.admin_methods.values():
            method.encode = self._object_encoder(method) if method.returns else _ENCODERS["void"]
        for method in interface.thrift2_methods.values():
            method.encode = self._object_encoder(method)

    @switches
    def reply(self, method: ThriftMethod, sequence: int, value: Any) -> bytes | LargeAnswer:
        head = method.strict_head if self._strict else method.loose_head
        answer = method.encode(head + _SEQUENCE(sequence), value)
        return answer if isinstance(answer, bytes) else self._collect(answer)

    def declared(self, method: ThriftMethod, sequence: int, error: Declared) -> bytes:
        head = method.strict_head if self._strict else method.loose_head
        key = (method, *error[:3], *(error.classes or ()))
        answer = self._errors.get(key)
        if answer is None:
            if len(self._errors) >= _KEPT_ERRORS:
                self._errors.clear()
            answer = self._errors[key] = _binary(self._objects.exception(method, error))
        return head + _SEQUENCE(sequence) + answer

    def refusal(self, name: bytes, sequence: int, code: int, message: str) -> bytes:
        length = len(name).to_bytes(4, "big")
        kind = bytes([EXCEPTION])
        head = STRICT + kind + length + name if self._strict else length + name + kind
        return head + _SEQUENCE(sequence) + encode_failure(message, code)

    def _object_encoder(self, method: ThriftMethod) -> Callable[[bytes, Any], bytes | Iterator[bytes]]:
        def encode(head: bytes, value: Any) -> bytes | Iterator[bytes]:
            if not _is_large(value):
                return head + _binary(self._objects.result(method, value))
            return chain((head,), self._objects.binary_pieces(method, value))

        return encode


@final
class CompactDialect:
    """The compact protocol: thriftpy2 writes it in Python, so large answers cost twenty times as much."""

    def __init__(self, interface: ThriftInterface, offload: Offload = _at_once) -> None:
        self._objects = Objects(interface)
        self._offload = offload

    @switches
    def reply(self, method: ThriftMethod, sequence: int, value: Any) -> bytes:
        def whole() -> bytes:
            return _compact(method.name, REPLY, sequence, self._objects.result(method, value))

        return self._offload(whole) if _is_large(value) else whole()

    def declared(self, method: ThriftMethod, sequence: int, error: Declared) -> bytes:
        return _compact(method.name, REPLY, sequence, self._objects.exception(method, error))

    def refusal(self, name: bytes, sequence: int, code: int, message: str) -> bytes:
        text = name.decode("utf-8", "replace")
        return _compact(text, EXCEPTION, sequence, TApplicationException(code, message))


def _objects(value: Any, module: Any) -> Any:
    """Tuples of admin.structs or thrift2_structs as Thrift's objects, by name and place."""
    if isinstance(value, list):
        return [_objects(element, module) for element in value]
    if not isinstance(value, tuple):
        return value
    made = getattr(module, type(value).__name__)()
    spec = made.thrift_spec
    for place, field in enumerate(sorted(spec)):
        setattr(made, spec[field][1], _objects(value[place], module))
    return made


def _field_pieces(owner: Any, number: int, value: Any, make: Callable[[Any], Any], module: Any) -> Iterator[bytes]:
    """One field of a struct that has no other. A list's elements are those bytes of lists of some of them: thriftpy2
    writes them in C, and lets nobody run before all are written. What is written of an OwnList is freed."""
    name = owner.thrift_spec[number][1]
    if isinstance(value, bytes) and len(value) > LARGE_VALUE_BYTES:  # not copied: thriftpy2 does so three times
        yield _STRING_FIELD(STRING, number, len(value))
        yield value
    elif not isinstance(value, list | tuple) or _left(value, _AT_ONCE) >= 0:
        setattr(owner, name, make(value))
        yield _binary(owner)[: -len(_STOP)]
    elif not isinstance(value, list):
        yield _STRUCT_FIELD(STRUCT, number)
        yield from _struct_pieces(value, module)
    else:
        setattr(owner, name, [])
        yield _binary(owner)[:_LIST_COUNT] + _U32(len(value))
        first = 0
        while first < len(value):
            stop, left = first, _AT_ONCE
            while stop < len(value) and (left := _left(value[stop], left - 1)) >= 0:
                stop += 1
            if stop == first and isinstance(value[first], tuple):
                yield from _struct_pieces(value[first], module)
            else:
                setattr(owner, name, make(value[first : max(stop, first + 1)]))
                yield _binary(owner)[_LIST_ELEMENTS : -len(_STOP)]
            stop = max(stop, first + 1)
            if isinstance(value, OwnList):
                value[first:stop] = [None] * (stop - first)
            first = stop


def _struct_pieces(value: Any, module: Any) -> Iterator[bytes]:
    """A whole struct, of its tuple."""
    kind = getattr(module, type(value).__name__)
    nothing = {name: None for _, name, *_ in kind.thrift_spec.values()}  # not even what stands for a field left out
    for number, part in zip(sorted(kind.thrift_spec), value, strict=True):
        if part is not None:
            yield from _field_pieces(kind(**nothing), number, part, partial(_objects, module=module), module)
    yield _STOP


def _is_large(value: object) -> bool:
    """Whether it holds so many cells that making objects of them takes its time: of rows, or of a page of them."""
    if isinstance(value, ScannedPages):
        return value.count > _MANY_CELLS  # of fewer rows the cells are plain, and seldom many
    return _left(value, _MANY_CELLS) < 0


def _left(value: object, most: int) -> int:
    """`most`, less the members of all lists and maps in the value, and more for large ones; some number below 0 as soon
    as it is exceeded."""
    if isinstance(value, list | dict):
        most -= len(value)
        if isinstance(value, dict):
            return most
    elif not isinstance(value, tuple):
        return most
    for one in value:
        if most < 0:
            return most
        if isinstance(one, list | tuple | dict):
            most = _left(one, most)
        elif isinstance(one, bytes) and len(one) > LARGE_VALUE_BYTES:
            most -= len(one) // _MEMBER_BYTES
    return most


def _binary(value: Any) -> bytes:
    buffer = TCyMemoryBuffer()
    value.write(TCyBinaryProtocol(buffer))
    return bytes(buffer.getvalue())


def _compact(name: str, kind: int, sequence: int, value: Any) -> bytes:
    buffer = TCyMemoryBuffer()
    protocol = TCompactProtocol(buffer)
    # The compact protocol writes numbers of calls as unsigned; a negative one would never end in thriftpy2's loop.
    protocol.write_message_begin(name, kind, sequence & 0xFFFFFFFF)
    value.write(protocol)
    protocol.write_message_end()
    return bytes(buffer.getvalue())
