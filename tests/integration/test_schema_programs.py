"""Generated programs that make, change and drop tables and namespaces do the same over hbtable.open() and over
hbtable.connect(): each call gives the same answer, or the same class of error with the same sentence. What happybase
has of them does the same over happybase.

Each program has a namespace and names of its own, which go with its end.
"""

import itertools
from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Any

import happybase
import hypothesis.strategies as st
import pytest
from hypothesis import given, seed, settings

import hbtable
from tests.harness.fresh_seed import examples, fresh_seed
from tests.harness.without_merges import WITHOUT_MERGES
from tests.integration.test_library_programs import (
    CAUGHT,
    CHOSEN,
    KINDS,
    SETTINGS,
    Refused,
    alike,
    call,
    full,
)
from tests.integration.test_open_and_connect_agree import CHANGES, FILTERS, RANGES, VERSIONS, timeless

pytestmark = pytest.mark.integration

_numbers = itertools.count()
Call = tuple[str, dict[str, Any]]

NAMES = st.sampled_from(["T", "T", "T", "U", "N:T"])
"""T, U and N stand for names of the program's own."""
WRONG_NAMES = st.sampled_from(["", "a b", b"\xff", None, 5, "N:", "none:T"])
TABLES = NAMES | NAMES | NAMES | NAMES | WRONG_NAMES
OPTIONS: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {},
    optional={
        "max_versions": st.sampled_from([1, 3, 2**31 - 1, 0, -1]),
        "compression": st.sampled_from(["NONE", "gz", "ZSTD", "LZO"]),
        "in_memory": st.booleans(),
        "bloom_filter_type": st.sampled_from(["ROW", "ROWCOL", "NONE", "none of these"]),
        "block_cache_enabled": st.booleans(),
        "time_to_live": st.sampled_from([-1, 0, 1000, 2**31 - 1]),
    },
)
FURTHER: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {},
    optional={
        "max_versions": st.sampled_from([1, 2, 3, "3"]),
        "compression": st.sampled_from(["SNAPPY", 5]),
        "min_versions": st.sampled_from([0, 1, 4, -1]),
        "block_bytes": st.sampled_from([1024, 65536, 0, 1 << 40]),
        "locality_group": st.sampled_from(["", "one", "a/b"]),
        "ttl_seconds": st.sampled_from([1000, 0]),
        "new_version_behavior": st.booleans(),
        "nonsense": st.just(1),
    },
)
FAMILIES = st.sampled_from(["f", "f", "g", "h:", b"\xff", "", "a/b"])
PLAIN = st.dictionaries(st.sampled_from(["f", "g", "h:"]), OPTIONS, max_size=3)
MADE = PLAIN | st.dictionaries(FAMILIES, FURTHER, max_size=2) | st.lists(FAMILIES, max_size=2) | st.none()
ROWS = st.sampled_from(["", "b", "m", b"m", b"\xff"])
KEYS = st.sampled_from(["b", "m", b"m", b"\xff"])
"""An empty one is wrong in itself, and so may the table be: which of two mistakes is told first is nobody's promise."""
BOUNDS = st.none() | ROWS
SPLITS = st.lists(ROWS, max_size=3)
FLAGS = st.booleans()
PROPERTIES = st.dictionaries(st.sampled_from(["a", "ü", ""]), st.sampled_from(["1", "", "ö"]), max_size=2)
SPACES = st.sampled_from(["N", "N", "N", "M", "default", "hbase", "", "a b"])
TIMES = st.none() | st.sampled_from([1, 2, 3, 0])
COLUMNS = st.sampled_from(["f:a", "f:", "g:b", "h:c", "x:a"])
PATTERNS = st.sampled_from(["^a", "b|c", "", ".*", "[", "a{2"])
REGEX = st.builds(
    "{} (=, 'regexstring:{}')".format,
    st.sampled_from(["QualifierFilter", "RowFilter", "FamilyFilter", "ValueFilter"]),
    PATTERNS,
)
TIMED = {"columns": CHOSEN, "versions": VERSIONS, "time_range": RANGES, "include_timestamp": FLAGS}

HAPPYBASES = (
    full("create_table", {"name": NAMES, "families": PLAIN.filter(bool)}),
    full("create_table", {"name": NAMES, "families": st.just({"f": {"max_versions": 3}, "g": {}})}),
    full("delete_table", {"name": NAMES}, disable=FLAGS),
    full("enable_table", {"name": NAMES}),
    full("disable_table", {"name": NAMES}),
    full("is_table_enabled", {"name": NAMES}),
    full("compact_table", {"name": NAMES}, major=FLAGS),
    call("tables"),
    full("T.families", {"name": NAMES}),
    full(
        "T.put", {"name": NAMES, "row": st.sampled_from(["b", "m"]), "data": st.just({"f:a": "1"}), "timestamp": TIMES}
    ),
    full("T.scan", {"name": NAMES}),
)
OURS = (
    full("create_table", {"name": TABLES, "families": MADE}, split_rows=SPLITS),
    full("delete_table", {"name": TABLES}, disable=FLAGS),
    full("table_exists", {"name": TABLES}),
    full("is_table_enabled", {"name": TABLES}),
    full(
        "alter_table",
        {"name": TABLES},
        add=MADE,
        change=st.dictionaries(FAMILIES, FURTHER | OPTIONS, max_size=2),
        drop=st.lists(FAMILIES, max_size=2),
        split_bytes=st.sampled_from([None, 0, 1 << 20, 1 << 30, -1]),
    ),
    full("truncate_table", {"name": TABLES}, keep_splits=FLAGS, disable=FLAGS),
    full("flush_table", {"name": NAMES}),
    full("split_table", {"name": TABLES}, row=BOUNDS),
    full("merge_table", {"name": TABLES}, row_start=BOUNDS, row_stop=BOUNDS),
    full("create_namespace", {"name": SPACES}, properties=PROPERTIES),
    full("alter_namespace", {"name": SPACES, "properties": PROPERTIES}),
    full("namespace", {"name": SPACES}),
    full("delete_namespace", {"name": SPACES}),
    call("namespaces"),
    full("T.schema", {"name": TABLES}),
    full("T.regions", {"name": TABLES}),
    full("T.usage", {"name": NAMES}),
    full("T.sample_row_keys", {"name": NAMES}),
    full("T.row", {"name": NAMES, "row": KEYS}, **TIMED),
    full("T.scan", {"name": NAMES}, filter=REGEX | FILTERS, row_start=BOUNDS, row_stop=BOUNDS, **TIMED),
    full("T.put", {"name": NAMES, "row": KEYS, "data": st.dictionaries(COLUMNS, st.just("1")), "timestamp": TIMES}),
    full("T.delete", {"name": NAMES, "row": KEYS}, columns=CHOSEN, timestamp=TIMES),
    full("T.delete_rows", {"name": NAMES}, row_start=BOUNDS, row_stop=BOUNDS, timestamp=TIMES),
    full("T.delete_range", {"name": NAMES}, row_start=BOUNDS, row_stop=BOUNDS, timestamp=TIMES),
    full(
        "T.check_and_mutate",
        {
            "name": NAMES,
            "row": KEYS,
            "column": COLUMNS,
            "operator": st.sampled_from(["=", "!=", "<", "<=", ">", ">="]),
            "value": st.none() | st.sampled_from(["1", "", b"\xff"]),
            "changes": CHANGES,
        },
    ),
)
BEGIN = [
    ("create_namespace", {"name": "N"}),
    ("create_table", {"name": "T", "families": {"f": {"max_versions": 3}, "g": {}}}),
]


class Names:
    """What T, U, N and M stand for in one program."""

    def __init__(self) -> None:
        self.number = next(_numbers)
        self._own = {"T": f"t{self.number}", "U": f"u{self.number}", "N": f"n{self.number}", "M": f"m{self.number}"}

    def placed(self, name: Any) -> Any:
        if not isinstance(name, str):
            return name
        return ":".join(self._own.get(part, part) for part in name.split(":"))

    def is_own(self, name: bytes) -> bool:
        return name.decode().split(":")[-1] in self._own.values()

    @property
    def tables(self) -> list[str]:
        return [self.placed(name) for name in ("T", "U", "N:T")]

    @property
    def namespaces(self) -> list[str]:
        return [self.placed(name) for name in ("N", "M")]


def shown(name: str, answer: Any, names: Names) -> Any:
    """Without what is the whole database's, and without ids that are drawn."""
    if name in ("tables", "namespaces"):
        return [each for each in answer if names.is_own(each)]
    if name == "T.regions":
        return [(region["start_key"], region["end_key"]) for region in answer]
    if name == "T.sample_row_keys":
        return [row for row, _ in answer]
    if name == "T.usage":
        return [(usage.table, usage.families) for usage in answer]
    if name == "T.scan":
        return list(answer)
    return None if isinstance(answer, (hbtable.Table, happybase.Table)) else timeless(answer)


def answer_of(database: Any, one: Call, names: Names) -> Any:
    method, arguments = one[0], dict(one[1])
    if "changes" in arguments:
        changes = hbtable.RowChanges()
        for step, given_ in arguments["changes"]:
            getattr(changes, step)(*given_)
        arguments["changes"] = changes
    target = database
    if "name" in arguments:
        arguments["name"] = names.placed(arguments["name"])
        if method.startswith("T."):
            target = database.table(arguments.pop("name"))
    return shown(method, getattr(target, method.removeprefix("T."))(**arguments), names)


def told(database: Any, one: Call, names: Names) -> Any:
    """The answer, or class and sentence of the error."""
    try:
        return answer_of(database, one, names)
    except Exception as error:  # any class: it has to be the same
        return type(error).__name__, str(error)


def refused(database: Any, one: Call, names: Names) -> Any:
    """The answer, or what the error is to whoever catches it."""
    try:
        return answer_of(database, one, names)
    except CAUGHT as error:
        return Refused(kind for kind in KINDS if isinstance(error, KINDS[kind]))


class Databases:
    """The same over each way in; those behind a server have one database each, as names are the whole database's."""

    def __init__(self, stack: ExitStack) -> None:
        def served() -> int:
            return stack.enter_context(hbtable.open(":memory:", config=WITHOUT_MERGES)).serve(port=0)

        self.of = {
            "open": stack.enter_context(hbtable.open(":memory:", config=WITHOUT_MERGES)),
            "connect": stack.enter_context(hbtable.connect("127.0.0.1", served(), timeout=60_000)),
            "happybase": stack.enter_context(closing(happybase.Connection("127.0.0.1", served(), timeout=60_000))),
        }

    def clear(self, way: str, names: Names) -> None:
        database = self.of[way]
        there = set(database.tables())
        for table in names.tables:
            if table.encode() in there:
                database.delete_table(table, disable=True)
        for namespace in names.namespaces if way != "happybase" else ():
            if namespace.encode() in database.namespaces():
                database.delete_namespace(namespace)


@pytest.fixture(scope="module")
def databases() -> Iterator[Databases]:
    with ExitStack() as stack:
        yield Databases(stack)


def both_agree(databases: Databases, program: list[Call]) -> None:
    names = Names()
    whole = [*BEGIN, *program]
    answers = {way: [told(databases.of[way], one, names) for one in whole] for way in ("open", "connect")}
    for way in answers:
        databases.clear(way, names)
    for number, expected in enumerate(answers["open"]):
        assert answers["connect"][number] == expected, whole[: number + 1]


def all_agree(databases: Databases, program: list[Call]) -> None:
    names = Names()
    answers = {way: [refused(databases.of[way], one, names) for one in program] for way in databases.of}
    for way in answers:
        databases.clear(way, names)
    for number, expected in enumerate(answers["happybase"]):
        for way in ("open", "connect"):
            assert alike(expected, answers[way][number]), (way, program[: number + 1], answers)


PROGRAMS = st.lists(st.one_of(*OURS, *OURS, *HAPPYBASES), min_size=1, max_size=10)
HAPPYBASE_PROGRAMS = st.lists(st.one_of(*HAPPYBASES), min_size=1, max_size=10)


@pytest.mark.parametrize("way", ["open", "connect"])
def test_no_table_takes_the_place_of_hbase_meta(databases: Databases, way: str) -> None:
    database = databases.of[way]
    with pytest.raises(hbtable.TableExists, match="table hbase:meta exists already"):
        database.create_table("hbase:meta", ["f"])


@pytest.mark.parametrize("way", ["open", "connect"])
def test_no_tablet_is_split_at_an_empty_row(databases: Databases, way: str) -> None:
    """Of a table with two rows, as every tablet would be split at its middle if the row were taken for none."""
    database, names = databases.of[way], Names()
    table = names.placed("T")
    database.create_table(table, ["f"])
    for row in "bm":
        database.table(table).delete(row)
    for empty in "", b"":
        with pytest.raises(hbtable.WrongValue, match="the row is empty: name one to split at, or None"):
            database.split_table(table, empty)
    assert len(database.table(table).regions()) == 1
    databases.clear(way, names)


CHANGES_OF_TABLES = (
    *("delete_table", "enable_table", "disable_table", "truncate_table"),
    *("compact_table", "flush_table", "split_table"),
)


@pytest.mark.parametrize(
    ("way", "method"),
    [
        *(("open", method) for method in CHANGES_OF_TABLES),
        # These two look at the table before: of open(), where no hbase:meta can be read, there is no such table.
        *(("connect", method) for method in (*CHANGES_OF_TABLES, "alter_table", "merge_table")),
    ],
)
def test_nothing_is_done_to_hbase_meta_and_nobody_says_that_it_is_not_there(
    databases: Databases, way: str, method: str
) -> None:
    given = {"add": ["f"]} if method == "alter_table" else {}
    with pytest.raises(hbtable.InvalidRequest, match="hbase:meta is a view of METADATA"):
        getattr(databases.of[way], method)("hbase:meta", **given)


@pytest.mark.repeats
@settings(SETTINGS, max_examples=25, derandomize=True)
@given(program=PROGRAMS)
def test_programs_over_open_and_connect_agree(databases: Databases, program: list[Call]) -> None:
    both_agree(databases, program)


@pytest.mark.repeats
@settings(SETTINGS, max_examples=15, derandomize=True)
@given(program=HAPPYBASE_PROGRAMS)
def test_programs_over_happybase_agree(databases: Databases, program: list[Call]) -> None:
    all_agree(databases, program)


@pytest.mark.verify
@seed(fresh_seed())
@settings(SETTINGS, max_examples=examples(400))
@given(program=PROGRAMS)
def test_programs_that_no_run_has_seen_agree(databases: Databases, program: list[Call]) -> None:
    both_agree(databases, program)


@pytest.mark.verify
@seed(fresh_seed())
@settings(SETTINGS, max_examples=examples(200))
@given(program=HAPPYBASE_PROGRAMS)
def test_programs_of_happybase_that_no_run_has_seen_agree(databases: Databases, program: list[Call]) -> None:
    all_agree(databases, program)
