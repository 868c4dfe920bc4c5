"""Changes of a row, increments and appends among them, at once and on conditions over time ranges, families and
filters: hbtable.open() and hbtable.connect() answer, and leave the table, as a plain model does that reads, compares
and writes (HBase's RowMutations and CheckAndMutate).
"""

import itertools
import operator
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, seed, settings

import hbtable
from tests.harness.fresh_seed import examples, fresh_seed
from tests.harness.warm_server import WarmServer
from tests.integration.test_library_programs import SETTINGS

pytestmark = pytest.mark.integration

_numbers = itertools.count()
FAMILIES: Any = {"f": {"max_versions": 1000}, "g": {"max_versions": 1000}}
COLUMNS = ("f:a", "f:b", "f:", "g:a")
VALUES = ("", "1", "2", "10")
COMPARE: dict[str, Callable[[str, str], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
Cell = tuple[str, int, str]
Change = tuple[str, str, int, Any]
NOW = 10**12
"""The time of what the server timed, in the model: later than any other, and the newest one alone is compared, because
two of one millisecond are one version."""
ADDING = ("increment", "append")
AMOUNTS = (1, -3, 2**63 - 1)


class Refused(Exception):
    """Named as the library's error is."""


@dataclass
class Model:
    """A row: versions by column and time."""

    versions: dict[str, dict[int, str]] = field(default_factory=dict)
    replaced: dict[str, list[str]] = field(default_factory=dict)
    """Values of each column that the server timed, but for the newest: versions of their own, unless they came in the
    same millisecond as the next one."""

    def cells(self, columns: list[str] | None, times: tuple[int | None, int | None] | None) -> list[Cell]:
        """All versions, of each column the newest first: a filter looks at every one (HBase), and lets an older one
        through where it drops the newest."""
        low, high = times or (None, None)
        return [
            (column, time, versions[time])
            for column, versions in sorted(self.versions.items())
            if columns is None or {column, column.partition(":")[0]} & set(columns)
            for time in sorted(versions, reverse=True)
            if (low is None or low <= time) and (high is None or time < high)
        ]

    def change(self, changes: list[Change]) -> None:
        """All or none. Refused."""
        puts = {column: self._added(what, column, value) for what, column, _, value in changes if what in ADDING}
        for what, column, time, value in changes:
            if what in ADDING:
                versions = self.versions.setdefault(column, {})
                if NOW in versions:
                    self.replaced.setdefault(column, []).append(versions[NOW])
                versions[NOW] = puts[column]
            elif what == "put":
                self.versions.setdefault(column, {})[time] = value
            else:
                self.versions.get(column, {}).pop(time, None)

    def _added(self, what: str, column: str, value: Any) -> str:
        versions = self.versions.get(column) or {0: "" if what == "append" else "\0" * 8}
        newest = versions[max(versions)]
        if what == "append":
            return newest + value
        if len(newest) != 8:
            raise Refused("NotACounter")
        total = int.from_bytes(newest.encode("latin-1"), "big") + value
        return (total % 2**64).to_bytes(8, "big").decode("latin-1")


@dataclass
class Filter:
    """A filter in HBase's words, and what it lets through."""

    text: str | None
    passes: Callable[[Cell], bool]


FILTERS = [
    Filter(None, lambda _: True),
    *(
        Filter(f"ValueFilter({sign}, 'binary:{value}')", lambda cell, c=COMPARE[sign], v=value: c(cell[2], v))
        for sign, value in (("=", "1"), ("!=", "2"), (">", "10"), ("<=", "1"))
    ),
    Filter("QualifierFilter(=, 'binary:a')", lambda cell: cell[0].endswith(":a")),
    Filter(
        "FamilyFilter(=, 'binary:g') AND ValueFilter(=, 'binary:1')", lambda cell: cell[0][0] == "g" and cell[2] == "1"
    ),
    Filter("TimestampsFilter(3, 5, 7)", lambda cell: cell[1] in (3, 5, 7)),
]
TIMES = st.none() | st.tuples(st.none() | st.integers(0, 12), st.none() | st.integers(0, 12))
WANTED = st.none() | st.lists(st.sampled_from(["f", "g", *COLUMNS]), min_size=1, max_size=3)
CHANGE = st.one_of(
    st.tuples(st.sampled_from(["put", "put", "delete", "append"]), st.sampled_from(COLUMNS), st.sampled_from(VALUES)),
    st.tuples(st.just("increment"), st.sampled_from(COLUMNS), st.sampled_from(AMOUNTS)),
)
CHANGES = st.lists(CHANGE, min_size=1, max_size=3)
STEPS = st.one_of(
    st.tuples(st.just("mutate_if"), CHANGES, WANTED, TIMES, st.sampled_from(FILTERS)),
    st.tuples(
        st.just("check_and_mutate"), CHANGES, st.sampled_from(COLUMNS), TIMES, st.sampled_from(sorted(COMPARE)),
        st.none() | st.sampled_from(VALUES),
    ),
)  # fmt: skip
PROGRAMS = st.tuples(st.permutations(range(1, 13)), CHANGES, st.lists(STEPS, min_size=1, max_size=9))


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, hbtable.Table]]:
    with ExitStack() as stack:
        folder = tmp_path_factory.mktemp("conditions")
        server = stack.enter_context(WarmServer(folder / "data", ["log.durability=os"]))
        databases: dict[str, hbtable.Database] = {
            "open": stack.enter_context(hbtable.open(":memory:")),
            "connect": stack.enter_context(hbtable.connect("127.0.0.1", server.port, timeout=60_000)),
        }
        yield {way: database.create_table("t", FAMILIES, split_rows=["5"]) for way, database in databases.items()}


def timed(changes: Any, time: int) -> list[Change]:
    """A marker would hide what is written later at its time: each version is written once, and deleted after that."""
    return [(what, column, time + 1 if what == "delete" else time, value) for what, column, value in changes]


def names_one_twice(changes: list[Change]) -> bool:
    """A column that is added to."""
    columns = [column for _, column, _, _ in changes]
    return any(what in ADDING and columns.count(column) > 1 for what, column, _, _ in changes)


def collected(changes: list[Change]) -> hbtable.RowChanges:
    made = hbtable.RowChanges()
    for what, column, time, value in changes:
        if what == "increment":
            made.increment(column, value)
        elif what == "append":
            made.append({column: value})
        elif what == "put":
            made.put({column: value}, timestamp=time)
        else:
            made.delete_version(column, timestamp=time)
    return made


def met(model: Model, step: Any) -> bool:
    kind, _, columns, times, *more = step
    if kind == "mutate_if":
        return any(map(more[0].passes, model.cells(columns, times)))
    sign, value = more
    found = model.cells([columns], times)
    stored = found[0][2] if found else None
    if stored is None:
        return sign == "=" and not value
    if value is None:
        return sign == "!=" or not stored
    return COMPARE[sign](stored, value)


def is_open(model: Model, step: Any) -> bool:
    """Whether the answer rests on how many milliseconds there were between the server's own times."""
    if step[0] != "mutate_if" or met(model, step):
        return False
    _, _, columns, times, kept = step
    return any(
        kept.passes(cell)
        for column, values in model.replaced.items()
        for value in values
        for cell in Model({column: {NOW: value}}).cells(columns, times)
    )


def asked(table: hbtable.Table, row: str, step: Any, changes: hbtable.RowChanges) -> bool | str | None:
    try:
        if step[0] == "mutate_row":
            return table.mutate_row(row, changes)
        kind, _, columns, times, *more = step
        if kind == "mutate_if":
            return table.mutate_if(row, changes, columns, filter=more[0].text, time_range=times)
        sign, value = more
        return table.check_and_mutate(row, columns, sign, value, changes, time_range=times)
    except hbtable.InvalidRequest as error:
        return type(error).__name__


def expected_of(model: Model, step: Any, changes: list[Change]) -> bool | str | None:
    """The answer; of an error its name. The model has changed."""
    if step[0] == "check_and_mutate" and step[5] is None and step[4] not in ("=", "!="):
        return "WrongType"
    if names_one_twice(changes):
        return "InvalidRequest"
    if step[0] != "mutate_row" and not met(model, step):
        return False
    try:
        model.change(changes)
    except Refused as error:
        return str(error)
    return True if step[0] != "mutate_row" else None


def agrees(tables: dict[str, hbtable.Table], program: Any) -> None:
    order, first, steps = program
    row = f"{next(_numbers) % 10}-{next(_numbers)}"
    model, written = Model(), set()
    for number, step in enumerate([("mutate_row", first), *steps]):
        time = order[number % len(order)]
        changes = [
            one for one in timed(step[1], time)
            if one[0] != "delete" or ((one[1], one[2]) in written and one[2] not in order[number:])
        ]  # fmt: skip
        changes = changes or [("put", "f:b", time, "2")]
        if is_open(model, step):
            break
        expected = expected_of(model, step, changes)
        for way, table in tables.items():
            assert asked(table, row, step, collected(changes)) == expected, (way, number)
        if expected in (True, None):
            written |= {(column, at) for what, column, at, _ in changes if what not in ADDING}
    for way, table in tables.items():
        found = table.row(row, versions=1000, include_timestamp=True)
        shown = {
            column.decode(): {min(time, NOW): value.decode("latin-1") for value, time in reversed(versions)}
            for column, versions in found.items()
        }
        assert shown == {column: kept for column, kept in model.versions.items() if kept}, way


@pytest.mark.repeats
@settings(SETTINGS, max_examples=120, derandomize=True)
@given(program=PROGRAMS)
def test_programs_agree_with_a_model(tables: dict[str, hbtable.Table], program: Any) -> None:
    agrees(tables, program)


@pytest.mark.verify
@seed(fresh_seed())
@settings(SETTINGS, max_examples=examples(1000))
@given(program=PROGRAMS)
def test_programs_that_no_run_has_seen_agree_with_a_model(tables: dict[str, hbtable.Table], program: Any) -> None:
    agrees(tables, program)


@pytest.mark.parametrize("way", ["open", "connect"])
def test_of_many_at_once_one_finds_the_condition_met(tables: dict[str, hbtable.Table], way: str) -> None:
    table, row = tables[way], f"race-{next(_numbers)}"
    table.put(row, {"f:turn": "0"})
    won: list[int] = []

    def take(who: int) -> None:
        for turn in range(20):
            changes = hbtable.RowChanges().put({"f:turn": str(turn + 1), f"g:{turn}": str(who)}).increment("f:won")
            chosen = hbtable.Filter("SingleColumnValueFilter", "f", "turn", "=", f"binary:{turn}", True, True)
            if table.mutate_if(row, changes, ["f:turn"], filter=chosen):
                won.append(turn)

    threads = [threading.Thread(target=take, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == list(range(len(won)))
    assert table.row(row, ["f:turn"]) == {b"f:turn": b"%d" % len(won)}
    assert len(table.row(row, ["g"])) == len(won) > 0
    assert table.counter_get(row, "f:won") == len(won)


@pytest.mark.parametrize("way", ["open", "connect"])
def test_what_many_add_at_once_is_all_there(tables: dict[str, hbtable.Table], way: str) -> None:
    table, row = tables[way], f"sum-{next(_numbers)}"

    def add(who: int) -> None:
        for turn in range(25):
            table.mutate_row(row, hbtable.RowChanges().increment("f:n", who).append({"g:a": f"{who}."}))
            if not turn % 5:
                table.counter_inc(row, "f:n", 100)

    threads = [threading.Thread(target=add, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert table.counter_get(row, "f:n") == 25 * (0 + 1 + 2 + 3) + 4 * 5 * 100
    assert sorted(table.row(row)[b"g:a"].decode().split(".")) == sorted(["", *"0123" * 25])


@pytest.mark.parametrize("way", ["open", "connect"])
def test_what_cannot_be_a_condition_changes_nothing(tables: dict[str, hbtable.Table], way: str) -> None:
    table, row = tables[way], f"wrong-{next(_numbers)}"
    changes = hbtable.RowChanges().put({"f:a": "1"})
    with pytest.raises(hbtable.BadFilter):
        table.mutate_if(row, changes, filter="NoSuchFilter(")
    with pytest.raises(hbtable.NoSuchFamily, match="none"):
        table.mutate_if(row, changes, ["none:a"])
    with pytest.raises(hbtable.NoSuchFamily, match="none"):
        table.check_and_mutate(row, "none:a", "=", None, changes, time_range=(1, 2))
    with pytest.raises(hbtable.InvalidRequest, match="time_range"):
        table.mutate_if(row, changes, time_range=(-1, 2))
    with pytest.raises(hbtable.NoSuchFamily, match="none"):
        table.mutate_row(row, hbtable.RowChanges().put({"f:a": "1"}).increment("none:a"))
    for twice in (
        hbtable.RowChanges().increment("f:n").increment("f:n", 2),
        hbtable.RowChanges().increment("f:n").append({"f:n": "2"}),
        hbtable.RowChanges().put({"f:n": "1"}).append({"f:n": "2"}),
        hbtable.RowChanges().append({"f:n": "2"}).delete(["f:n"]),
        hbtable.RowChanges().append({"f:n": "2"}).delete_version("f:n", 5),
        hbtable.RowChanges().delete(["f"]).increment("f:n"),
        hbtable.RowChanges().put({"g:a": "1"}).increment("f:n").delete(),
    ):
        with pytest.raises(hbtable.InvalidRequest, match=r"one change .*f.*two changes"):
            table.mutate_row(row, twice)
        with pytest.raises(hbtable.InvalidRequest, match=r"one change .*f.*two changes"):
            table.mutate_if(row, twice, ["g:none"])  # the condition is not met
        with pytest.raises(hbtable.InvalidRequest, match=r"one change .*f.*two changes"):
            table.check_and_mutate(row, "g:none", "=", "1", twice)
    with pytest.raises(hbtable.LimitExceeded, match="larger than the limit"):
        table.mutate_row(row, hbtable.RowChanges().put({"g:a": "1"}).append({"f:n": b"x" * (11 << 20)}))
    assert table.row(row) == {}
