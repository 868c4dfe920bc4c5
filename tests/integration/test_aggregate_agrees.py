"""Table.aggregate beside a plain happybase scan and plain Python over it, exactly: any tables, splits between pages."""

import struct
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import happybase
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hbtable
from hbtable.aggregates.groups import Groups
from hbtable.hbase.admin import aggregates as gateway
from hbtable.library import aggregating
from hbtable.library.server_table import ServerTable
from hbtable.tablet.reads import reading
from hbtable.tablet.tablet import Tablet
from tests.harness.table_steps import change, split
from tests.harness.tiers import generated

pytestmark = pytest.mark.integration

ROWS = st.sampled_from([b"a", b"a-1", b"a-2", b"a-2-3", b"ab", b"b-\xff", b"b\x00", b"\xff\xff"]) | st.binary(
    min_size=1, max_size=3
)
COLUMNS = [b"f:n", b"f:", b"f:\x00:\xff", b"g:n", b"g:text", b"t:n"]
LONGS = st.integers(-(2**63), 2**63 - 1).map(lambda number: struct.pack(">q", number))
VALUES = {
    b"f:n": LONGS,
    b"t:n": LONGS,
    b"g:n": st.floats().map(lambda number: struct.pack(">d", number)),
    b"g:text": (st.integers(-999, 999) | st.floats(-9, 9)).map(lambda number: str(number).encode()),
}
DATA = st.fixed_dictionaries({}, optional={name: VALUES.get(name, st.binary(max_size=3)) for name in COLUMNS})
STEP = (
    st.tuples(st.just("put"), ROWS, DATA.filter(bool), st.integers(1, 4) | st.none())
    | st.tuples(st.just("delete"), ROWS, st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=2))
    | st.tuples(st.just("delete rows"), ROWS)
    | st.tuples(st.sampled_from(["flush", "compact"]))
    | st.tuples(st.just("split"), ROWS)
)
FILTERS = [
    None,
    "KeyOnlyFilter()",
    "FirstKeyOnlyFilter()",
    "PageFilter(2)",
    "QualifierFilter(=, 'binary:n')",
    "ValueFilter(>, 'binary:1')",
    "PrefixFilter('a') OR WHILE RowFilter(<, 'binary:b')",
    "SingleColumnValueFilter('g', 'text', >, 'binary:1')",
    "SingleColumnValueFilter('f', '', >=, 'binary:', true, true)",
]
ASKED: dict[str, Any] = {
    "rows": "rows",
    "cells": "cells",
    "last": "last",
    "n": ("count", "g"),
    "different": ("distinct", "f"),
    "sum": ("sum", "f:n", "int64"),
    "average": ("avg", b"f:n", "int64"),
    "expired": ("max", "t:n", "int64"),
    "float": ("sum", "g:n", "double"),
    "least": ("min", "g:n", "double"),
    "text": ("sum", "g:text", "number"),
    "most": ("max", "g:text", "number"),
}
FEWER: list[list[str] | None] = [None, ["sum", "average"], ["n"], ["text", "most"], ["different", "float"]]
"""Names of aggregates that are asked for; None: all."""
GROUPS: list[dict[str, Any]] = [
    {},
    {"group_bytes": 1},
    {"group_bytes": 3},
    {"group_delimiter": "-"},
    {"group_columns": True},
]
Cells = list[tuple[bytes, bytes, bytes]]
"""Row, column and value."""


@pytest.fixture(scope="module")
def world() -> Iterator[tuple[hbtable.EmbeddedDatabase, hbtable.ConnectedDatabase, happybase.Connection]]:
    with hbtable.open(":memory:") as db:
        port = db.serve(port=0)
        plain = happybase.Connection("127.0.0.1", port)
        with hbtable.connect("127.0.0.1", port) as connected:
            yield db, connected, plain
        plain.close()


# ---------------------------------------------------------------- plain Python


def number(value: bytes, read_as: str) -> Any:
    if read_as in ("int64", "double"):
        return struct.unpack(">q" if read_as == "int64" else ">d", value)[0]
    return float(value) if b"." in value or b"e" in value else int(value)


def expected(cells: Cells, kind: Any, cells_of_column: Callable[[Any], list[bytes]]) -> Any:
    if kind == "rows":
        return len({row for row, _, _ in cells})
    if kind == "cells":
        return len(cells)
    if kind == "last":
        return max((row for row, _, _ in cells), default=None)
    name, column, *read_as = kind
    values = cells_of_column(column)
    if name == "count":
        return len(values)
    if name == "distinct":
        return len(set(values))
    found = [number(value, read_as[0]) for value in values]
    if name in ("min", "max"):
        return (min if name == "min" else max)((one for one in found if one == one), default=None)
    return None if not found else total(found, name == "avg")


def total(found: list[Any], is_average: bool) -> Any:
    special = [one for one in found if isinstance(one, float) and (one != one or abs(one) == float("inf"))]
    if special:
        return sum(special)
    whole = sum(map(Fraction, found), Fraction(0)) / (len(found) if is_average else 1)
    if not is_average and all(isinstance(one, int) for one in found):
        return int(whole)
    try:
        return whole.numerator / whole.denominator
    except OverflowError:
        return float("inf") if whole > 0 else float("-inf")


def answer(cells: Cells, asked: dict[str, Any]) -> dict[str, Any]:
    def values(column: Any) -> list[bytes]:
        wanted = column.encode() if isinstance(column, str) else column
        return [value for _, name, value in cells if name == wanted or name.partition(b":")[0] == wanted]

    return {name: expected(cells, kind, values) for name, kind in asked.items()}


def answers(cells: Cells, asked: dict[str, Any], grouped: dict[str, Any]) -> Any:
    if not grouped:
        return answer(cells, asked)
    groups: dict[bytes, Cells] = {}
    for row, column, value in cells:
        if "group_bytes" in grouped:
            key = row[: grouped["group_bytes"]]
        else:
            key = column if "group_columns" in grouped else row.partition(b"-")[0]
        groups.setdefault(key, []).append((row, column, value))
    return {key: answer(groups[key], asked) for key in sorted(groups)}


def comparable(found: Any) -> Any:
    """With a text for NaN, which is like nothing."""
    if isinstance(found, dict):
        return {key: comparable(one) for key, one in found.items()}
    return "nan" if isinstance(found, float) and found != found else found


# ---------------------------------------------------------------- tables


def readable(names: list[str] | None, columns: list[bytes] | None) -> dict[str, Any]:
    """Of the aggregates with these names those of which a scan of these columns may read something."""
    asked = {name: kind for name, kind in ASKED.items() if names is None or name in names}
    if not columns:
        return asked
    names_of = {part for column in columns for part in (column, column.partition(b":")[0])}

    def is_read(kind: Any) -> bool:
        if not isinstance(kind, tuple):
            return True
        column = kind[1].encode() if isinstance(kind[1], str) else kind[1]
        return column in names_of or column.partition(b":")[0] in columns

    return {name: kind for name, kind in asked.items() if is_read(kind)} or {"rows": "rows"}


def named(asked: dict[str, Any]) -> list[str] | None:
    """All columns that are asked for; None, if something is asked of all."""
    kinds = list(asked.values())
    if not all(isinstance(kind, tuple) for kind in kinds):
        return None
    return [kind[1] if isinstance(kind[1], str) else kind[1].decode() for kind in kinds]


def check(
    world: Any,
    steps: list[Any],
    splits: list[bytes],
    grouped: dict[str, Any],
    scan: dict[str, Any],
    names: list[str] | None = None,
) -> None:
    """`t` lives for a day, and only puts with the server's time are younger."""
    db, connected, plain = world
    db.create_table("t", {"f": {"max_versions": 3}, "g": {"max_versions": 2}, "t": {"time_to_live": 86_400}})
    try:
        for step in steps:
            change(db, step)
        versions = scan.pop("versions")
        asked = readable(names, scan.get("columns"))
        whole = scan
        if scan.get("columns") is None and scan.get("filter") is None:
            scan = {**scan, "columns": named(asked)}
        cells: Cells = []
        if versions == 1:
            cells = [(row, *cell) for row, data in plain.table("t").scan(**scan) for cell in sorted(data.items())]
        else:
            for row, data in db.table("t").scan(versions=versions, **scan):
                cells += [(row, name, value) for name in sorted(data) for value in data[name]]
        if scan.get("filter") == "KeyOnlyFilter()":  # values are empty
            asked = {name: kind for name, kind in asked.items() if not isinstance(kind, tuple) or len(kind) != 3}
            asked = asked or {"rows": "rows"}
        wanted = comparable(answers(cells, asked, grouped))
        under_way = iter(splits)

        def at_next_page() -> None:
            for row in under_way:
                split(db, row)
                return

        for side in (db, connected):
            table = side.table("t")
            pages = table.table.scan_page

            class Between:
                """The table's calls, with a split before each page."""

                name = table.table.name

                def scan_page(self, request: Any, pages: Any = pages) -> Any:
                    at_next_page()
                    return pages(request)

            question = aggregating.question(asked, **{**NO_GROUPS, **grouped}, max_groups=1000)
            request = request_of(scan, versions)
            assert comparable(aggregating.aggregated(Between(), request, question)) == wanted  # type: ignore[arg-type]
            assert comparable(table.aggregate(asked, versions=versions, **grouped, **whole)) == wanted
    finally:
        db.delete_table("t", disable=True)


NO_GROUPS: dict[str, Any] = {"group_bytes": None, "group_delimiter": None, "group_columns": False}


def request_of(scan: dict[str, Any], versions: int) -> Any:
    from hbtable.client.rows import row_range, scan_spec
    from hbtable.model.read import ScanRequest

    rows = row_range(scan.get("row_start"), scan.get("row_stop"), None)
    spec = scan_spec(scan.get("columns"), scan.get("filter"), scan.get("timestamp"), versions, None)
    return ScanRequest(rows, spec, max_rows=3)


@pytest.mark.parametrize("rows_at_once", [1, 3, 10_000])
@settings(max_examples=generated(25), deadline=None)
@given(
    st.lists(STEP, max_size=25),
    st.lists(ROWS, max_size=4),
    st.sampled_from(GROUPS),
    st.none() | st.lists(st.sampled_from([*COLUMNS, b"f", b"g"]), min_size=1, unique=True),
    st.sampled_from(FILTERS),
    st.fixed_dictionaries({}, optional={"row_start": ROWS, "row_stop": ROWS, "timestamp": st.integers(2, 5)}),
    st.sampled_from([1, 1, 2]),
    st.sampled_from(FEWER),
)
def test_any_table(
    world: Any,
    rows_at_once: int,
    steps: list[Any],
    splits: list[bytes],
    grouped: dict[str, Any],
    columns: list[bytes] | None,
    filter: str | None,
    bounds: dict[str, Any],
    versions: int,
    names: list[str] | None,
) -> None:
    scan = {"columns": columns, "filter": filter, "versions": versions, **bounds}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(gateway, "AGGREGATED_ROWS", rows_at_once)
        check(world, steps, splits, grouped, scan, names)


@pytest.mark.parametrize("names", FEWER)
def test_a_filter_sees_columns_that_no_aggregate_names(world: Any, names: list[str] | None) -> None:
    puts = [
        ("put", b"a-%d" % number, {b"f:n": struct.pack(">q", number), b"g:text": b"%d" % number}, None)
        for number in range(4)
    ]
    for filter in FILTERS[-2:]:
        check(world, puts, [], {}, {"versions": 1, "filter": filter}, names)


def test_a_column_that_is_not_read_is_refused(world: Any) -> None:
    db, connected, _ = world
    db.create_table("t", {"f": {}, "g": {}})
    try:
        for table in (side.table("t") for side in (db, connected)):
            for column, columns in (("g:n", ["f"]), ("g:n", ["g:m"]), ("g", ["f:n"]), ("h", ["f"])):
                with pytest.raises(hbtable.WrongValue, match=r"the aggregate 'x' is of .* which 'columns' leaves out"):
                    table.aggregate({"x": ("count", column)}, columns=columns)
            for column, columns in (("g:n", ["g"]), ("g:n", ["f", "g:n"]), ("g", ["g:n"]), ("g", [])):
                assert table.aggregate({"x": ("count", column)}, columns=columns) == {"x": 0}
    finally:
        db.delete_table("t", disable=True)


def test_an_older_tablet_server_sends_rows(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It passes over the field, and gateway or library compute the aggregate."""
    monkeypatch.setattr(Tablet, "scan", lambda self, request: reading.scan(self._state, request))
    steps = [("put", b"a-%d" % number, {b"f:n": bytes(8)}, None) for number in range(7)]
    for grouped in GROUPS:
        check(world, [*steps, ("split", b"a-3")], [], grouped, {"versions": 1})


def test_an_older_server_knows_no_aggregates(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise hbtable.NotSupported("has no adminAggregate")

    monkeypatch.setattr(ServerTable, "_aggregated_page", refused)
    steps = [("put", b"a-%d" % number, {b"f:n": bytes(8)}, None) for number in range(7)]
    check(world, steps, [], {"group_bytes": 2}, {"versions": 1})


def test_planted_bugs_are_found(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison sees a page that is counted twice, and one that is left out."""
    steps = [("put", b"a-%d" % number, {b"f:n": bytes(8)}, None) for number in range(3)]
    merge = aggregating.Groups.merge
    for times in (0, 2):

        def merged(groups: Any, given: Any, times: int = times) -> None:
            merge(groups, [*given] * times)

        monkeypatch.setattr(aggregating.Groups, "merge", merged)
        with pytest.raises(AssertionError):
            check(world, steps, [], {}, {"versions": 1})


def test_a_value_of_another_type_is_named(world: Any) -> None:
    db, connected, _ = world
    table = db.create_table("t", {"f": {}})
    try:
        for flush in (False, True):
            table.put(b"r1", {b"f:n": bytes(8), b"f:m": b"x"})
            table.put(b"r2\x00", {b"f:n": b"short"})
            if flush:
                db.flush_table("t")
            for side in (db, connected):
                asked = {"n": ("sum", "f:n", "int64")}
                for more in ({}, {"group_bytes": 1}, {"columns": ["f"]}):
                    with pytest.raises(
                        hbtable.WrongValue, match=r"b'r2\\x00' has the value b'short' .*b'f:n': it has 5 "
                    ):
                        side.table("t").aggregate(asked, **more)
                with pytest.raises(hbtable.WrongValue, match=r"b'r1' has the value b'x' in column b'f:m'.*no decimal"):
                    side.table("t").aggregate({"n": ("max", "f", "number")})
    finally:
        db.delete_table("t", disable=True)


def test_columns_are_cut_from_blocks(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a read that names its columns, where one SSTable holds the rows: nobody looks at each cell."""
    pieces: list[int] = []
    add = Groups.add_columns

    def noted(groups: Groups, given: Any, *rest: Any) -> None:
        pieces.append(sum(len(piece.rows) for piece in given))
        add(groups, given, *rest)

    monkeypatch.setattr(Groups, "add_columns", noted)
    steps = [("put", b"a-%d" % number, {b"f:n": bytes(8), b"f:": b""}, None) for number in range(7)]
    for grouped in GROUPS:
        check(world, [*steps, ("flush",)], [], grouped, {"columns": [b"f:n", b"f:"], "versions": 1})
    assert sum(pieces) == 7 * 4 * len(GROUPS)  # two sides, through pages of two sizes


def test_groups_are_bounded(world: Any) -> None:
    db, connected, _ = world
    table = db.create_table("t", {"f": {}})
    try:
        with table.batch() as batch:
            for number in range(20):
                batch.put(b"%04d" % number, {b"f:n": b""})
        for side in (db, connected):
            with pytest.raises(hbtable.LimitExceeded, match="more groups than 'max_groups' = 19"):
                side.table("t").aggregate({"n": "rows"}, group_bytes=4, max_groups=19)
            assert len(side.table("t").aggregate({"n": "rows"}, group_bytes=4, max_groups=20)) == 20
    finally:
        db.delete_table("t", disable=True)


def test_no_rows(world: Any) -> None:
    db, connected, _ = world
    db.create_table("t", {"f": {}})
    try:
        for side in (db, connected):
            table = side.table("t")
            assert table.aggregate({"n": "rows", "s": ("sum", "f:n", "int64")}) == {"n": 0, "s": None}
            assert table.aggregate({"n": "rows"}, group_bytes=2) == {}
            with pytest.raises(hbtable.NoSuchFamily):
                table.aggregate({"n": ("count", "nope:n")})
    finally:
        db.delete_table("t", disable=True)
    for side in (db, connected):
        with pytest.raises(hbtable.TableNotFound):
            side.table("gone").aggregate({"n": "rows"})
