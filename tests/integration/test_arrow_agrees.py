"""Table.to_arrow beside a plain happybase scan and plain Python over it, cell by cell: any tables, splits under way."""

import struct
from collections.abc import Iterator
from typing import Any

import happybase
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hbtable
from tests.harness.table_steps import change, split
from tests.harness.tiers import generated

pytestmark = pytest.mark.integration

ROWS = st.binary(min_size=1, max_size=3) | st.sampled_from(
    [b"\0", b"a\0", b"a\0b", b"\xff", b"\xff\xff", b"row1", b"row2"]
)
COLUMNS = [b"f:n", b"f:", b"f:\x00\xff", b"g:n", b"g:text"]
VALUES = {
    b"f:n": st.integers(-(2**63), 2**63 - 1).map(lambda number: struct.pack(">q", number)),
    b"g:n": st.floats(allow_nan=False).map(lambda number: struct.pack(">d", number)),
    b"g:text": st.text(max_size=3).map(str.encode),
}
DATA = st.fixed_dictionaries({}, optional={name: VALUES.get(name, st.binary(max_size=3)) for name in COLUMNS})
STEP = (
    st.tuples(st.just("put"), ROWS, DATA.filter(bool), st.integers(1, 4))
    | st.tuples(st.just("delete"), ROWS, st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=2))
    | st.tuples(st.sampled_from(["flush", "compact"]))
    | st.tuples(st.just("split"), ROWS)
)
TYPES = {"f:n": pa.int64(), "f:": pa.binary(), b"f:\x00\xff": None, "g:n": pa.float64(), "g:text": pa.string()}
DECODE: dict[bytes, Any] = {
    b"f:n": lambda value: struct.unpack(">q", value)[0],
    b"g:n": lambda value: struct.unpack(">d", value)[0],
    b"g:text": bytes.decode,
}


@pytest.fixture(scope="module")
def world() -> Iterator[tuple[hbtable.EmbeddedDatabase, hbtable.ConnectedDatabase, happybase.Connection]]:
    with hbtable.open(":memory:") as db:
        port = db.serve(port=0)
        plain = happybase.Connection("127.0.0.1", port)
        with hbtable.connect("127.0.0.1", port) as connected:
            yield db, connected, plain
        plain.close()


def typed(value: bytes | None, column: bytes) -> Any:
    return value if value is None or column not in DECODE else DECODE[column](value)


@settings(max_examples=generated(40), deadline=None)
@given(
    st.lists(STEP, max_size=25),
    st.lists(ROWS, max_size=3),
    st.sampled_from([1, 2, 10_000]),
    st.lists(st.sampled_from(COLUMNS), min_size=1, unique=True),
    st.none() | ROWS,
    st.none() | ROWS,
)
def test_any_table(
    world: Any, steps: list[Any], splits: list[bytes], batch_rows: int, columns: list[bytes], start: bytes, stop: bytes
) -> None:
    db, connected, plain = world
    db.create_table("t", {"f": {"max_versions": 2}, "g": {}})
    try:
        for step in steps:
            change(db, step)
        bounds = {"row_start": start, "row_stop": stop}
        rows = list(plain.table("t").scan(columns=columns, **bounds))
        wide = [(row, *(typed(data.get(name), name) for name in columns)) for row, data in rows]
        types = {name: TYPES.get(name, TYPES.get(name.decode(errors="replace"))) for name in columns}
        cells = [
            (row, name, time, value)
            for row, data in plain.table("t").scan(columns=columns, include_timestamp=True, **bounds)
            for name, (value, time) in sorted(data.items())
        ]
        for side in (db, connected):
            table = side.table("t")
            under_way = iter(splits)
            found: list[Any] = []
            for batch in table.to_arrow(types, batch_rows=batch_rows, **bounds):
                found += zip(*(one.to_pylist() for one in batch.columns), strict=True)
                for row in under_way:
                    split(db, row)
                    break
            assert found == wide
            long = table.to_arrow(columns, batch_rows=batch_rows, **bounds).read_all()
            assert list(zip(*(one.to_pylist() for one in long.columns), strict=True)) == cells
    finally:
        db.delete_table("t", disable=True)
