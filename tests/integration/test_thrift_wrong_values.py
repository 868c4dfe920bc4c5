"""Every field of every call of the three Thrift services takes what lies at its edges: the server answers, or says in
an exception of the interface what is wrong. The neighbours are unharmed, also after kill -9, and answers can be read.

Calls and fields are found in the interface files.
"""

from collections.abc import Iterator
from contextlib import closing
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from thriftpy2.rpc import make_client
from thriftpy2.thrift import TApplicationException, TType

from tests.harness.interfaces import interface
from tests.harness.tiers import one_in
from tests.harness.warm_server import WarmServer

pytestmark = pytest.mark.integration

HBASE = interface("hbase")
ADMIN = interface("admin")
THRIFT2 = interface("hbase2")
NEIGHBOURS = {b"a%03d" % number: {b"f:m": b"%d" % number} for number in range(40)}

NEWER = THRIFT2.THBaseService

TEXTS = [
    None, b"", b"m", b"\0", b"m\0b", b"\xff\xfe", b":", b"::", b"f:", b"f:m", b"f", b"h:m", b"hbase:meta", b"../x",
    b"x" * 300, b"x" * 32_767, b"x" * 32_768, b"f:" + b"x" * 70_000, b"x" * (11 << 20), "ä".encode(), b"PageFilter(1)",
    b"=,'",
]  # fmt: skip
EDGES: dict[int, list[Any]] = {
    TType.BOOL: [None, False, True],
    TType.BYTE: [None, -128, -1, 0, 1, 127],
    TType.I16: [None, -(2**15), -1, 0, 1, 2**15 - 1],
    TType.I32: [None, -(2**31), -1, 0, 1, 2, 2**31 - 1],
    TType.I64: [None, -(2**63), -1, 0, 1, 2**40, 2**63 - 2, 2**63 - 1],
    TType.DOUBLE: [None, 0.0, float("nan"), float("inf")],
    TType.STRING: TEXTS,
    TType.BINARY: TEXTS,
}
TABLES = {"deleteTable", "disableTable", "enableTable", "adminTruncateTable", "adminAlterTable", "createTable"}
"""Calls that change a table as a whole: of another one than the neighbours'."""
USUAL: dict[str, Any] = {
    "tableName": b"t", "table": b"t", "tableNameOrRegionName": b"t", "row": b"m", "column": b"f:m", "value": b"v",
    "columns": [b"f:m"], "rows": [b"m"], "values": [b"v"], "numVersions": 3, "timestamp": 2**63 - 1, "startRow": b"k",
    "stopRow": b"n", "startAndPrefix": b"m", "nbRows": 10, "id": 0, "scannerId": 0, "ammount": 1, "amount": 1,
    "family": b"f", "qualifier": b"m", "kind": 8, "maxVersions": 3, "maxTimestamp": 2**63 - 1, "blockBytes": 65536,
    "compression": "NONE", "bloom": "ROW", "bloomFilterType": "ROW", "timeToLive": 1000, "timeToLiveSeconds": 1000,
    "version": 1, "splitRows": [b"k"], "isDelete": False, "writeToWAL": True, "maxRows": 5, "scannerID": 0,
    "localityGroup": "", "attributes": {}, "filterString": None, "filter": None, "properties": {},
}  # fmt: skip


EXCEPTIONS = (HBASE.IOError, HBASE.IllegalArgument, HBASE.AlreadyExists, ADMIN.IOError, ADMIN.IllegalArgument)
EXCEPTIONS += (THRIFT2.TIOError, THRIFT2.TIllegalArgument)


def usual(method: str, name: str, spec: tuple[Any, ...]) -> Any:
    """A value that the call can work with."""
    kind = spec[0]
    if kind == TType.STRUCT:
        return build(method, spec[2])
    if name in ("name", "tableName") and method in TABLES:
        return b"f" if name == "name" and method == "createTable" else b"scratch"
    if name == "table" and method == "adminDeleteRange":
        return b"scratch"
    if name == "name":
        return {"adminSwitch": b"splits", "adminIsOn": b"splits"}.get(method, b"t")
    if kind == TType.LIST and isinstance(spec[2], tuple) and spec[2][0] == TType.STRUCT:
        return [build(method, spec[2][1])]
    if name == "value" and kind == TType.I64:
        return 1
    return USUAL.get(name)


def build(method: str, struct: Any) -> Any:
    made = struct()
    for field in struct.thrift_spec.values():
        kind, name, rest = field[0], field[1], field[2:]
        value = usual(method, name, (kind, name, *rest))
        if value is not None:
            setattr(made, name, value)
    if struct.__name__ == "AdminFamily":
        made.name = b"f"
    if struct.__name__ == "AdminAggregate":
        made.kind, made.readAs = "max", "int8"
    return made


def variants(spec: tuple[Any, ...], value: Any) -> Iterator[Any]:
    """`value` with one thing in it at an edge."""
    kind = spec[0]
    if kind == TType.STRUCT:
        yield None
        for field in spec[2].thrift_spec.values():
            for edge in variants(field, getattr(value, field[1])):
                changed = deepcopy(value)
                setattr(changed, field[1], edge)
                yield changed
    elif kind in (TType.LIST, TType.SET):
        yield None
        yield []
        element = spec[2]
        inner = (element[0], "", element[1]) if isinstance(element, tuple) else (element, "")
        for edge in variants(inner, value[0] if value else None):
            if edge is not None:
                yield [edge]
                yield [*(value or []), edge, edge]
    elif kind == TType.MAP:
        yield None
        yield {}
        if isinstance(spec[2][1], tuple):
            yield {"f": spec[2][1][1](2**63 - 1, -1)}
            return
        for key in ("", "READONLY", "x" * 70_000, "\0"):
            for text in ("", "true", "y" * (2 << 20)):
                yield {key: text}
    else:
        yield from EDGES[kind]


def calls(service: Any) -> list[str]:
    return sorted(service.thrift_services)


class Caller:
    """Calls by name; a connection that the server closes for a message it does not take is made anew."""

    def __init__(self, server: WarmServer, service: Any) -> None:
        self._server = server
        self._service = service
        self._client: Any = None
        self.refused = self.answered = 0

    def call(self, method: str, arguments: list[Any]) -> Any:
        if self._client is None:
            self._client = make_client(self._service, "127.0.0.1", self._server.port, timeout=60_000)
        message = ""
        try:
            answer = getattr(self._client, method)(*arguments)
        except TApplicationException as error:
            message = str(error).replace("internal error", "")
        except EXCEPTIONS as error:
            message = error.message
        else:
            self.answered += 1
            return answer
        assert message, f"{method} was refused without a reason"
        self.refused += 1
        return None

    def close(self) -> None:
        if self._client is not None:
            self._client.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmServer]:
    folder: Path = tmp_path_factory.mktemp("calls") / "data"
    with WarmServer(folder, ["log.durability=os"]) as server:
        with closing(server.connect()) as connection:
            connection.create_table("t", {"f": {"max_versions": 1000}})
            with connection.table("t").batch() as batch:
                for row, data in NEIGHBOURS.items():
                    batch.put(row, data)
        yield server
        before = contents(server)
        server.kill()
        server.start()
        assert contents(server) == before
        assert server.stop() == 0
        assert "Traceback" not in server.errors.read_text()


def contents(server: WarmServer) -> dict[bytes, Any]:
    """Every table's families, as Thrift 1 and as our own service show them, and every row."""
    admin: Any = make_client(ADMIN.HbtableAdmin, "127.0.0.1", server.port, timeout=60_000)
    found = {}
    try:
        with closing(server.connect()) as connection:
            for name in connection.tables():
                families = connection.table(name).families()
                rows = None
                if connection.is_table_enabled(name):
                    rows = dict(connection.table(name).scan(include_timestamp=True))
                found[name] = (families, repr(admin.adminTable(name)), rows)
    finally:
        admin.close()
    return found


def neighbours_are_well(server: WarmServer) -> None:
    with closing(server.connect()) as connection:
        assert dict(connection.table("t").scan(row_start=b"a", row_stop=b"b")) == NEIGHBOURS


@pytest.mark.parametrize(
    ("service", "method"),
    [
        *one_in(4, [pytest.param(HBASE.Hbase, name) for name in calls(HBASE.Hbase)]),
        *one_in(4, [pytest.param(ADMIN.HbtableAdmin, name) for name in calls(ADMIN.HbtableAdmin)]),
        *(pytest.param(NEWER, name, marks=pytest.mark.verify) for name in calls(NEWER)),
    ],
    ids=lambda it: it if isinstance(it, str) else it.__name__,
)
def test_fields_at_their_edges(server: WarmServer, service: Any, method: str) -> None:
    arguments = list(getattr(service, method + "_args").thrift_spec.values())
    good = [usual(method, argument[1], argument) for argument in arguments]
    caller = Caller(server, service)
    scratch = Caller(server, ADMIN.HbtableAdmin)
    try:
        for place, argument in enumerate(arguments):
            for edge in variants(argument, good[place]):
                if method in TABLES and method != "createTable" and service is not NEWER:
                    scratch.call("adminCreateTable", [scratch_table(), []])
                    if method in ("deleteTable", "adminTruncateTable", "enableTable"):
                        Caller.call(hbase := Caller(server, HBASE.Hbase), "disableTable", [b"scratch"])
                        hbase.close()
                caller.call(method, [*good[:place], edge, *good[place + 1 :]])
    finally:
        caller.close()
        scratch.close()
    assert caller.answered or caller.refused or not arguments
    neighbours_are_well(server)


def scratch_table() -> Any:
    return ADMIN.AdminTable(name=b"scratch", families=[ADMIN.AdminFamily(name=b"f")], attributes={})
