"""Generated programs do the same over hbtable.open() and over hbtable.connect(), also of what happybase does not have:
each call gives the same answer, or the same class of error with the same sentence.

That both do what happybase does is in test_library_programs.py, whose calls are among these.
"""

import itertools
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import hypothesis.strategies as st
import polars
import pyarrow
import pytest
from hypothesis import given, seed, settings

import hbtable
from tests.harness.fresh_seed import examples, fresh_seed
from tests.harness.warm_server import WarmServer
from tests.harness.without_merges import WITHOUT_MERGES
from tests.integration.test_library_programs import (
    AT,
    CHOSEN,
    COLUMNS,
    OF_ONE_VERSION,
    PUTS,
    PUTS_NOW,
    READS,
    ROWS,
    SETTINGS,
    TIMES,
    VALUES,
    WRITES,
    answer_of,
    contents,
    full,
)

pytestmark = pytest.mark.integration

_numbers = itertools.count()
INSTEAD = {"<large>": b"x" * (11 << 20), "<long>": b"x" * 40_000}
"""More than a cell may have, and more than a row: hypothesis shows programs, so these are put in late."""
LARGE = st.just("<large>")
MISTAKES = ["PrefixFilter('a') AND", "ValueFilter(=, 'regexstring:[')", "PageFilter(x)", b"NoFilter("]
FILTERS = st.sampled_from([None, "KeyOnlyFilter()", hbtable.Filter("PrefixFilter", "b"), *MISTAKES])
RANGES = st.sampled_from([None, (1, 3), (None, 2), (2, None), (3, 1), (0, 0), (1,), 5])
VERSIONS = st.sampled_from([None, 1, 2, 5, 0, -1, "2"])
ODD = st.sampled_from([None, 5, 1.5, True])
NO_ROW = st.sampled_from([b"", "<long>"])
ROWS_AND_NONE = ROWS | ROWS | ROWS | NO_ROW | ODD
CHOOSING = FILTERS | st.sampled_from([hbtable.Filter.columns("f", "^b"), "ValueFilter(>, 'binary:1')"])
SEVERAL = {"versions": VERSIONS, "time_range": RANGES, "include_timestamp": st.booleans()}
CHANGES = st.lists(
    st.tuples(st.just("put"), st.tuples(PUTS, AT))
    | st.tuples(st.just("delete"), st.tuples(CHOSEN, AT))
    | st.tuples(st.just("delete_version"), st.tuples(COLUMNS, AT))
    | st.tuples(st.just("increment"), st.tuples(OF_ONE_VERSION, st.sampled_from([1, -5, 2**63 - 1])))
    | st.tuples(st.just("append"), st.tuples(PUTS_NOW | st.just({"h:a": "1"}))),
    max_size=4,
)
ASKED: list[Any] = ["rows", "cells", "last", "nonsense", ("count", "f"), ("count", "g:a"), ("distinct", b"f:a")]
ASKED += [("sum", b"g:\xff", "number"), ("min", "f:a", "number"), ("max", "g:a", "int64"), ("avg", "f:a", "uint8")]
ASKED += [("sum", "g:a"), ("sum", "h:a", "int64"), ("sum", "f:a", "int128"), ("avg", "g", "int64")]
AGGREGATES = st.dictionaries(st.sampled_from(["a", "b"]), st.sampled_from(ASKED), max_size=2)
TYPES = st.sampled_from([None, *map(pyarrow.type_for_alias, ("int64", "uint8", "string", "float64", "date32"))])
TYPED = st.dictionaries(COLUMNS | st.sampled_from(["h:a", "f"]), TYPES, max_size=2)
RECORDS = st.lists(
    st.fixed_dictionaries(
        {"row": st.sampled_from([b"a", b"b", b"c"])},
        optional={"f:a": st.none() | st.sampled_from([1, 2, 300]), "g:a": st.none() | st.just(1.5)},
    ),
    max_size=3,
)
FIELDS = st.sampled_from(["row", "row", "row", "none", None])
WRITTEN: dict[str, Any] = {
    "columns": st.none() | st.sampled_from([["f:a"], {"g:a": "g:b"}, {"f:a": b"h:a"}, {"none": "f:a"}, {"f:a": "f"}]),
    "types": st.none() | st.dictionaries(st.sampled_from(["f:a", "g:a"]), TYPES, max_size=1),
}
MORE = (
    full("get", {"row": ROWS_AND_NONE}, columns=CHOSEN, timestamp=TIMES, filter=CHOOSING, **SEVERAL),
    full(
        "aggregate",
        {"aggregates": AGGREGATES, "row_prefix": st.sampled_from([b"b", b"", "a"])},
        columns=CHOSEN,
        group_bytes=st.sampled_from([None, 1, 9, 10, 0, -1]),
        group_delimiter=st.sampled_from([None, b"b", "ü", ""]),
        group_columns=st.booleans(),
        filter=CHOOSING,
        timestamp=TIMES,
        time_range=RANGES,
        versions=VERSIONS,
        max_groups=st.sampled_from([1, 1000, 0]),
    ),
    full("aggregate", {"aggregates": AGGREGATES, "row_start": ROWS, "row_stop": ROWS}),
    full(
        "to_arrow",
        {"row_prefix": st.sampled_from([b"b", b"", "a"])},
        columns=CHOSEN | TYPED,
        filter=CHOOSING,
        timestamp=TIMES,
        time_range=RANGES,
        versions=VERSIONS,
        batch_rows=st.sampled_from([1, 2, 1000, 0]),
        row=st.sampled_from(["row", "f:a", "key", ""]),
    ),
    full("to_arrow", {"row_start": ROWS, "row_stop": ROWS}, columns=CHOSEN | TYPED),
    full(
        "write_arrow", {"batches": RECORDS, "row": st.sampled_from(["row", "row", "none"]), "timestamp": AT}, **WRITTEN
    ),
    full("put_frame", {"frame": RECORDS, "row": st.sampled_from(["row", "row", None]), "timestamp": AT}, **WRITTEN),
    full("row", {"row": ROWS_AND_NONE}, columns=CHOSEN, timestamp=TIMES, filter=CHOOSING, **SEVERAL),
    full("rows", {"rows": st.lists(ROWS, max_size=4)}, columns=CHOSEN, timestamp=TIMES, filter=CHOOSING, **SEVERAL),
    full("cells", {"row": ROWS, "column": COLUMNS}, timestamp=TIMES, filter=CHOOSING, **SEVERAL),
    full("scan", {"row_prefix": st.sampled_from([b"b", b"", "a"])}, columns=CHOSEN, filter=FILTERS, **SEVERAL),
    full("append", {"row": ROWS_AND_NONE, "data": st.dictionaries(OF_ONE_VERSION, VALUES, max_size=2)}),
    full("append", {"row": ROWS, "data": st.sampled_from([{b"h:a": b"1"}, {b"f": b"1"}, None, {b"g:a": None}])}),
    full(
        "check_and_put",
        {"row": ROWS_AND_NONE, "column": COLUMNS, "expected": st.none() | VALUES, "data": PUTS_NOW},
    ),
    full("put", {"row": ROWS_AND_NONE, "data": st.dictionaries(OF_ONE_VERSION, VALUES | LARGE, max_size=2)}),
    full("mutate_row", {"row": ROWS_AND_NONE, "changes": CHANGES}),
    full(
        "check_and_mutate",
        {
            "row": ROWS,
            "column": COLUMNS,
            "operator": st.sampled_from(["=", "!=", "<", "<=", ">", ">=", "~"]),
            "value": st.none() | VALUES,
            "changes": CHANGES,
        },
        time_range=RANGES,
    ),
    full(
        "mutate_if",
        {"row": ROWS_AND_NONE, "changes": CHANGES},
        columns=CHOSEN,
        filter=CHOOSING,
        time_range=RANGES,
    ),
    full("delete_rows", {"row_prefix": st.sampled_from([b"a", "b"])}, columns=CHOSEN, timestamp=TIMES),
    full("delete_range", {"row_prefix": st.sampled_from([b"a", b"c"])}, timestamp=TIMES),
    full("counter_inc", {"row": ROWS_AND_NONE, "column": OF_ONE_VERSION | ODD}),
)
FEW_WRITES = [call for call in WRITES if call is not WRITES[2] and call is not WRITES[4]]
"""Without those of rows that are too long."""
PROGRAMS = st.lists(st.one_of(*MORE, *MORE, *FEW_WRITES, *READS), min_size=1, max_size=10)


def put_in(given_: Any) -> Any:
    """With what stands for something large."""
    if isinstance(given_, str):
        return INSTEAD.get(given_, given_)
    if isinstance(given_, dict):
        return {name: put_in(value) for name, value in given_.items()}
    return type(given_)(put_in(value) for value in given_) if isinstance(given_, (list, tuple)) else given_


def timeless(answer: Any) -> Any:
    """Without the server's times, which no two of them share."""
    if isinstance(answer, dict):
        return {name: timeless(value) for name, value in answer.items()}
    if isinstance(answer, (list, tuple)):
        return type(answer)(timeless(value) for value in answer)
    return "now" if type(answer) is int and 10**12 < answer < 10**13 else answer


def answered(table: Any, prefix: bytes, one: Any) -> Any:
    """As answer_of(), and of an error its class and sentence."""
    name, arguments, *_ = one
    if "changes" in arguments:
        changes = hbtable.RowChanges()
        for step, given_ in arguments["changes"]:
            getattr(changes, step)(*given_)
        one = (name, {**arguments, "changes": changes})
    if "batches" in arguments or "frame" in arguments:
        one = (name, recorded(prefix, arguments))
    one = put_in(one)
    try:
        answer = answer_of(table, prefix, one, caught=())
        return timeless(answer.read_all().to_pylist() if name == "to_arrow" else answer)
    except Exception as error:  # any class: it has to be the same
        return type(error).__name__, str(error)


def recorded(prefix: bytes, arguments: dict[str, Any]) -> dict[str, Any]:
    """The records in Arrow's or Polars' form, their rows the program's own."""
    records = [{**one, "row": prefix + one["row"]} for one in arguments.get("batches", arguments.get("frame"))]
    whole = pyarrow.table({name: [one.get(name) for one in records] for name in ("row", "f:a", "g:a")})
    return {**arguments, **({"batches": whole} if "batches" in arguments else {"frame": polars.from_arrow(whole)})}


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("agree")
    with ExitStack() as stack:
        chosen = [f"{name}={value}" for name, value in WITHOUT_MERGES.items()]
        server = stack.enter_context(WarmServer(folder / "data", ["log.durability=os", *chosen]))
        databases = {
            "open": stack.enter_context(hbtable.open(str(folder / "open"), durability="os", config=WITHOUT_MERGES)),
            "connect": stack.enter_context(hbtable.connect("127.0.0.1", server.port, timeout=60_000)),
        }
        families: Any = {"f": {"max_versions": 3}, "g": {"max_versions": 1}}
        yield {way: database.create_table("t", families) for way, database in databases.items()}


def agree(tables: dict[str, Any], program: Any) -> None:
    prefix = b"%08d" % next(_numbers)
    answers = {
        way: [answered(table, prefix, one) for one in program] + [contents(table, prefix)]
        for way, table in tables.items()
    }
    for number, expected in enumerate(answers["open"]):
        assert answers["connect"][number] == expected, program[: number + 1]


@pytest.mark.parametrize(
    "program",
    [
        pytest.param([("to_arrow", {"row_prefix": b"b", "columns": {}})], id="no column has a type"),
        pytest.param(
            [
                (
                    "batch",
                    {"timestamp": 1},
                    [
                        ("put", {"row": b"a", "data": {b"f:a": b""}}),
                        ("put", {"row": b"", "data": {b"f:a": b""}, "wal": False}),
                    ],
                )
            ],
            id="a bad row of a batch that is logged in part",
        ),
    ],
)
def test_programs_that_found_a_difference(tables: dict[str, Any], program: Any) -> None:
    agree(tables, program)


def test_no_merge_unmasks_what_is_written_with_an_older_time(tables: dict[str, Any]) -> None:
    ranges = ("delete_range", {"row_prefix": b"a", "timestamp": None})
    old = ("put", {"row": b"c", "data": {b"f:a": b"1", b"g:a": b"1"}, "timestamp": 0})
    for _ in range(80):
        agree(tables, [("delete", {"row": b"c"}), ranges, old])


@pytest.mark.repeats
@settings(SETTINGS, max_examples=150, derandomize=True)
@given(program=PROGRAMS)
def test_programs_agree(tables: dict[str, Any], program: Any) -> None:
    agree(tables, program)


@pytest.mark.verify
@seed(fresh_seed())
@settings(SETTINGS, max_examples=examples(1000))
@given(program=PROGRAMS)
def test_programs_that_no_run_has_seen_agree(tables: dict[str, Any], program: Any) -> None:
    agree(tables, program)
