"""Generated programs do the same over happybase, over hbtable.open() and over hbtable.connect(): each call answers or
refuses alike, and the table is the same in the end. What docs/library.md lists as different is not generated.

Each program has rows of its own in one table; what it asks for lies between them. Only the family that keeps a single
version is written without a time: two puts of one millisecond are one version.

Happybase has no changes of a row that add: what they leave is what its counter_inc leaves, and Thrift1's append.
"""

import itertools
from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Any

import happybase
import hypothesis.strategies as st
import pytest
from Hbase_thrift import AlreadyExists, IllegalArgument, IOError, TAppend
from hypothesis import HealthCheck, given, seed, settings

import hbtable
from tests.harness.fresh_seed import examples, fresh_seed
from tests.harness.warm_server import WarmServer

pytestmark = pytest.mark.integration

_numbers = itertools.count()
Call = tuple[str, dict[str, Any]]
Program = list[Call | tuple[str, dict[str, Any], list[Call]]]

ROWS = st.sampled_from([b"a", b"b", b"b\x00", b"c", b"\xff", "a", "ü"])
# In one batch happybase takes text and bytes of a row for two rows, and sends what came first for each.
IN_BATCHES = ROWS.map(lambda row: row.encode() if isinstance(row, str) else row)
LONG = "<long>"
"""Stands for a row that is too long: hypothesis shows programs, and warns of long ones in the place of what differs."""
NO_ROW = st.sampled_from([b"", LONG])
OF_ONE_VERSION = st.sampled_from([b"g:a", b"g:\xff", "g:ö"])
COLUMNS = st.sampled_from([b"f:a", b"f:", b"f:b:c", "f:a"]) | OF_ONE_VERSION
SELECTED = st.sampled_from([b"f", b"f:", b"g:a", b"f:b:c", "g", b"f:none"])
VALUES = st.sampled_from([b"", b"1", b"value", bytes(8), "text", b"\xff" * 300])
AT = st.sampled_from([1, 2, 3, 0])
TIMES = st.none() | AT
CHOSEN = st.none() | st.lists(SELECTED, max_size=3) | st.lists(SELECTED, max_size=2).map(tuple)
BAD = st.sampled_from([[b"h"], [b"f", b"h:a"]])
PUTS = st.dictionaries(COLUMNS, VALUES, max_size=3)
PUTS_NOW = st.dictionaries(OF_ONE_VERSION, VALUES, max_size=3)
FLAGS = st.booleans()


ALPHABET: dict[str, set[str]] = {}
"""What programs can call, here and in the files that take call() and full() from here, and with which arguments."""


def call(name: str, **arguments: st.SearchStrategy[Any]) -> st.SearchStrategy[Call]:
    ALPHABET.setdefault(name.removeprefix("T."), set()).update(arguments)
    return st.tuples(st.just(name), st.fixed_dictionaries({}, optional=arguments))


def full(
    name: str, given: dict[str, st.SearchStrategy[Any]], **more: st.SearchStrategy[Any]
) -> st.SearchStrategy[Call]:
    ALPHABET.setdefault(name.removeprefix("T."), set()).update(given, more)
    return st.tuples(st.just(name), st.fixed_dictionaries(given, optional=more))


READS = (
    full("row", {"row": ROWS}, columns=CHOSEN | BAD, timestamp=TIMES),
    full("rows", {"rows": st.lists(ROWS, min_size=1, max_size=4)}, columns=CHOSEN | BAD, timestamp=TIMES),
    full(
        "cells",
        {"row": ROWS, "column": COLUMNS | SELECTED},
        versions=st.sampled_from([None, 1, 2, 5, 0, -1]),
        timestamp=TIMES,
    ),
    call(
        "scan",
        row_start=st.none() | ROWS,
        row_stop=st.none() | ROWS,
        columns=CHOSEN | BAD,
        timestamp=TIMES,
        batch_size=st.sampled_from([1, 2, 1000, 0]),
        scan_batching=st.sampled_from([None, 1, 2, 0]),
        limit=st.sampled_from([None, 1, 3, 0, -2]),
        sorted_columns=FLAGS,
        reverse=FLAGS,
        filter=st.sampled_from([None, None, b"KeyOnlyFilter()", "PageFilter(2)", b"NoFilter("]),
    ),
    full("scan", {"row_prefix": st.just(b"b") | st.just(b"")}, columns=CHOSEN, limit=st.sampled_from([None, 2])),
)
WRITES = (
    full("put", {"row": ROWS, "data": PUTS, "timestamp": AT}, wal=FLAGS),
    full("put", {"row": ROWS, "data": PUTS_NOW}, wal=FLAGS),
    full("put", {"row": ROWS | NO_ROW, "data": st.sampled_from([{b"f": b"1"}, {b"h:a": b"1"}, {b"g:a": b"1"}])}),
    full("delete", {"row": ROWS}, columns=CHOSEN | BAD, timestamp=TIMES, wal=FLAGS),
    full("delete", {"row": NO_ROW}, columns=st.none() | BAD),
    full("counter_inc", {"row": ROWS, "column": OF_ONE_VERSION}, value=st.sampled_from([0, 1, -5, 2**62])),
    full("counter_dec", {"row": ROWS, "column": OF_ONE_VERSION}, value=st.sampled_from([1, -5])),
    full("counter_set", {"row": ROWS, "column": OF_ONE_VERSION}, value=st.sampled_from([0, -1, 2**63 - 1])),
    full("counter_get", {"row": ROWS, "column": OF_ONE_VERSION}),
    # Not a method: see added().
    st.tuples(
        st.just("added"),
        st.fixed_dictionaries(
            {
                "row": ROWS,
                "column": OF_ONE_VERSION,
                "by": st.sampled_from([0, 1, -5, 2**62, 2**63 - 1]) | VALUES,
                "way": st.sampled_from(["mutate_row", "check_and_mutate", "mutate_if"]),
            }
        ),
    ),
)


def batches(data: st.SearchStrategy[Any], **timed: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    calls = st.one_of(
        full("put", {"row": IN_BATCHES | IN_BATCHES | IN_BATCHES | NO_ROW, "data": data.filter(bool)}, wal=FLAGS),
        full("delete", {"row": IN_BATCHES}, columns=CHOSEN | BAD, wal=FLAGS),
        full("send", {}),
    )
    choices = {"batch_size": st.sampled_from([None, 1, 3, 0]), "transaction": FLAGS, "wal": FLAGS}
    ALPHABET.setdefault("batch", set()).update(timed, choices)
    return st.tuples(st.just("batch"), st.fixed_dictionaries(timed, optional=choices), st.lists(calls, max_size=5))


BATCHES = batches(PUTS, timestamp=AT) | batches(PUTS_NOW)
PROGRAMS: st.SearchStrategy[Program] = st.lists(st.one_of(*WRITES, *WRITES, BATCHES, *READS), min_size=1, max_size=12)


def within(prefix: bytes, arguments: dict[str, Any]) -> dict[str, Any]:
    """The same of the program's own rows."""

    def own(row: Any) -> Any:
        if row == LONG:
            return b"x" * 40_000
        if not isinstance(row, (bytes, str)) or len(row) > 1000 or row == b"":
            return row
        return prefix.decode() + row if isinstance(row, str) else prefix + row

    placed = dict(arguments)
    for name in ("row", "row_start", "row_stop"):
        if placed.get(name) is not None:
            placed[name] = own(placed[name])
    if "rows" in placed:
        placed["rows"] = [own(row) for row in placed["rows"]]
    if "row_prefix" in placed:
        text = placed["row_prefix"]
        placed["row_prefix"] = prefix + (text.encode() if isinstance(text, str) else text)
    return placed


def bounded(prefix: bytes, arguments: dict[str, Any]) -> dict[str, Any]:
    """A scan without a bound is one of the program's rows."""
    if "row_prefix" in arguments:
        return arguments
    first, last = prefix, prefix + b"\xff\xff"
    if arguments.get("reverse"):
        first, last = last, first
    return {
        **arguments,
        "row_start": arguments.get("row_start") or first,
        "row_stop": arguments.get("row_stop") or last,
    }


def added(table: Any, row: Any, column: Any, by: Any, way: str) -> Any:
    """An increment or an append by one of the library's ways; by happybase the call that does the same. Whether it was
    done, and the new value. A mutate_if without a condition asks for a row that is there."""
    if isinstance(table, hbtable.Table):
        changes = hbtable.RowChanges()
        changes = changes.increment(column, by) if isinstance(by, int) else changes.append({column: by})
        if way == "mutate_row":
            table.mutate_row(row, changes)
            done = True
        elif way == "check_and_mutate":
            done = table.check_and_mutate(row, "g:never", "=", None, changes)
        else:
            done = table.mutate_if(row, changes)
    else:
        done = way != "mutate_if" or bool(table.row(row))
        if done and isinstance(by, int):
            table.counter_inc(row, column, by)
        elif done:
            given_ = [one.encode() if isinstance(one, str) else one for one in (row, column, by)]
            table.connection.client.append(TAppend(table.name, given_[0], [given_[1]], [given_[2]]))
    return done, table.row(row, [column])


NAME_A_FIELD = ("to_arrow", "write_arrow", "put_frame")
"""Their argument `row` is no row."""
CAUGHT = (hbtable.HbtableError, AlreadyExists, IllegalArgument, IOError, TypeError, ValueError)


def answer_of(table: Any, prefix: bytes, one: Any, caught: tuple[type[Exception], ...] = CAUGHT) -> Any:
    name, given_, *calls = one
    arguments = within(prefix, given_)
    if name in NAME_A_FIELD and "row" in given_:
        arguments["row"] = given_["row"]
    try:
        if name == "scan":
            return [
                (row, list(data.items()) if arguments.get("sorted_columns") else data)
                for row, data in table.scan(**bounded(prefix, arguments))
            ]
        if name == "batch":
            with table.batch(**arguments) as batch:
                for method, of_row in calls[0]:
                    getattr(batch, method)(**within(prefix, of_row))
            return None
        if name == "added":
            return added(table, **arguments)
        return getattr(table, name)(**arguments)
    except caught as error:
        return Refused(kind for kind in KINDS if isinstance(error, KINDS[kind]))


class Refused(frozenset[str]):
    """What an error is to whoever catches it: ours may be a refusal and Python's ValueError at once."""


KINDS = {
    "TypeError": TypeError,
    "ValueError": ValueError,
    "refused": (hbtable.HbtableError, AlreadyExists, IllegalArgument, IOError),
}


def alike(expected: Any, found: Any) -> bool:
    if isinstance(expected, Refused):
        return isinstance(found, Refused) and expected <= found
    return bool(found == expected)


class Ways:
    """A table in each of the three."""

    def __init__(self, stack: ExitStack, folder: Any) -> None:
        server = stack.enter_context(WarmServer(folder / "data", ["log.durability=os"]))
        connections = {
            "happybase": stack.enter_context(closing(happybase.Connection("127.0.0.1", server.port, timeout=60_000))),
            "open": stack.enter_context(hbtable.open(str(folder / "open"), durability="os")),
            "connect": stack.enter_context(hbtable.connect("127.0.0.1", server.port, timeout=60_000)),
        }
        self.tables = {}
        for way, connection in connections.items():
            connection.create_table(way, {"f": {"max_versions": 3}, "g": {"max_versions": 1}})
            self.tables[way] = connection.table(way)

    def agree(self, program: Program) -> None:
        prefix = b"%08d" % next(_numbers)
        answers = {
            way: [answer_of(table, prefix, one) for one in program] + [contents(table, prefix)]
            for way, table in self.tables.items()
        }
        for number, expected in enumerate(answers["happybase"]):
            for way in ("open", "connect"):
                assert alike(expected, answers[way][number]), (way, program[: number + 1], answers)


def contents(table: Any, prefix: bytes) -> dict[bytes, Any]:
    return {(row, column): table.cells(row, column) for row, data in table.scan(row_prefix=prefix) for column in data}


@pytest.fixture(scope="module")
def ways(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ways]:
    with ExitStack() as stack:
        yield Ways(stack, tmp_path_factory.mktemp("programs"))


SETTINGS = settings(deadline=None, database=None, suppress_health_check=list(HealthCheck))


@pytest.mark.repeats
@settings(SETTINGS, max_examples=150, derandomize=True)
@given(program=PROGRAMS)
def test_programs_agree(ways: Ways, program: Program) -> None:
    ways.agree(program)


@pytest.mark.verify
@seed(fresh_seed())
@settings(SETTINGS, max_examples=examples(1000))
@given(program=PROGRAMS)
def test_programs_that_no_run_has_seen_agree(ways: Ways, program: Program) -> None:
    ways.agree(program)
