"""Generated programs of Thrift2's calls on cells do the same as the library's over hbtable.open(): each call answers
alike, or both refuse it, and the table is the same in the end. Recordings say what HBase's Thrift2 answers; here its
calls meet each other, as no recording has them."""

import itertools
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import example, given, seed
from hypothesis import settings as hypothesis_settings
from thriftpy2.rpc import make_client

import hbtable
from tests.harness.fresh_seed import examples, fresh_seed
from tests.harness.interfaces import interface
from tests.integration.test_library_programs import SETTINGS

pytestmark = pytest.mark.integration

TWO = interface("hbase2")
_numbers = itertools.count()

ROWS = st.sampled_from([b"a", b"b", b"b\x00", b"c\xff"])
TIMED = st.sampled_from([b"f:", b"f:a", b"f:b:c", b"f:\x00"])
"""Of families with several versions, whose cells are written with times."""
LATEST = st.sampled_from([b"g:", b"g:n", b"g:\xff"])
COLUMNS = TIMED | LATEST
VALUES = st.sampled_from([b"", b"1", b"2", bytes(8), b"\xff" * 300])
TIMES = st.sampled_from([0, 1, 2, 3])
CHOSEN = st.none() | st.lists(COLUMNS | st.sampled_from([b"f", b"g"]), min_size=1, max_size=3)
FILTERS = st.sampled_from([
    None, None, "KeyOnlyFilter()", "ValueFilter(>, 'binary:1')", "ColumnPaginationFilter(2, 1)", "PrefixFilter('",
    "SingleColumnValueFilter('f', 'a', =, 'binary:1')", "FirstKeyOnlyFilter()", "TimestampsFilter(1, 3)",
])  # fmt: skip
RANGES = st.sampled_from([None, None, (1, 3), (0, 2), (2, 2)])
PUT = st.tuples(st.just("put"), st.dictionaries(TIMED, VALUES, min_size=1, max_size=3), TIMES) | st.tuples(
    st.just("put"), st.dictionaries(LATEST, VALUES, min_size=1, max_size=2), st.none()
)
DELETE = st.one_of(
    st.tuples(st.just("version"), st.lists(st.tuples(TIMED, TIMES), min_size=1, max_size=2)),
    # Not of LATEST: two puts of now have one time or two, as a millisecond ends between them or not.
    st.tuples(st.just("version"), st.lists(st.tuples(TIMED, st.none()), min_size=1, max_size=1)),
    st.tuples(st.just("columns"), st.lists(st.tuples(COLUMNS, st.none() | TIMES), min_size=1, max_size=2)),
    st.tuples(st.just("families"), st.tuples(st.tuples(st.sampled_from([b"f", b"g"]), st.none() | TIMES))),
    st.tuples(st.just("row"), st.none() | TIMES),
)
CHANGES = st.lists(PUT | DELETE, min_size=1, max_size=4)
WAYS = st.sampled_from(["itself", "mutate_row", "check_and_mutate"])
OPERATORS = {"<": 5, "<=": 4, "=": 2, "!=": 3, ">=": 1, ">": 0}
"""Ours, of the stored value, and Thrift2's, of the given one."""


def step(name: str, *parts: st.SearchStrategy[Any], **named: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.tuples(st.just(name), st.tuples(*parts), st.fixed_dictionaries(named))


READ = {"columns": CHOSEN, "versions": st.sampled_from([1, 1, 2, 5]), "time_range": RANGES, "filter": FILTERS}
PROGRAMS = st.lists(
    st.one_of(
        step("put", ROWS, PUT),
        step("putMultiple", st.lists(st.tuples(ROWS, PUT), max_size=4)),
        step("deleteSingle", ROWS, DELETE),
        step("deleteMultiple", st.lists(st.tuples(ROWS, DELETE), max_size=3)),
        step("mutateRow", ROWS, CHANGES),
        step("checkAndPut", ROWS, COLUMNS, st.none() | VALUES, PUT),
        step("checkAndDelete", ROWS, COLUMNS, st.none() | VALUES, DELETE),
        step("checkAndMutate", ROWS, COLUMNS, st.sampled_from(sorted(OPERATORS)), VALUES.filter(bool), CHANGES),
        step("checkAndMutate", ROWS, COLUMNS, st.sampled_from(["=", "!="]), st.just(b""), CHANGES),
        # The ways are the library's: Thrift2's mutations are puts and deletes alone.
        step(
            "increment", ROWS, st.dictionaries(LATEST, st.sampled_from([0, 1, -5, 2**62]), min_size=1, max_size=2), WAYS
        ),
        step("append", ROWS, st.dictionaries(LATEST, VALUES, min_size=1, max_size=2), WAYS),
        step("get", ROWS, **READ),
        step("getMultiple", st.lists(ROWS, max_size=4), **READ),
        step("exists", ROWS, **READ),
        step("existsAll", st.lists(ROWS, max_size=3), **READ),
        step(
            "scan", st.booleans(), st.sampled_from([1, 2, 100]), st.sampled_from([None, 1, 2]),
            st.sampled_from([None, 1, 2]), **READ,
        ),
        step("scanOfTimes", st.dictionaries(st.sampled_from([b"f", b"g"]), RANGES.filter(bool)), RANGES),
    ),
    min_size=2, max_size=14,
)  # fmt: skip


def split(column: bytes) -> tuple[bytes, bytes | None]:
    family, colon, qualifier = column.partition(b":")
    return family, qualifier if colon else None


# ---------------------------------------------------------------- Thrift2


class Thrift2:
    """A table by Thrift2's calls. Cells are (column, time, value)."""

    def __init__(self, port: int, table: bytes) -> None:
        self._calls = make_client(TWO.THBaseService, "127.0.0.1", port, timeout=60_000)
        self._table = table

    def close(self) -> None:
        self._calls.close()

    def do(self, name: str, parts: Any, read: Any) -> Any:
        return getattr(self, f"_{name}")(*parts, **read)

    def _put(self, row: bytes, put: Any) -> None:
        self._calls.put(self._table, self._made_put(row, put))

    def _putMultiple(self, puts: Any) -> None:
        self._calls.putMultiple(self._table, [self._made_put(*one) for one in puts])

    def _deleteSingle(self, row: bytes, delete: Any) -> None:
        self._calls.deleteSingle(self._table, self._made_delete(row, delete))

    def _deleteMultiple(self, deletes: Any) -> None:
        assert self._calls.deleteMultiple(self._table, [self._made_delete(*one) for one in deletes]) == []

    def _mutateRow(self, row: bytes, changes: Any) -> None:
        self._calls.mutateRow(self._table, self._mutations(row, changes))

    def _checkAndPut(self, row: bytes, column: bytes, value: Any, put: Any) -> Any:
        return self._calls.checkAndPut(self._table, row, *split(column), value, self._made_put(row, put))

    def _checkAndDelete(self, row: bytes, column: bytes, value: Any, delete: Any) -> Any:
        return self._calls.checkAndDelete(self._table, row, *split(column), value, self._made_delete(row, delete))

    def _checkAndMutate(self, row: bytes, column: bytes, operator: str, value: bytes, changes: Any) -> Any:
        mutations = self._mutations(row, changes)
        return self._calls.checkAndMutate(self._table, row, *split(column), OPERATORS[operator], value, mutations)

    def _increment(self, row: bytes, amounts: Any, _: str) -> Any:
        columns = [TWO.TColumnIncrement(*split(column), amount) for column, amount in amounts.items()]
        found = cells(self._calls.increment(self._table, TWO.TIncrement(row=row, columns=columns)))
        return {column: value for column, _, value in found}

    def _append(self, row: bytes, suffixes: Any, _: str) -> Any:
        columns = [TWO.TColumnValue(*split(column), suffix) for column, suffix in suffixes.items()]
        found = cells(self._calls.append(self._table, TWO.TAppend(row=row, columns=columns)))
        return {column: value for column, _, value in found}

    def _get(self, row: bytes, **read: Any) -> Any:
        return cells(self._calls.get(self._table, self._made_get(row, read)))

    def _getMultiple(self, rows: Any, **read: Any) -> Any:
        return [cells(one) for one in self._calls.getMultiple(self._table, [self._made_get(row, read) for row in rows])]

    def _exists(self, row: bytes, **read: Any) -> Any:
        return self._calls.exists(self._table, self._made_get(row, read))

    def _existsAll(self, rows: Any, **read: Any) -> Any:
        return self._calls.existsAll(self._table, [self._made_get(row, read) for row in rows])

    def _scan(self, prefix: bytes, is_reversed: bool, at_once: int, limit: Any, pieces: Any, **read: Any) -> Any:
        bounds = (prefix, prefix + b"\xff\xff")
        chosen = self._chosen(read)
        scan = TWO.TScan(
            startRow=bounds[is_reversed], stopRow=bounds[not is_reversed], reversed=is_reversed, limit=limit,
            batchSize=pieces, **chosen,
        )  # fmt: skip
        found = []
        number = self._calls.openScanner(self._table, scan)
        while rows := self._calls.getScannerRows(number, at_once):
            found += rows
        self._calls.closeScanner(number)
        first = self._calls.getScannerResults(self._table, scan, at_once)
        assert first == found[: len(first)]
        assert len(first) >= min(len(found), at_once)
        return [(one.row, cells(one)) for one in found]

    def _scanOfTimes(self, prefix: bytes, of_families: Any, times: Any) -> Any:
        ranges = {family: TWO.TTimeRange(*one) for family, one in of_families.items()}
        scan = TWO.TScan(
            startRow=prefix, stopRow=prefix + b"\xff\xff", maxVersions=5, colFamTimeRangeMap=ranges or None,
            timeRange=times and TWO.TTimeRange(*times),
        )  # fmt: skip
        return [(one.row, cells(one)) for one in self._calls.getScannerResults(self._table, scan, 100)]

    def _made_put(self, row: bytes, put: Any) -> Any:
        _, data, time = put
        values = [TWO.TColumnValue(*split(column), value) for column, value in data.items()]
        return TWO.TPut(row=row, columnValues=values, timestamp=time)

    def _made_delete(self, row: bytes, delete: Any) -> Any:
        kind, what = delete
        if kind == "row":
            return TWO.TDelete(row=row, timestamp=what)
        columns = [TWO.TColumn(*split(column), time) for column, time in what]
        return TWO.TDelete(row=row, columns=columns, deleteType={"version": 0, "columns": 1, "families": 2}[kind])

    def _mutations(self, row: bytes, changes: Any) -> Any:
        mutations = [
            TWO.TMutation(put=self._made_put(row, one))
            if one[0] == "put"
            else TWO.TMutation(deleteSingle=self._made_delete(row, one))
            for one in changes
        ]
        return TWO.TRowMutations(row=row, mutations=mutations)

    def _made_get(self, row: bytes, read: Any) -> Any:
        return TWO.TGet(row=row, **self._chosen(read))

    def _chosen(self, read: Any) -> dict[str, Any]:
        columns, times, text = read["columns"], read["time_range"], read["filter"]
        return {
            "columns": columns and [TWO.TColumn(*split(column)) for column in columns],
            "maxVersions": read["versions"],
            "timeRange": times and TWO.TTimeRange(*times),
            "filterString": text and text.encode(),
        }


def cells(result: Any) -> list[tuple[bytes, int, bytes]]:
    return [(one.family + b":" + one.qualifier, one.timestamp, one.value) for one in result.columnValues]


# ---------------------------------------------------------------- the library


class Library:
    """The same by the library's calls."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def do(self, name: str, parts: Any, read: Any) -> Any:
        return getattr(self, f"_{name}")(*parts, **read)

    def _put(self, row: bytes, put: Any) -> None:
        self._mutateRow(row, [put])

    def _putMultiple(self, puts: Any) -> None:
        for row, put in puts:
            self._put(row, put)

    _deleteSingle = _put  # noqa: N815
    _deleteMultiple = _putMultiple  # noqa: N815

    def _mutateRow(self, row: bytes, changes: Any) -> None:
        self._table.mutate_row(row, changes_of(changes))

    def _checkAndPut(self, row: bytes, column: bytes, value: Any, put: Any) -> Any:
        return self._checkAndMutate(row, column, "=", value, [put])

    _checkAndDelete = _checkAndPut  # noqa: N815

    def _checkAndMutate(self, row: bytes, column: bytes, operator: Any, value: Any, changes: Any) -> Any:
        return self._table.check_and_mutate(row, column, operator, value, changes_of(changes))

    def _increment(self, row: bytes, amounts: Any, way: str) -> Any:
        if way == "itself" and len(amounts) == 1:
            ((column, amount),) = amounts.items()
            return {column: self._table.counter_inc(row, column, amount).to_bytes(8, "big", signed=True)}
        changes = hbtable.RowChanges()
        for column, amount in amounts.items():
            changes.increment(column, amount)
        return self._added(row, way, changes, list(amounts))

    def _append(self, row: bytes, suffixes: Any, way: str) -> Any:
        if way == "itself":
            return self._table.append(row, suffixes)
        return self._added(row, way, hbtable.RowChanges().append(suffixes), list(suffixes))

    def _added(self, row: bytes, way: str, changes: hbtable.RowChanges, columns: Any) -> Any:
        """The new values, as Thrift2's calls answer them."""
        if way == "check_and_mutate":
            assert self._table.check_and_mutate(row, b"g:never", "=", None, changes)
        else:
            self._table.mutate_row(row, changes)
        return self._table.row(row, columns)

    def _get(self, row: bytes, **read: Any) -> Any:
        return flat(self._table.row(row, include_timestamp=True, **read))

    def _getMultiple(self, rows: Any, **read: Any) -> Any:
        return [self._get(row, **read) for row in rows]

    def _exists(self, row: bytes, **read: Any) -> Any:
        return bool(self._get(row, **read))

    def _existsAll(self, rows: Any, **read: Any) -> Any:
        return [self._exists(row, **read) for row in rows]

    def _scan(self, prefix: bytes, is_reversed: bool, at_once: int, limit: Any, pieces: Any, **read: Any) -> Any:
        bounds = (prefix, prefix + b"\xff\xff")
        rows = self._table.scan(
            bounds[is_reversed], bounds[not is_reversed], include_timestamp=True, reverse=is_reversed,
            batch_size=at_once, **read,
        )  # fmt: skip
        whole = [(row, flat(data)) for row, data in rows][:limit]
        size = pieces or 1000
        return [(row, found[at : at + size]) for row, found in whole for at in range(0, len(found), size)]

    def _scanOfTimes(self, prefix: bytes, of_families: Any, times: Any) -> Any:
        found: dict[bytes, Any] = {}
        for family in (b"f", b"g"):
            rows = self._table.scan(
                row_prefix=prefix, columns=[family], versions=5, include_timestamp=True,
                time_range=of_families.get(family, times),
            )  # fmt: skip
            for row, data in rows:
                found.setdefault(row, []).extend(flat(data))
        return sorted(found.items())


def changes_of(steps: Any) -> hbtable.RowChanges:
    """Puts come first, as in mutateRow."""
    changes = hbtable.RowChanges()
    for kind, *given_ in sorted(steps, key=lambda one: one[0] != "put"):
        if kind == "put":
            changes.put(*given_)
        elif kind == "row":
            changes.delete(None, *given_)
        else:
            for column, time in given_[0]:
                if kind == "version":
                    changes.delete_version(column, time)
                else:
                    changes.delete([column], time)
    return changes


def flat(data: Any) -> list[tuple[bytes, int, bytes]]:
    return [(column, time, value) for column, versions in data.items() for value, time in versions]


# ---------------------------------------------------------------- both


def placed(prefix: bytes, name: str, parts: Any) -> Any:
    if name in ("scan", "scanOfTimes"):
        return (prefix, *parts)
    if name in ("getMultiple", "existsAll"):
        return ([prefix + row for row in parts[0]],)
    if name in ("putMultiple", "deleteMultiple"):
        return ([(prefix + row, one) for row, one in parts[0]],)
    return (prefix + parts[0], *parts[1:])


def timeless(answer: Any) -> Any:
    """Without the server's times, which no two writes share."""
    if isinstance(answer, (list, tuple)):
        return type(answer)(timeless(value) for value in answer)
    return "now" if type(answer) is int and answer > 10**12 else answer


def answered(do: Callable[..., Any], prefix: bytes, one: Any) -> Any:
    name, parts, read = one
    try:
        return timeless(do(name, placed(prefix, name, parts), read))
    except (hbtable.HbtableError, TWO.TIOError, TWO.TIllegalArgument):
        return "refused"


Sides = tuple[Thrift2, Library]
ALL: dict[str, Any] = {"columns": None, "versions": 5, "time_range": None, "filter": None}


@pytest.fixture(scope="module")
def sides() -> Iterator[Sides]:
    with hbtable.open(":memory:") as db:
        families: Any = {"f": {"max_versions": 3}, "g": {"max_versions": 1}}
        tables = [db.create_table(name, families, split_rows=[b"00000010b"]) for name in ("two", "one")]
        with closing(Thrift2(db.serve(port=0), b"two")) as two:
            yield two, Library(tables[1])


def agree(sides: Sides, program: Any) -> None:
    prefix = b"%08d" % next(_numbers)
    whole = ("scan", (False, 100, None, None), ALL)
    for number, one in enumerate([*program, whole]):
        found, expected = (answered(side.do, prefix, one) for side in sides)
        assert found == expected, program[: number + 1]


REFUSED = [
    ("put", (b"a", ("put", {b"g:n": b"1"}, None)), {}),
    ("increment", (b"a", {b"g:": 1, b"g:n": 1}, "itself"), {}),
]
"""Of two counters the second is none."""


@example(program=REFUSED)
@hypothesis_settings(SETTINGS, max_examples=60, derandomize=True)
@given(program=PROGRAMS)
def test_programs_agree(sides: Sides, program: Any) -> None:
    agree(sides, program)


@pytest.mark.verify
@seed(fresh_seed())
@hypothesis_settings(SETTINGS, max_examples=examples(1000))
@given(program=PROGRAMS)
def test_programs_that_no_run_has_seen_agree(sides: Sides, program: Any) -> None:
    agree(sides, program)
