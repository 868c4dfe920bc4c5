"""Table.write_arrow and put_frame through both doors, read back by plain happybase and plain Python."""

import json
import math
import struct
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import happybase
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hbtable
from tests.harness.tiers import generated

pytestmark = pytest.mark.integration


class World:
    """A database in this process, the same one behind a port, and happybase there."""

    def __init__(self) -> None:
        self.db = hbtable.open(":memory:")
        self.db.create_table("t", ["f", "g"], split_rows=[b"m"])
        port = self.db.serve(port=0)
        self.connected = hbtable.connect("127.0.0.1", port)
        self.plain = happybase.Connection("127.0.0.1", port)

    def rows(self) -> dict[bytes, dict[bytes, bytes]]:
        return dict(self.plain.table("t").scan())


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    world = World()
    yield world
    world.plain.close()
    world.connected.close()
    world.db.close()


@pytest.fixture(params=["open", "connect"])
def table(world: World, request: pytest.FixtureRequest) -> hbtable.Table:
    world.db.truncate_table("t", keep_splits=True, disable=True)
    return (world.connected if request.param == "connect" else world.db).table("t")


VALUES: list[tuple[pa.DataType, Any, bytes]] = [
    (pa.int8(), -1, b"\xff"),
    (pa.uint16(), 258, b"\x01\x02"),
    (pa.int32(), -2, b"\xff\xff\xff\xfe"),
    (pa.int64(), 1, b"\0\0\0\0\0\0\0\x01"),
    (pa.float32(), 0.5, struct.pack(">f", 0.5)),
    (pa.float64(), -1e300, struct.pack(">d", -1e300)),
    (pa.bool_(), True, b"\xff"),
    (pa.bool_(), False, b"\0"),
    (pa.string(), "ä", "ä".encode()),
    (pa.large_string(), "", b""),
    (pa.binary(), b"\x00\xff", b"\x00\xff"),
    (pa.dictionary(pa.int32(), pa.string()), "de", b"de"),
    (pa.list_(pa.int64()), [1, None], b"[1, null]"),
    (pa.struct({"a": pa.string()}), {"a": "ä"}, '{"a": "ä"}'.encode()),
    (pa.map_(pa.string(), pa.int64()), [("k", 1)], b'{"k": 1}'),
    (pa.duration("ms"), 1500, (1500).to_bytes(8, "big")),
    (pa.date32(), 1, (1).to_bytes(4, "big")),
    (pa.timestamp("us"), 1500, (1500).to_bytes(8, "big")),
    (pa.timestamp("ns", "Europe/Paris"), 1500, (1500).to_bytes(8, "big")),
    (pa.list_(pa.map_(pa.string(), pa.int64())), [[("k", 1)], [], None], b'[{"k": 1}, {}, null]'),
    (pa.struct({"a": pa.map_(pa.string(), pa.string())}), {"a": [("k", "v")]}, b'{"a": {"k": "v"}}'),
]


@pytest.mark.parametrize(("type", "value", "stored"), VALUES, ids=lambda one: str(one) if len(str(one)) < 30 else "")
def test_every_type(table: hbtable.Table, world: World, type: pa.DataType, value: Any, stored: bytes) -> None:
    """Written as the bytes that to_arrow() reads it from; from within a longer batch, too, as slices are."""
    records = pa.table({"id": ["z", "a", "n", "b", "z"], "v": pa.array([None, value, None, value, value], type)})
    assert table.write_arrow(records.slice(1, 3), "id", {"v": "f:v"}) == 2
    assert world.rows() == {b"a": {b"f:v": stored}, b"b": {b"f:v": stored}}
    assert table.to_arrow({"f:v": type}).read_all()["f:v"].combine_chunks() == pa.array([value, value], type)


RECORDS = st.lists(
    st.tuples(
        st.binary(min_size=1, max_size=3),
        st.none() | st.integers(-(2**63), 2**63 - 1),
        st.none() | st.floats(allow_nan=False),
        st.none() | st.text(max_size=3),
        st.none() | st.dictionaries(st.text(max_size=2), st.integers(0, 9), max_size=2),
    ),
    max_size=20,
)


@settings(max_examples=generated(30), deadline=None)
@given(RECORDS, st.integers(1, 7))
def test_any_records(world: World, records: list[Any], size: int) -> None:
    types = [pa.binary(), pa.int64(), pa.float64(), pa.string(), pa.map_(pa.string(), pa.int64())]
    names = ["id", "f:n", "f:x", "g:text", "g:map"]
    encode: list[Any] = [
        lambda one: struct.pack(">q", one), lambda one: struct.pack(">d", one), str.encode,
        lambda one: json.dumps(one, ensure_ascii=False).encode(),
    ]  # fmt: skip
    expected: dict[bytes, dict[bytes, bytes]] = {}
    for row, *values in records:
        for name, make, value in zip(names[1:], encode, values, strict=True):
            if value is not None:
                expected.setdefault(row, {})[name.encode()] = make(value)
    schema = pa.schema(list(zip(names, types, strict=True)))
    arrays = [pa.array([record[place] for record in records], type) for place, type in enumerate(types)]
    made = pa.table(arrays, schema=schema)
    for side in (world.db, world.connected):
        world.db.truncate_table("t", keep_splits=True, disable=True)
        for _ in range(2):  # written again with the same time, the cells are the same
            count = side.table("t").write_arrow(made.to_batches(max_chunksize=size), "id", timestamp=7)
        assert count == sum(any(value is not None for value in values) for _, *values in records)
        assert world.rows() == expected


def test_frames(table: hbtable.Table, world: World) -> None:
    pandas = pd.DataFrame({"f:n": [1, 2], "f:x": [0.5, math.nan], "g:t": ["a", None]}, index=["r1", "r2"])
    assert table.put_frame(pandas) == 2
    expected = {
        b"r1": {b"f:n": b"\0" * 7 + b"\x01", b"f:x": struct.pack(">d", 0.5), b"g:t": b"a"},
        b"r2": {b"f:n": b"\0" * 7 + b"\x02"},
    }
    assert world.rows() == expected
    polars = pl.DataFrame({"key": ["p1", "r1"], "count": [3, 4], "more": [None, "x"]})
    assert table.put_frame(polars, "key", {"count": "f:n"}) == 2
    expected[b"r1"][b"f:n"] = b"\0" * 7 + b"\x04"
    assert world.rows() == {b"p1": {b"f:n": b"\0" * 7 + b"\x03"}, **expected}
    found = duckdb.sql("select 'd' || range as id, range as \"f:n\" from range(2500)")
    assert table.write_arrow(found, "id", ["f:n"]) == 2500
    assert len(world.rows()) == 2503


@pytest.mark.filterwarnings("ignore:Series.values returning")  # pyarrow 25, which Beam takes, asks pandas for them
def test_times_and_whole_numbers_are_what_types_say(table: hbtable.Table, world: World) -> None:
    """pandas has floats where a whole number is missing, and chooses the unit of times by itself: other versions choose
    another one. A time with a zone is the number of its moment."""
    at = datetime(2026, 11, 28, 12, tzinfo=ZoneInfo("Europe/Paris"))
    millis = round(at.timestamp() * 1000)
    types = {"f:n": pa.int64(), "f:at": pa.timestamp("ms"), "f:zone": pa.timestamp("ms", "UTC")}
    for unit in ("s", "ms", "us", "ns"):
        frame = pd.DataFrame({"f:n": [3, None]}, index=["a", "b"])
        frame["f:at"] = pd.Series([at.astimezone(UTC).replace(tzinfo=None), None], ["a", "b"]).astype(f"M8[{unit}]")
        frame["f:zone"] = pd.Series([at, None], ["a", "b"]).astype(f"datetime64[{unit}, Europe/Paris]")
        assert frame["f:n"].dtype == float
        assert table.put_frame(frame, types=types) == 1
        time = millis.to_bytes(8, "big")
        assert world.rows() == {b"a": {b"f:n": b"\0" * 7 + b"\x03", b"f:at": time, b"f:zone": time}}
    read = table.to_arrow(types).read_all().to_pylist()[0]
    assert read["f:zone"] == at
    assert read["f:at"].replace(tzinfo=UTC) == at


def test_numbers_of_pandas_that_were_rounded_are_refused(table: hbtable.Table, world: World) -> None:
    """A missing value makes floats of ids, and most large ones other ids."""
    frame = pd.DataFrame({"f:id": [1, None, 1234567890123456789]}, index=["a", "b", "c"])
    with pytest.raises(hbtable.WrongValue, match=r"row b'c' .*'f:id'.* is double of 9007199254740992 or more"):
        table.put_frame(frame, types={"f:id": pa.int64()})
    assert world.rows() == {}
    exact = frame.assign(**{"f:id": pd.array([1, None, 1234567890123456789], "Int64")})
    assert table.put_frame(exact, types={"f:id": pa.int64()}) == 2
    assert world.rows()[b"c"] == {b"f:id": (1234567890123456789).to_bytes(8, "big")}


class Raises:
    """A stream that breaks off."""

    def __init__(self, error: Exception | None = None) -> None:
        self._error = error

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"id": ["ok"], "f:a": ["1"]})
        if self._error is not None:
            raise self._error
        yield pa.record_batch({"id": [None], "f:a": ["1"]})


TEXT_MAP = pa.map_(pa.string(), pa.int64())
NO_TEXT = pa.Array.from_buffers(pa.string(), 2, pa.array([b"a", b"\xff"], pa.binary()).buffers())

REFUSED: list[tuple[Any, dict[str, Any], str]] = [
    ({"id": ["a"], "x": [1]}, {}, "field 'x' names no column: say which"),
    ({"id": ["a"], "f:x": [1]}, {"row": "key"}, "the batches have no field 'key'; they have 'id', 'f:x'"),
    ({"id": ["a"], "f:x": [1]}, {"columns": {"y": "f:y"}}, "have no field 'y'"),
    ({"id": ["a"], "f:x": [1], "f:y": [1]}, {"columns": {"f:x": "f:a", "f:y": "f:a"}}, "made of two fields"),
    ({"id": ["a"], "f:x": [1]}, {"columns": {"f:x": "f"}}, "needs a ':' after its family"),
    ({"id": ["a", None], "f:x": [1, 2]}, {}, "record 1 has no row: field 'id' is null there"),
    ({"id": [""], "f:x": [1]}, {}, "record 0 has no row: field 'id' is empty there"),
    (
        {"id": ["a"], "f:x": pa.array([1], pa.decimal128(3))},
        {},
        r"field 'f:x' is decimal128.*, of which no bytes are made",
    ),
    ({"id": ["a"], "f:x": [[b"x"]]}, {}, "row b'a' has a value in field 'f:x' that cannot be written: it is no JSON"),
    ({"id": ["a"], "f:x": [[math.nan]]}, {}, "that cannot be written: it is no JSON"),
    (
        {"id": ["a", "b"], "f:x": pa.array([[("k", 1)], [("k", 1), ("k", 2)]], TEXT_MAP)},
        {},
        "row b'b' has a value in field 'f:x' that cannot be written: it is no JSON: a key of a map is there twice",
    ),
    (
        {"id": ["a"], "f:x": pa.array([[[("k", 1), ("k", 2)]]], pa.list_(TEXT_MAP))},
        {},
        "row b'a' has a value in field 'f:x' .*a key of a map is there twice",
    ),
    (
        {"id": ["a"], "f:x": pa.array([[(1, 1)]], pa.map_(pa.int64(), pa.int64()))},
        {},
        "field 'f:x' is map<int64, int64>: keys of JSON are text, not int64",
    ),
    (
        {"id": ["a"], "f:x": pa.array([{"m": [[(1, 1)]]}], pa.struct({"m": pa.list_(pa.map_(pa.int8(), pa.int8()))}))},
        {},
        "keys of JSON are text, not int8",
    ),
    (
        {"id": ["a", "b"], "f:x": pa.array([[1], [2**62]], pa.list_(pa.timestamp("s")))},
        {},
        "row b'b' has a value in field 'f:x' that cannot be written|row b'a' .*it is no JSON",
    ),
    ({"id": ["a", "b"], "f:x": NO_TEXT}, {}, "row b'b' has a value in field 'f:x' that cannot be written: .*utf-8"),
    (
        {"id": ["a", "b"], "f:x": [1.0, 1.5]},
        {"types": {"f:x": pa.int64()}},
        "row b'b' has a value in field 'f:x' .*1.5",
    ),
    (
        {"id": ["a", "b"], "f:x": pa.array([1000, 1500], pa.timestamp("us"))},
        {"types": {"f:x": pa.timestamp("ms")}},
        "row b'b' has a value in field 'f:x' .*would lose data",
    ),
    (
        {"id": ["a", "b"], "f:x": pa.array([0, 55_800], pa.timestamp("s", "Europe/Paris"))},
        {"types": {"f:x": pa.date32()}},
        "row b'b' has a value in field 'f:x' .*15:30:00 is timestamp.s., and would become 1970-01-01 as date32",
    ),
    (
        {"id": ["a"], "f:x": pa.array([1], pa.timestamp("us"))},
        {"types": {"f:x": pa.int64()}},
        "field 'f:x' is timestamp.us., and int64 does not say .*: give pyarrow.timestamp",
    ),
    (
        {"id": ["a"], "f:x": [{"a": 1, "b": 2}]},
        {"types": {"f:x": pa.struct({"a": pa.int64()})}},
        "field 'f:x' is struct.* does not have each 'b'",
    ),
    ({"id": ["a"], "f:x": [1]}, {"types": {"f:y": pa.int64()}}, "'types' has column b'f:y', of which the batches"),
    ({"id": ["a"], "f:x": [1]}, {"types": {"f:x": int}}, "the type of column 'f:x' is <class 'int'>"),
    ({"id": ["a"], "h:x": [1]}, {}, "h"),
    ({"id": ["x" * 40_000], "f:x": [1]}, {}, "40,?000"),
    ({"id": ["a"], "f:x": [1]}, {"timestamp": -1}, "timestamp"),
]


@pytest.mark.parametrize(
    ("records", "arguments", "message"), REFUSED, ids=lambda one: one if isinstance(one, str) else ""
)
def test_what_is_refused_is_named(
    table: hbtable.Table, world: World, records: Any, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(hbtable.InvalidRequest, match=message):
        table.write_arrow(pa.table(records), **{"row": "id", **arguments})
    assert world.rows() == {}


def test_how_far_it_came(table: hbtable.Table, world: World) -> None:
    with pytest.raises(hbtable.WrongValue, match="record 0 has no row") as caught:
        table.write_arrow(Raises(), "id")
    assert caught.value.__notes__ == ["1 rows before it were written"]
    assert world.rows() == {b"ok": {b"f:a": b"1"}}


def test_how_far_it_came_where_the_source_breaks_off(table: hbtable.Table, world: World) -> None:
    with pytest.raises(OSError, match="gone") as caught:
        table.write_arrow(Raises(OSError("gone")), "id")
    assert caught.value.__notes__ == ["1 rows before it were written"]
    assert world.rows() == {b"ok": {b"f:a": b"1"}}


@pytest.mark.parametrize("given", [None, 1, "text", {"a": 1}, [1]], ids=str)
def test_no_record_batches(table: hbtable.Table, given: Any) -> None:
    with pytest.raises(hbtable.WrongType, match=r"has to (be|have) record batches"):
        table.write_arrow(given, "id")
    with pytest.raises(hbtable.WrongType, match="has to be a DataFrame of pandas or Polars"):
        table.put_frame(given, "id")


@pytest.mark.parametrize("type", [pl.Categorical, pl.Enum(["v", "u"])], ids=str)
def test_categories_of_polars(table: hbtable.Table, world: World, type: Any) -> None:
    texts, lists = pl.Series(["u", None, "v"], dtype=type), pl.Series([["u"], None, []], dtype=pl.List(type))
    frame = pl.DataFrame({"id": ["a", "b", "c"], "f:a": texts, "f:list": lists})
    assert table.put_frame(frame, "id") == 2
    assert world.rows() == {b"a": {b"f:a": b"u", b"f:list": b'["u"]'}, b"c": {b"f:a": b"v", b"f:list": b"[]"}}
    rows = pl.DataFrame({"id": pl.Series(["k"], dtype=pl.Categorical), "f:a": ["x"]})
    assert table.put_frame(rows, "id") == 1
    assert world.rows()[b"k"] == {b"f:a": b"x"}


@pytest.mark.parametrize("type", [pl.Int128, pl.UInt128], ids=str)
def test_types_that_arrow_does_not_have(table: hbtable.Table, type: Any) -> None:
    frame = pl.DataFrame({"id": ["a"], "f:a": pl.Series([2**70], dtype=type)})
    with pytest.raises(hbtable.WrongValue, match="the DataFrame is no table of Arrow"):
        table.put_frame(frame, "id")
    with pytest.raises(hbtable.WrongValue, match="the DataFrame is no table of Arrow"):
        table.write_arrow([frame], "id")


def test_no_row_of_a_frame(table: hbtable.Table) -> None:
    with pytest.raises(hbtable.WrongValue, match="'row' has to name the frame's column of rows"):
        table.put_frame(pl.DataFrame({"f:a": [1]}))


def test_frames_that_are_no_tables(table: hbtable.Table) -> None:
    for frame in (pd.DataFrame({"f:a": [2**70]}, ["r"]), pd.DataFrame([[1, 2]], ["r"], ["f:a", "f:a"])):
        with pytest.raises(hbtable.WrongValue, match="the frame is no table of Arrow"):
            table.put_frame(frame)


def test_what_cannot_be_read_is_named(table: hbtable.Table, world: World) -> None:
    deep = b"[" * 100_000 + b"]" * 100_000
    world.db.table("t").put("deep", {"g:deep": deep})
    with pytest.raises(hbtable.WrongValue, match=r"row b'deep' .*g:deep.*it is no JSON"):
        table.to_arrow({"g:deep": pa.list_(pa.string())}).read_all()
    world.db.table("t").put("twice", {"g:map": b'{"k": 1, "k": 2}'})
    with pytest.raises(hbtable.WrongValue, match=r"row b'twice' .*g:map.*the key 'k' twice"):
        table.to_arrow({"g:map": TEXT_MAP}).read_all()
    with world.db.table("t").batch() as batch:
        for number in range(200):
            batch.put(b"r%03d" % number, {"f:text": f"text {number // 2}" if number < 180 else f"other {number}"})
    text = {"f:text": pa.dictionary(pa.int8(), pa.string())}
    assert table.to_arrow(text, row_stop="r180").read_all().num_rows == 180
    with world.db.table("t").batch() as batch:
        for number in range(200):
            batch.put(b"r%03d" % number, {"f:text": f"text {number}"})
    with pytest.raises(
        hbtable.WrongValue, match=r"row b'r128' .*f:text.*more than 128 values of a batch are different"
    ):
        table.to_arrow(text).read_all()


def test_engines_read_a_reader_as_it_is(table: hbtable.Table, world: World) -> None:
    """And count and sum as plain Python does over a happybase scan."""
    with world.db.table("t").batch() as batch:
        for number in range(1000):
            batch.put(b"r%04d" % number, {b"f:n": struct.pack(">q", number * number), b"g:t": b"t%d" % (number % 7)})
    expected: dict[str, int] = {}
    for data in world.rows().values():
        text = data[b"g:t"].decode()
        expected[text] = expected.get(text, 0) + struct.unpack(">q", data[b"f:n"])[0]
    types = {"f:n": pa.int64(), "g:t": pa.string()}
    reader = table.to_arrow(types, batch_rows=300)  # noqa: F841 - DuckDB finds it by its name
    assert dict(duckdb.sql('select "g:t", sum("f:n") from reader group by 1').fetchall()) == expected
    polars: Any = pl.from_arrow(table.to_arrow(types))
    assert dict(polars.group_by("g:t").agg(pl.col("f:n").sum()).rows()) == expected
    pandas = table.to_arrow(types).read_pandas()
    assert pandas.groupby("g:t")["f:n"].sum().to_dict() == expected
