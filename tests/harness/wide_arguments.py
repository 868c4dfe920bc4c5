"""Calls of every method of every service in which one list or map is very long, and all else is as it should be.

Made from the interface files, so that a method, a struct or a field that is added is there by itself.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.harness.guarded_gateway import SERVICES
from tests.harness.interfaces import interface
from tests.harness.wire_trees import BOOL, I32, I64, LIST, MAP, SET, STRING, STRUCT, Node

TABLE = b"t"
OTHER = b"other"
"""The table that is altered, dropped and made again."""
ROW = b"wide"
"""A row of very many cells f:0000000, f:0000001 and so on."""
_BINARY, _TEXT = 18, 11
Path = tuple[int, ...]
"""The numbers of the fields on the way to the long list; -1 goes into a list."""


@dataclass(frozen=True)
class WideCall:
    """`words`: what is long, for people. `path` leads to the field of `fields` that is as long as `count`."""

    service: str
    method: str
    words: str
    fields: dict[int, tuple[Any, ...]]
    path: Path
    count: int

    def arguments(self) -> Node:
        """Whole. Made when it is asked for: all of them together take ten seconds of the processor, and much memory."""
        arguments = _struct(self.fields, self.path, self.count, 0)
        return _renamed(arguments) if self.method in _DROPPING else arguments


def wide_calls(count: int) -> Iterator[WideCall]:
    """One for each list and map that the arguments of any method may hold, and one with nothing long."""
    for service, (_, name) in SERVICES.items():
        module = _interface(service)
        kinds = getattr(module, name)
        for method in kinds.thrift_services:
            fields = getattr(kinds, method + "_args").thrift_spec
            for path, words in [((), "nothing"), *_paths(fields)]:
                if words.endswith("attributes") and method not in _WITH_ATTRIBUTES:
                    continue
                yield WideCall(service, method, words, fields, path, count)


_TABLE_NAMES = ("tableName", "table", "tableNameOrRegionName")
_WITH_ATTRIBUTES = ("mutateRow", "getMultiple", "adminAlterTable", "modifyTable")
"""Others have them as well, read in the same way."""


def _interface(service: str) -> Any:
    return interface(SERVICES[service][0])


_DROPPING = {
    "createTable", "deleteTable", "disableTable", "enableTable", "truncateTable", "modifyTable", "addColumnFamily",
    "deleteColumnFamily", "modifyColumnFamily", "adminCreateTable", "adminAlterTable", "adminTruncateTable",
    "adminMerge",
}  # fmt: skip
"""Methods that make, change or drop a table: another one."""


def _renamed(node: Node) -> Node:
    if node.kind == STRUCT:
        return node.but(value=[(number, _renamed(one)) for number, one in node.value])
    return node.but(value=OTHER) if node.kind == STRING and node.value == TABLE else node


def _spec(field: tuple[Any, ...]) -> tuple[int, Any]:
    kind = STRING if field[0] in (_BINARY, _TEXT) else field[0]
    return kind, field[2] if len(field) > 3 else None


def _inner(detail: Any) -> tuple[int, Any]:
    kind, inner = detail if isinstance(detail, tuple) else (detail, None)
    return STRING if kind in (_BINARY, _TEXT) else kind, inner


def _paths(fields: dict[int, tuple[Any, ...]]) -> Iterator[tuple[Path, str]]:
    for number, field in sorted(fields.items()):
        for path, words in _paths_of(_spec(field)):
            yield (number, *path), field[1] + words


def _paths_of(spec: tuple[int, Any]) -> Iterator[tuple[Path, str]]:
    kind, detail = spec
    if kind in (LIST, SET, MAP):
        yield (), ""
    if kind in (LIST, SET):
        for path, words in _paths_of(_inner(detail)):
            yield (-1, *path), words
    if kind == STRUCT:
        for path, words in _paths(detail.thrift_spec):
            yield path, "." + words


def _struct(fields: dict[int, tuple[Any, ...]], path: Path, count: int, number: int) -> Node:
    """The `number`-th of its kind. Of optional things there is what leads to the long list, and no filter."""
    values = []
    names = {field[1] for field in fields.values()}
    for place, field in sorted(fields.items()):
        is_way = path[:1] == (place,)
        if is_way or _is_sent(field[1], not path, names):
            is_as_long = path and {"columns", "values"} <= names and field[1] in ("columns", "values")
            rest = path[1:] if is_way else () if is_as_long else None
            values.append((place, _value(_spec(field), field[1], rest, count, number)))
    return Node(STRUCT, values)


_PASSED_OVER = {
    "timestamp", "timeRange", "filterString", "filterBytes", "filter", "attributes", "authorizations", "durability",
    "cellVisibility", "targetReplicaId", "consistency", "readType", "colFamTimeRangeMap", "storeLimit", "storeOffset",
    "existence_only", "position", "limit", "batchSize", "configuration", "bloomFilterType", "compression", "bloom",
    "minVersions", "maxVersions", "localityGroup", "stopRow", "tags", "type", "deleteType", "deleteSingle",
    "ttlMillis", "state", "newVersionBehavior", "cellsPerRow", "maxRows", "blockBytes", "timeToLiveSeconds",
}  # fmt: skip
"""Fields that are left out, so that the call does as much as it can."""
_LISTED = ("columns", "splitRows", "splitKeys")
"""Lists of which there is none where another one is the long one."""


def _is_sent(name: str, is_alone: bool, names: set[str]) -> bool:
    """Of a field that does not lead to the long list. `is_alone`: nothing of its struct does."""
    if name in _LISTED:
        return not is_alone and "values" in names
    return name not in _PASSED_OVER


def _value(spec: tuple[int, Any], name: str, path: Path | None, count: int, number: int) -> Node:
    """`path`: the rest of the way to the long list, None elsewhere."""
    kind, detail = spec
    if kind == STRING:
        return Node(STRING, _bytes(name, number))
    if kind in (LIST, SET):
        inner = _inner(detail)
        if path is None or path:
            rest = None if path is None else path[1:]
            return Node(kind, [_value(inner, name, rest, count, number)], (inner[0], 0))
        # Thrift2's mutations of a row are all of this one row.
        numbers = [0] * count if name == "mutations" and _has_field(inner, "put") else range(count)
        return Node(kind, [_value(inner, name, None, count, one) for one in numbers], (inner[0], 0))
    if kind == MAP:
        key, inner = _inner(detail[0]), _inner(detail[1])
        many = range(count if path == () else 0)
        pairs = [(Node(STRING, b"k%d" % one), _value(inner, name, None, count, one)) for one in many]
        return Node(MAP, pairs, (key[0], inner[0]))
    if kind == STRUCT:
        return _struct(detail.thrift_spec, path or (), count, number)
    if kind == BOOL:
        return Node(BOOL, name not in ("reversed", "raw", "keepSplits", "preserveSplits", "major", "isDelete"))
    small = {"kind": 8, "maxStamp": 2**62, "maxTimestamp": 2**62, "numRows": 1000, "nbRows": 1000, "version": 1}
    return Node(kind, small.get(name, 1 if kind in (I32, I64) else 0))


def _has_field(spec: tuple[int, Any], name: str) -> bool:
    return spec[0] == STRUCT and any(field[1] == name for field in spec[1].thrift_spec.values())


def _bytes(name: str, number: int) -> bytes:
    if name in _TABLE_NAMES:
        return TABLE
    if name == "ns":
        return b"default"
    if name in ("column", "columns", "columnName"):
        return b"f:%07d" % number
    if name in ("family", "columnFamilies"):
        return b"f"
    if name in ("row", "startRow", "rows", "splitRows", "splitKeys"):
        return b"%s%07d" % (ROW, number) if number else ROW
    return b"%07d" % number
