"""Table.to_arrow beside a scan of the same rows, of a database in the process and of one behind a port."""

import random
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hbtable
from hbtable.hbase.admin.arrow_scans import AdminArrowCalls
from hbtable.library.server_calls import ServerCalls
from hbtable.model.read import ScanRequest
from tests.harness.warm_server import WarmServer

ROWS = 300


@pytest.fixture(scope="module")
def databases() -> Iterator[list[hbtable.Database]]:
    """The same tables, in the process and through a port: t in files and in memory, over several tablets."""
    generator = random.Random(1)
    with hbtable.open(":memory:") as db:
        table = db.create_table("t", {"e": {"max_versions": 3}, "f": {}}, split_rows=["r0100", "r0200"])
        for number in range(ROWS):
            for version in range(generator.randrange(1, 4)):
                data: dict[str, bytes] = {}
                if generator.random() < 0.8:
                    data["e:n"] = struct.pack(">q", generator.randrange(-(2**63), 2**63))
                if generator.random() < 0.8:
                    data["e:text"] = "ä".encode() * generator.randrange(4)
                if generator.random() < 0.3:
                    data["f:\x00"] = generator.randbytes(5)
                table.put(f"r{number:04}", data, timestamp=100 + version)
            if number in (150, 250):
                db.flush_table("t")
        table.delete("r0007", ["e:n"])
        with hbtable.connect("127.0.0.1", db.serve(port=0)) as connected:
            yield [db, connected]


@pytest.fixture(params=["open", "connect"])
def table(databases: list[hbtable.Database], request: pytest.FixtureRequest) -> hbtable.Table:
    return databases[request.param == "connect"].table("t")


def records(reader: pa.RecordBatchReader) -> list[dict[str, Any]]:
    return [
        dict(zip(batch.schema.names, values, strict=True))
        for batch in reader
        for values in zip(*(batch.column(number).to_pylist() for number in range(len(batch.schema.names))), strict=True)
    ]


@pytest.mark.parametrize("batch_rows", [1, 7, 10_000])
def test_a_record_a_row(table: hbtable.Table, batch_rows: int) -> None:
    types = {"e:n": pa.int64(), b"e:text": pa.string(), "f:\x00": None}
    found = records(table.to_arrow(types, batch_rows=batch_rows, row="id"))
    scanned = list(table.scan(columns=list(types)))
    assert len(scanned) > ROWS / 2
    assert found == [
        {
            "id": row,
            "e:n": struct.unpack(">q", data[b"e:n"])[0] if b"e:n" in data else None,
            "e:text": data[b"e:text"].decode() if b"e:text" in data else None,
            "f:\x00": data.get(b"f:\x00"),
        }
        for row, data in scanned
    ]


@pytest.mark.parametrize("columns", [None, ["e"], ["e:n", "f"]])
@pytest.mark.parametrize("versions", [None, 2])
def test_a_record_a_cell(table: hbtable.Table, columns: list[str] | None, versions: int | None) -> None:
    found = records(table.to_arrow(columns, versions=versions, batch_rows=50))
    scanned = table.scan(columns=columns, versions=versions or 1, include_timestamp=True)
    assert found == [
        {"row": row, "column": column, "timestamp": timestamp, "value": value}
        for row, data in scanned
        for column, cells in data.items()
        for value, timestamp in cells
    ]


@pytest.mark.parametrize(
    "bounds",
    [
        {"row_start": "r0120", "row_stop": "r0230"},
        {"row_prefix": "r01"},
        {"row_prefix": "none"},
        {"timestamp": 102},
        {"time_range": (101, 102)},
        {"filter": "ValueFilter(>, 'binary:m')"},
        {"filter": hbtable.Filter("PageFilter", 5), "row_start": "r0095"},
    ],
    ids=str,
)
def test_the_rows_of_a_scan(table: hbtable.Table, bounds: dict[str, Any]) -> None:
    cells = records(table.to_arrow(**bounds))
    assert {(one["row"], one["column"]): one["value"] for one in cells} == {
        (row, column): value for row, data in table.scan(**bounds) for column, value in data.items()
    }
    wide = records(table.to_arrow({"e:n": None}, **bounds))
    assert [(one["row"], one["e:n"]) for one in wide] == [
        (row, data[b"e:n"]) for row, data in table.scan(columns=["e:n"], **bounds)
    ]


VALUES: list[tuple[pa.DataType, bytes, Any]] = [
    (pa.int8(), b"\xff", -1),
    (pa.uint16(), b"\x01\x02", 258),
    (pa.int32(), b"\xff\xff\xff\xfe", -2),
    (pa.uint64(), b"\xff" * 8, 2**64 - 1),
    (pa.float32(), struct.pack(">f", 0.5), 0.5),
    (pa.float64(), struct.pack(">d", -1e300), -1e300),
    (pa.bool_(), b"\xff", True),
    (pa.bool_(), b"\x00", False),
    (pa.string(), "ä".encode(), "ä"),
    (pa.large_string(), b"", ""),
    (pa.binary(), b"\x00\xff", b"\x00\xff"),
    (pa.binary(2), b"\x00\xff", b"\x00\xff"),
    (pa.dictionary(pa.int32(), pa.string()), b"de", "de"),
    (pa.list_(pa.int64()), b"[1, null]", [1, None]),
    (pa.struct({"a": pa.string()}), b'{"a": "x"}', {"a": "x"}),
    (pa.map_(pa.string(), pa.int64()), b'{"k": 1}', [("k", 1)]),
    (pa.duration("ms"), (1500).to_bytes(8, "big"), 1500),
    (pa.date32(), (1).to_bytes(4, "big"), 1),
    (pa.timestamp("ms"), (10**12).to_bytes(8, "big"), 10**12),
]


@pytest.mark.parametrize(("type", "stored", "value"), VALUES, ids=lambda one: str(one) if len(str(one)) < 30 else "")
def test_every_type(hbtable_db: hbtable.Database, type: pa.DataType, stored: bytes, value: Any) -> None:
    table = hbtable_db.create_table("t", ["f"])
    table.put("r1", {"f:a": stored})
    table.put("r2", {"f:b": b"nothing else"})
    read = table.to_arrow({"f:a": type, "f:b": None}).read_all()
    assert read.schema.field("f:a").type == type
    column = read["f:a"]
    if pa.types.is_temporal(type):
        column = column.cast(pa.int32() if pa.types.is_date(type) else pa.int64())
    assert column.to_pylist() == [value, None]


@pytest.mark.parametrize(
    ("type", "stored", "why"),
    [
        (pa.int64(), b"12", "it has 2 bytes, and int64 has 8"),
        (pa.bool_(), b"", "it has 0 bytes, and bool has 1"),
        (pa.binary(2), b"123", "it has 3 bytes, and fixed_size_binary[2] has 2"),
        (pa.string(), b"a\xff", "it is no UTF-8 from byte 1 on"),
        (pa.list_(pa.int64()), b"[1", "it is no JSON"),
        (pa.list_(pa.int64()), b'["x"]', "its JSON is no list<"),
        (pa.list_(pa.int8()), b"[1000]", "its JSON is no list<"),
        (pa.list_(pa.int64()), b"[2.75]", "its JSON is no list<item: int64>: 2.75 is no int64"),
    ],
    ids=str,
)
def test_what_does_not_decode_is_named(table: hbtable.Table, type: pa.DataType, stored: bytes, why: str) -> None:
    table.put("s2", {"f:good": b"\x00", "f:bad": stored})
    with pytest.raises(hbtable.WrongValue) as caught:
        table.to_arrow({"f:good": None, "f:bad": type}, row_prefix="s").read_all()
    table.delete("s2")
    assert str(caught.value).startswith(f"row b's2' has the value {stored!r} in column b'f:bad': {why}")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"columns": {"e": pa.int64()}}, "needs a ':'"),
        ({"columns": {"e:n": "int64"}}, "the type of column e:n is 'int64', and has to be a type of pyarrow"),
        ({"columns": {"e:n": pa.decimal128(3)}}, "which no bytes are read as"),
        ({"columns": {"e:n": None}, "versions": 2}, "a record has one value of each column"),
        ({"columns": {"e:n": None, b"e:n": None}}, "asked for twice"),
        ({"columns": {"e:n": None}, "row": "e:n"}, "is the name of another column"),
        ({"row": "value"}, "is the name of another column"),
        ({"batch_rows": 0}, "'batch_rows' must be >= 1"),
        ({"row_prefix": "r", "row_start": "r"}, "'row_prefix' cannot be combined"),
        ({"columns": ["e:n"], "versions": 0}, "'versions'"),
    ],
    ids=str,
)
def test_wrong_arguments_are_refused_by_the_call(table: hbtable.Table, arguments: dict[str, Any], error: str) -> None:
    with pytest.raises(hbtable.InvalidRequest, match=error):
        table.to_arrow(**arguments)


def test_errors_of_the_scan_come_with_the_first_batch(table: hbtable.Table) -> None:
    reader = table.to_arrow({"absent:n": pa.int64()})
    with pytest.raises(hbtable.NoSuchFamily, match="absent"):
        reader.read_all()


def test_a_long_row_comes_in_pieces(hbtable_db: hbtable.Database) -> None:
    table = hbtable_db.create_table("t", ["f"])
    table.put("wide", {f"f:{number:05}": b"x" for number in range(25_000)})
    batches = list(table.to_arrow(batch_rows=1))
    assert [batch.num_rows for batch in batches] == [10_000, 10_000, 5_000]


def test_a_server_makes_the_record_batches(databases: list[hbtable.Database], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    admin = ServerCalls.admin

    def noted(self: ServerCalls, method: str, *arguments: object) -> Any:
        asked.append(method)
        return admin(self, method, *arguments)

    monkeypatch.setattr(ServerCalls, "admin", noted)
    table = databases[1].table("t")
    assert (
        table.to_arrow({"e:n": pa.int64()}).read_all()
        == databases[0].table("t").to_arrow({"e:n": pa.int64()}).read_all()
    )
    assert (
        table.to_arrow(["e"], versions=2).read_all() == databases[0].table("t").to_arrow(["e"], versions=2).read_all()
    )
    assert set(asked) == {"adminScanArrow"}


def test_a_server_without_pyarrow(databases: list[hbtable.Database], monkeypatch: pytest.MonkeyPatch) -> None:
    """It says so, and the library makes the batches of its rows."""
    for module in [name for name in sys.modules if name.startswith("hbtable.arrow")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(AdminArrowCalls, "_load", without_pyarrow)
    table = databases[1].table("t")
    with pytest.raises(hbtable.NotSupported, match=r"the server has no pyarrow.*pip install 'hbtable\[arrow\]'"):
        table.table.arrow_page(ScanRequest(), None)
    assert records(table.to_arrow({"e:n": pa.int64()})) == records(
        databases[0].table("t").to_arrow({"e:n": pa.int64()})
    )


def without_pyarrow(calls: AdminArrowCalls) -> None:
    """In the server's thread, and only there: the library of this process has it."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(sys.modules, "pyarrow", None)
        patched.setattr(calls, "_wire", None)
        load(calls)


load = AdminArrowCalls._load


def test_without_pyarrow(hbtable_db: hbtable.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    table = hbtable_db.create_table("t", ["f"])
    for module in [name for name in sys.modules if name.startswith(("hbtable.arrow", "hbtable.library.arrow_reading"))]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(hbtable.InvalidRequest, match=r"pip install 'hbtable\[arrow\]'"):
        table.to_arrow()


def test_a_long_row_key_is_not_repeated_beyond_what_an_answer_may_be(tmp_path: Path) -> None:
    """The long form has the row with each cell: a page of 4 MB was an answer of 122, and 1.2 GB of memory."""
    with (
        WarmServer(tmp_path / "data", [f"thrift.answer_bytes={8 << 20}"]) as server,
        hbtable.connect("127.0.0.1", server.port) as db,
    ):
        table = db.create_table("t", ["f"])
        data = {b"f:%d" % column: b"" for column in range(300)}
        for number in range(20):
            table.put(b"%02d" % number + b"k" * 8000, data)
        assert table.to_arrow().read_all().num_rows == 6000
        table.put(b"z" * 32_000, data)
        with pytest.raises(hbtable.LimitExceeded, match=r"a row would have \d+ bytes as record batches"):
            table.to_arrow(filter="KeyOnlyFilter()").read_all()
        assert server.stop() == 0
