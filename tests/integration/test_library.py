"""One interface: what happybase does over Thrift, hbtable.open() does in this process, with the same arguments, results
and exceptions. Every test here runs over each of them; where they differ on purpose is said in docs/library.md.
"""

import inspect
import itertools
import random
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import cache
from typing import Any

import happybase
import pytest
from Hbase_thrift import AlreadyExists, IllegalArgument, IOError

import hbtable
from tests.harness.warm_server import WarmServer

pytestmark = pytest.mark.integration

WAYS = ["happybase", "open", "connect"]
REFUSED = (hbtable.HbtableError, AlreadyExists, IllegalArgument, IOError)
_numbers = itertools.count()


Opened = Callable[[str], Any]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    """A database in each way, opened when a test first asks for it."""
    folder = tmp_path_factory.mktemp("library")
    with ExitStack() as stack:

        @cache
        def open_by(way: str) -> Any:
            if way == "open":
                return stack.enter_context(hbtable.open(str(folder / "open"), durability="os"))
            if way == "connect":
                return stack.enter_context(hbtable.connect("127.0.0.1", serve().port, timeout=60000))
            return stack.enter_context(closing(serve().connect()))

        @cache
        def serve() -> WarmServer:
            return stack.enter_context(WarmServer(folder / "data", ["log.durability=os"]))

        yield open_by


@pytest.fixture(params=WAYS)
def database(request: pytest.FixtureRequest, opened: Opened) -> Any:
    return opened(request.param)


@pytest.fixture(params=WAYS[1:])
def ours(request: pytest.FixtureRequest, opened: Opened) -> Any:
    """Not happybase."""
    return opened(request.param)


@pytest.fixture
def name() -> str:
    return f"t{next(_numbers)}"


def made(database: Any, name: str) -> Any:
    database.create_table(name, {"f": {"max_versions": 5}, "g": {}})
    return database.table(name)


@pytest.fixture
def table(database: Any, name: str) -> Any:
    return made(database, name)


# ---------------------------------------------------------------- the interface itself


def public(kind: type) -> dict[str, Callable[..., Any]]:
    return {name: it for name, it in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")}


@pytest.mark.parametrize(
    ("theirs", "ours", "missing"),
    [
        (happybase.Connection, hbtable.Database, {"open"}),
        (happybase.Table, hbtable.Table, set()),
        (happybase.Batch, hbtable.Batch, set()),
    ],
)
def test_every_method_has_happybases_names_order_and_defaults(theirs: type, ours: type, missing: set[str]) -> None:
    found = public(ours)
    assert {name for name in public(theirs) if name not in found} == missing
    for name, method in public(theirs).items():
        if name not in missing:
            assert_takes_all(method, found[name], name)


def assert_takes_all(theirs: Callable[..., Any], ours: Callable[..., Any], name: str) -> None:
    """What ours takes beyond comes behind, and may be left out."""
    known = list(inspect.signature(ours).parameters.values())
    asked = list(inspect.signature(theirs).parameters.values())
    for place, parameter in enumerate(asked):
        found = known[place]
        assert (found.name, found.kind, found.default) == (parameter.name, parameter.kind, parameter.default), name
    assert all(more.default is not more.empty for more in known[len(asked) :]), name


# ---------------------------------------------------------------- tables


def test_tables_are_made_listed_and_deleted(database: Any, name: str) -> None:
    database.create_table(name, {"f": {}})
    database.create_table(name + "b", {"f:": None})
    assert {name.encode(), name.encode() + b"b"} <= set(database.tables())
    assert database.tables() == sorted(database.tables())
    assert database.is_table_enabled(name) is True
    with pytest.raises(REFUSED):
        database.delete_table(name)
    assert database.disable_table(name.encode()) is None
    assert database.is_table_enabled(name) is False
    with pytest.raises(REFUSED):
        database.disable_table(name)
    with pytest.raises(REFUSED):
        list(database.table(name).scan())
    database.enable_table(name)
    with pytest.raises(REFUSED):
        database.enable_table(name)
    database.delete_table(name, disable=True)
    database.disable_table(name + "b")
    database.delete_table(name + "b", True)
    assert not {name.encode(), name.encode() + b"b"} & set(database.tables())


@pytest.mark.parametrize(
    "method", ["delete_table", "enable_table", "disable_table", "is_table_enabled", "compact_table"]
)
def test_a_missing_table_is_refused(database: Any, method: str) -> None:
    with pytest.raises(REFUSED):
        getattr(database, method)("missing")


def test_a_table_that_exists_is_refused(database: Any, table: Any, name: str) -> None:
    with pytest.raises(REFUSED):
        database.create_table(name, {"f": {}})


@pytest.mark.parametrize(
    ("families", "error"),
    [
        ({}, ValueError),
        (None, TypeError),
        ("f", TypeError),
        ({"f": {"versions": 3}}, TypeError),
        ({"f": {"max_versions": 0}}, REFUSED),
        ({"f": {"compression": "FAST"}}, REFUSED),
        ({"f": {"bloom_filter_type": "SMALL"}}, REFUSED),
        ({"": {}}, REFUSED),
    ],
)
def test_families_that_cannot_be_are_refused(database: Any, name: str, families: Any, error: Any) -> None:
    with pytest.raises(error):
        database.create_table(name, families)
    assert name.encode() not in database.tables()


DEFAULTS = {
    "name": b"f:",
    "max_versions": 3,
    "compression": b"NONE",
    "in_memory": False,
    "bloom_filter_type": b"NONE",
    "bloom_filter_vector_size": 0,
    "bloom_filter_nb_hashes": 0,
    "block_cache_enabled": False,
    "time_to_live": 2147483647,
}


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ({}, {}),
        (None, {}),
        ({"max_versions": 7}, {"max_versions": 7}),
        ({"compression": "gz"}, {"compression": b"GZ"}),
        ({"in_memory": True}, {"in_memory": True}),
        ({"bloom_filter_type": "ROWCOL"}, {"bloom_filter_type": b"ROWCOL"}),
        ({"bloom_filter_vector_size": 5, "bloom_filter_nb_hashes": 6}, {}),
        ({"block_cache_enabled": True}, {"block_cache_enabled": True}),
        ({"time_to_live": 60}, {"time_to_live": 60}),
        ({"time_to_live": -1}, {}),
    ],
)
def test_families_are_shown_with_happybases_options(database: Any, name: str, options: Any, shown: Any) -> None:
    database.create_table(name, {"f": options, "g": {}})
    families = database.table(name).families()
    assert families == {b"f": {**DEFAULTS, **shown}, b"g": {**DEFAULTS, "name": b"g:"}}
    assert [type(value) for value in families[b"f"].values()] == [type(value) for value in DEFAULTS.values()]


def test_regions(database: Any, table: Any, name: str) -> None:
    (region,) = table.regions()
    assert list(region) == ["start_key", "end_key", "id", "name", "version", "server_name", "port"]
    assert (region["start_key"], region["end_key"], region["version"]) == (b"", b"", 1)
    assert region["name"].startswith(b"%b,,%d." % (name.encode(), region["id"]))
    assert type(region["server_name"]) is bytes
    assert type(region["port"]) is int
    assert database.table("missing").regions() == []


def test_families_of_a_missing_table(database: Any) -> None:
    with pytest.raises(REFUSED):
        database.table("missing").families()


def test_compactions_keep_everything(database: Any, table: Any, name: str) -> None:
    table.put(b"r", {b"f:a": b"1"})
    assert database.compact_table(name) is None
    assert database.compact_table(name, major=True) is None
    assert table.row(b"r") == {b"f:a": b"1"}


# ---------------------------------------------------------------- reads


def test_rows_come_as_they_were_put(table: Any) -> None:
    assert table.put(b"r", {b"f:a": b"1", b"f:": b"2", b"g:x:y": b""}, timestamp=7) is None
    assert table.row(b"r") == {b"f:a": b"1", b"f:": b"2", b"g:x:y": b""}
    assert table.row(b"r", [b"f"]) == {b"f:a": b"1", b"f:": b"2"}
    assert table.row(b"r", [b"f:"]) == {b"f:": b"2"}
    assert table.row(b"r", (b"f:a", b"g")) == {b"f:a": b"1", b"g:x:y": b""}
    assert table.row(b"r", []) == table.row(b"r", None) == table.row(b"r")
    assert table.row(b"r", include_timestamp=True)[b"f:a"] == (b"1", 7)
    assert table.row(b"r", timestamp=7) == {}
    assert table.row(b"r", None, 8) == table.row(b"r")
    assert table.row(b"missing") == {}


def test_text_is_taken_for_its_utf8_and_bytes_come_back(table: Any) -> None:
    table.put("zeile ü", {"f:ö": "ä", b"f:b": "1"})
    expected = {"f:ö".encode(): "ä".encode(), b"f:b": b"1"}
    assert table.row("zeile ü") == table.row("zeile ü".encode()) == expected
    assert table.row("zeile ü", ["f:ö"]) == {"f:ö".encode(): "ä".encode()}
    assert table.rows(["zeile ü"], ("f:b",)) == [("zeile ü".encode(), {b"f:b": b"1"})]
    assert table.cells("zeile ü", "f:b") == [b"1"]
    assert list(table.scan(row_start="z", row_stop="zz", columns=["f:b"], filter="KeyOnlyFilter()")) == [
        ("zeile ü".encode(), {b"f:b": b""})
    ]
    assert table.counter_inc("c", "f:n") == 1
    table.delete("zeile ü", ["f:b"])
    with table.batch() as batch:
        batch.put("s", {"f:a": "1"})
        batch.delete("zeile ü", ["f:ö"])
    assert dict(table.scan()).keys() == {b"c", b"s"}


def test_many_rows(table: Any) -> None:
    table.put(b"a", {b"f:q": b"1", b"g:q": b"1"}, timestamp=7)
    table.put(b"z", {b"f:q": b"2"}, timestamp=8)
    assert table.rows([b"z", b"m", b"a"], [b"f"]) == [(b"z", {b"f:q": b"2"}), (b"a", {b"f:q": b"1"})]
    assert table.rows((b"a", b"a"), timestamp=8) == [(b"a", {b"f:q": b"1", b"g:q": b"1"})] * 2
    assert table.rows([b"a", b"z"], timestamp=8, include_timestamp=True) == [
        (b"a", {b"f:q": (b"1", 7), b"g:q": (b"1", 7)})
    ]
    assert not table.rows([])


def test_versions(table: Any) -> None:
    for time in (3, 1, 2):
        table.put(b"r", {b"f:a": b"%d" % time}, timestamp=time)
    assert table.cells(b"r", b"f:a") == [b"3", b"2", b"1"]
    assert table.cells(b"r", b"f:a", 2, include_timestamp=True) == [(b"3", 3), (b"2", 2)]
    assert table.cells(b"r", b"f:a", versions=5, timestamp=3) == [b"2", b"1"]
    assert table.cells(b"r", b"f") == [b"3", b"2", b"1"]
    assert table.cells(b"r", b"f:b") == table.cells(b"s", b"f:a") == []
    assert table.row(b"r", timestamp=2, include_timestamp=True) == {b"f:a": (b"1", 1)}


def test_scans(table: Any) -> None:
    for row in (b"a", b"b", b"g", b"h1", b"h2", b"z"):
        table.put(row, {b"f:q": row, b"f:p": b"", b"g:q": b"2"}, timestamp=5)

    def names(**arguments: Any) -> list[bytes]:
        return [row for row, _ in table.scan(**arguments)]

    assert names() == [b"a", b"b", b"g", b"h1", b"h2", b"z"]
    assert names(batch_size=1, limit=4) == [b"a", b"b", b"g", b"h1"]
    assert names(row_start=b"b", row_stop=b"h2") == [b"b", b"g", b"h1"]
    assert names(row_start=b"b", row_stop=b"b") == [b"b"]
    assert names(row_start=b"", row_stop=b"b") == [b"a"]
    assert names(row_start=b"h2", row_stop=b"b", reverse=True) == [b"h2", b"h1", b"g"]
    assert names(reverse=True, batch_size=2) == [b"z", b"h2", b"h1", b"g", b"b", b"a"]
    assert names(row_prefix=b"h") == [b"h1", b"h2"]
    assert names(filter=b"PrefixFilter('h')") == [b"h1", b"h2"]
    assert names(timestamp=5) == []
    assert names(columns=[b"f:r"]) == []
    assert list(table.scan(b"a", b"b", None, [b"f:q"])) == [(b"a", {b"f:q": b"a"})]
    assert list(table.scan(row_prefix=b"z", columns=(b"g",), timestamp=6, include_timestamp=True)) == [
        (b"z", {b"g:q": (b"2", 5)})
    ]
    assert list(table.scan(row_prefix=b"z", scan_batching=2)) == [
        (b"z", {b"f:p": b"", b"f:q": b"z"}),
        (b"z", {b"g:q": b"2"}),
    ]
    assert list(table.scan(row_prefix=b"z", scan_batching=2, limit=1)) == [(b"z", {b"f:p": b"", b"f:q": b"z"})]
    (found,) = table.scan(row_prefix=b"z", sorted_columns=True)
    assert type(found[1]) is OrderedDict
    assert list(found[1]) == [b"f:p", b"f:q", b"g:q"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"batch_size": 0}, ValueError),
        ({"limit": 0}, ValueError),
        ({"scan_batching": 0}, ValueError),
        ({"row_prefix": b"a", "row_start": b"b"}, TypeError),
        ({"row_prefix": b"a", "row_stop": b"b"}, TypeError),
        ({"batch_size": "3"}, TypeError),
        ({"limit": "3"}, TypeError),
        ({"columns": [b"h"]}, REFUSED),
        ({"filter": b"NoFilter("}, REFUSED),
    ],
)
def test_scans_that_cannot_be(table: Any, arguments: Any, error: Any) -> None:
    with pytest.raises(error):
        list(table.scan(**arguments))


@pytest.mark.parametrize(
    ("method", "arguments", "error"),
    [
        ("row", {"row": b"r", "columns": {b"f"}}, TypeError),
        ("row", {"row": b"r", "columns": b"f"}, TypeError),
        ("row", {"row": b"r", "timestamp": "7"}, TypeError),
        ("row", {"row": b"r", "timestamp": 1.5}, TypeError),
        ("row", {"row": b"r", "timestamp": -1}, REFUSED),
        ("row", {"row": b"r", "columns": [b"h"]}, REFUSED),
        ("row", {"row": b""}, REFUSED),
        ("row", {"row": b"x" * 40_000}, REFUSED),
        ("rows", {"rows": [b"r"], "columns": {b"f"}}, TypeError),
        ("rows", {"rows": [b"r"], "timestamp": "7"}, TypeError),
        ("rows", {"rows": [b"r", b""]}, REFUSED),
        ("cells", {"row": b"r", "column": b"f:a", "versions": "1"}, TypeError),
        ("cells", {"row": b"r", "column": b"f:a", "versions": 0}, ValueError),
        ("cells", {"row": b"r", "column": b"f:a", "timestamp": "7"}, TypeError),
        ("cells", {"row": b"r", "column": b"h:a"}, REFUSED),
        ("put", {"row": b"r", "data": {b"f": b"1"}}, REFUSED),
        ("put", {"row": b"r", "data": {b"h:a": b"1"}}, REFUSED),
        ("put", {"row": b"", "data": {b"f:a": b"1"}}, REFUSED),
        ("put", {"row": b"r", "data": {b"f:a": b"1"}, "timestamp": "7"}, TypeError),
        ("put", {"row": b"r", "data": {b"f:a": b"1"}, "timestamp": -5}, REFUSED),
        ("put", {"row": b"x" * 40_000, "data": {b"f:a": b"1"}}, REFUSED),
        ("delete", {"row": b"r", "columns": [b"h"]}, REFUSED),
        ("delete", {"row": b"r", "timestamp": "7"}, TypeError),
        ("delete", {"row": b""}, REFUSED),
        ("batch", {"timestamp": "7"}, TypeError),
        ("batch", {"batch_size": 5, "transaction": True}, TypeError),
        ("batch", {"batch_size": 0}, ValueError),
        ("batch", {"batch_size": -1}, ValueError),
        ("counter_inc", {"row": b"r", "column": b"h:a"}, REFUSED),
        ("counter_inc", {"row": b"", "column": b"f:a"}, REFUSED),
    ],
)
def test_calls_that_cannot_be(table: Any, method: str, arguments: Any, error: Any) -> None:
    table.put(b"before", {b"f:a": b"1"})
    with pytest.raises(error):
        getattr(table, method)(**arguments)
    assert list(table.scan()) == [(b"before", {b"f:a": b"1"})]


# ---------------------------------------------------------------- writes


def test_deletes(table: Any) -> None:
    everything = {b"f:a": b"1", b"f:b": b"2", b"g:c": b"3"}
    for time in (1, 2):
        table.put(b"r", everything, timestamp=time)
    table.delete(b"r", [b"f:a"], timestamp=1)
    assert table.cells(b"r", b"f:a") == [b"1"]
    table.delete(b"r", [b"f:a"])
    assert table.row(b"r") == {b"f:b": b"2", b"g:c": b"3"}
    table.delete(b"r", [b"f"], timestamp=1)
    assert table.cells(b"r", b"f:b", include_timestamp=True) == [(b"2", 2)]
    table.delete(b"r", columns=[b"f"], wal=False)
    assert table.row(b"r") == {b"g:c": b"3"}
    table.delete(b"r")
    assert table.row(b"r") == {}
    table.delete(b"never")


def test_batches(table: Any) -> None:
    with table.batch() as batch:
        assert batch.put(b"a", {b"f:q": b"1"}) is None
        batch.delete(b"a", [b"f:q"])
        batch.put(b"a", {b"f:q": b"2"})
        batch.put(b"z", {b"f:q": b"3"}, wal=False)
        assert table.row(b"a") == {}
    assert table.row(b"a") == {b"f:q": b"2"}
    assert table.row(b"z") == {b"f:q": b"3"}
    batch = table.batch(timestamp=9)
    batch.put(b"b", {b"f:q": b"1"})
    batch.delete(b"a")
    assert batch.send() is None
    assert batch.send() is None
    assert table.row(b"b", include_timestamp=True) == {b"f:q": (b"1", 9)}
    assert table.row(b"a") == {b"f:q": b"2"}, "it is newer than the delete"


def test_a_batch_is_sent_when_it_is_full(table: Any) -> None:
    batch = table.batch(batch_size=2)
    batch.put(b"a", {b"f:q": b"1"})
    assert table.row(b"a") == {}
    batch.put(b"b", {b"f:q": b"1", b"f:r": b"1"})
    assert [row for row, _ in table.scan()] == [b"a", b"b"]
    batch.delete(b"a", [b"f:q"])
    assert [row for row, _ in table.scan()] == [b"a", b"b"]
    batch.delete(b"b")
    assert list(table.scan()) == []


@pytest.mark.parametrize("transaction", [False, True])
def test_an_error_inside_the_block_sends_nothing_of_a_transaction(table: Any, transaction: bool) -> None:
    def broken() -> None:
        with table.batch(transaction=transaction) as batch:
            batch.put(b"a", {b"f:q": b"1"})
            raise KeyError

    with pytest.raises(KeyError):
        broken()
    assert bool(table.row(b"a")) is not transaction


def test_reading_a_counter_makes_it(table: Any) -> None:
    assert table.row(b"c") == {}
    assert table.counter_get(b"c", b"f:n") == 0
    assert table.row(b"c") == {b"f:n": bytes(8)}


def test_counters(table: Any) -> None:
    assert table.counter_get(b"c", b"f:n") == 0
    assert table.counter_inc(b"c", b"f:n") == 1
    assert table.counter_inc(b"c", b"f:n", 4) == 5
    assert table.counter_dec(b"c", b"f:n", value=7) == -2
    assert table.counter_set(b"c", b"f:n", 2**40) is None
    assert table.counter_get(b"c", b"f:n") == 2**40
    table.counter_set(b"c", b"f:n")
    assert table.row(b"c") == {b"f:n": bytes(8)}
    table.put(b"c", {b"f:n": b"three"})
    with pytest.raises(REFUSED):
        table.counter_inc(b"c", b"f:n")


# ---------------------------------------------------------------- where happybase is another, and ours is meant


def test_reversed_prefixes(database: Any, table: Any) -> None:
    for row in (b"h", b"h1", b"i"):
        table.put(row, {b"f:q": b"1"})
    theirs = isinstance(database, happybase.Connection)
    found = [row for row, _ in table.scan(row_prefix=b"h", reverse=True)]
    assert found == ([b"i", b"h1"] if theirs else [b"h1", b"h"])
    if not theirs:
        assert [row for row, _ in table.scan(row_prefix="h")] == [b"h", b"h1"]


def test_no_rows_are_an_empty_list(database: Any, table: Any) -> None:
    assert table.rows([]) == ({} if isinstance(database, happybase.Connection) else [])


def test_mistakes_in_a_scan_are_told_at_once(ours: Any, name: str) -> None:
    with pytest.raises(ValueError, match="limit"):
        ours.table(name).scan(limit=0)


def test_a_table_is_returned_when_it_is_made_and_families_may_be_a_list_of_bytes(ours: Any, name: str) -> None:
    table = ours.create_table(name, [b"f", "g"])
    assert list(table.families()) == [b"f", b"g"]
    assert table.connection is ours


def test_numbers_are_no_booleans_and_counters_have_a_colon(ours: Any, name: str) -> None:
    table = made(ours, name)
    with pytest.raises(TypeError, match="timestamp True is bool"):
        table.row(b"r", timestamp=True)
    with pytest.raises(ValueError, match="needs a ':'"):
        table.counter_inc(b"c", b"f")
    assert list(table.scan(row_start=b"x" * 40_000)) == []


def test_options_have_two_names_and_one_value(ours: Any, name: str) -> None:
    ours.create_table(name, {"f": {"ttl_seconds": 5, "bloom": "ROW", "block_cache": True}})
    shown = ours.table(name).families()[b"f"]
    assert (shown["time_to_live"], shown["bloom_filter_type"], shown["block_cache_enabled"]) == (5, b"ROW", True)
    with pytest.raises(ValueError, match="by two names"):
        ours.create_table(name, {"f": {"ttl_seconds": 5, "time_to_live": 5}})


# ---------------------------------------------------------------- beyond happybase


def test_rows_by_filters_and_columns_by_patterns(ours: Any, name: str) -> None:
    ours.create_table(name, {"f": {"max_versions": 3}, "g": {}})
    table = ours.table(name)
    for row in (b"a", b"b"):
        for time in (1, 2):
            table.put(row, {b"f:my.cnn.com": b"%d" % time, b"f:cnnsi.com": b"x"}, timestamp=time)
        table.put(row, {b"g:my.cnn.com": b"other", b"f:it's \xff": b"odd"}, timestamp=3)
    ours_alone = hbtable.Filter.columns("f", r"\.cnn\.com$")
    expected = {b"f:my.cnn.com": b"2"}
    assert table.row(b"a", filter=ours_alone) == expected
    assert table.row(b"a", ["g"], filter=ours_alone) == {}
    assert table.rows([b"b", b"none", b"a"], filter=ours_alone) == [(b"b", expected), (b"a", expected)]
    assert list(table.scan(filter=ours_alone)) == [(b"a", expected), (b"b", expected)]
    assert table.row(b"a", filter=hbtable.Filter.columns(b"f", b"^it's \\W")) == {b"f:it's \xff": b"odd"}
    assert table.row(b"a", versions=5, filter="ValueFilter(=, 'binary:1')") == {b"f:my.cnn.com": [b"1"]}
    assert table.cells(b"a", b"f:my.cnn.com", filter="ValueFilter(<, 'binary:2')") == [b"1"]
    with pytest.raises(hbtable.BadFilter):
        table.row(b"a", filter="NoFilter(")
    with pytest.raises(hbtable.BadFilter):
        table.rows([b"a"], filter=hbtable.Filter.columns("f", "("))


def test_sampled_row_keys(ours: Any, name: str) -> None:
    ours.create_table(name, ["f"], split_rows=[b"d", b"m", b"t"])
    table = ours.table(name)
    for row, size in ((b"a", 10_000), (b"e", 40_000), (b"z", 20_000)):
        table.put(row, {b"f:q": random.Random(1).randbytes(size)})
    for _ in range(2):
        samples = table.sample_row_keys()
        assert [key for key, _ in samples] == [b"d", b"m", b"t", b""]
        one, two, three, all_of_it = (size for _, size in samples)
        assert 10_000 <= one <= 15_000
        assert 40_000 <= two - one <= 45_000
        assert three - two < 1000
        assert 20_000 <= all_of_it - three <= 25_000
        ours.flush_table(name)
    ours.disable_table(name)
    assert [key for key, _ in table.sample_row_keys()] == [b"d", b"m", b"t", b""]
    with pytest.raises(hbtable.TableNotFound):
        ours.table("none").sample_row_keys()


def test_versions_and_time_ranges(ours: Any, name: str) -> None:
    table = made(ours, name)
    for time in (1, 2, 3):
        table.put(b"a", {b"f:q": b"%d" % time, b"g:q": b"x"}, timestamp=time)
    assert table.row(b"a", versions=2) == {b"f:q": [b"3", b"2"], b"g:q": [b"x", b"x"]}
    assert table.row(b"a", ["f"], versions=9, time_range=(2, None), include_timestamp=True) == {
        b"f:q": [(b"3", 3), (b"2", 2)]
    }
    assert table.rows([b"a"], [b"f"], time_range=(None, 3)) == [(b"a", {b"f:q": b"2"})]
    assert table.cells(b"a", b"f:q", time_range=(1, 3)) == [b"2", b"1"]
    assert list(table.scan(columns=[b"f"], time_range=(2, 3), versions=1)) == [(b"a", {b"f:q": [b"2"]})]
    assert list(table.scan(time_range=(4, 9))) == []
    assert table.row(b"a", time_range=(2, 2)) == {}
    for wrong in ({"versions": 0}, {"time_range": (-1, 2)}):
        with pytest.raises(ValueError, match=r"."):
            table.row(b"a", **wrong)
    for wrong in ({"versions": "1"}, {"time_range": 5}, {"time_range": (1,)}, {"time_range": (1, 2), "timestamp": 3}):
        with pytest.raises(TypeError):
            table.row(b"a", **wrong)


def test_one_change_of_a_row(ours: Any, name: str) -> None:
    table = made(ours, name)
    for time in (1, 2, 3):
        table.put(b"r", {b"f:a": b"%d" % time, b"f:b": b"x", b"g:c": b"x"}, timestamp=time)
    changes = hbtable.RowChanges().put({"f:n": "new"}, timestamp=9).delete(["g"]).delete([b"f:b"], timestamp=2)
    assert table.mutate_row("r", changes.delete_version("f:a", 3)) is None
    assert table.cells(b"r", b"f:a") == [b"2", b"1"]
    assert table.row(b"r", include_timestamp=True) == {b"f:a": (b"2", 2), b"f:b": (b"x", 3), b"f:n": (b"new", 9)}
    table.mutate_row(b"r", hbtable.RowChanges().delete_version(b"f:a"))
    assert table.cells(b"r", b"f:a") == [b"1"]
    table.mutate_row(b"r", hbtable.RowChanges().delete().put({b"f:after": b"1"}))
    assert table.row(b"r") == {b"f:after": b"1"}
    table.mutate_row(b"r", hbtable.RowChanges().delete(timestamp=5))
    assert table.row(b"r") == {b"f:after": b"1"}, "it is newer"
    with pytest.raises(hbtable.NoSuchFamily):
        table.mutate_row(b"r", hbtable.RowChanges().put({b"f:after": b"2"}).put({b"h:a": b"1"}))
    assert table.row(b"r") == {b"f:after": b"1"}, "all or nothing"
    for wrong, error in ((hbtable.RowChanges(), ValueError), ({b"f:a": b"1"}, TypeError), (None, TypeError)):
        with pytest.raises(error):
            table.mutate_row(b"r", wrong)
    added = hbtable.RowChanges().increment("g:n", -2).append({"f:after": b"+", b"f:new": "x"}).put({"g:c": "1"})
    assert [table.mutate_row("r", added) for _ in range(2)] == [None, None]
    assert table.row(b"r") == {
        b"f:after": b"1++",
        b"f:new": b"xx",
        b"g:c": b"1",
        b"g:n": (-4).to_bytes(8, "big", signed=True),
    }
    with pytest.raises(hbtable.NotACounter):
        table.mutate_row(b"r", hbtable.RowChanges().put({"g:c": "2"}).increment("f:after"))
    assert table.row(b"r", ["g:c"]) == {b"g:c": b"1"}, "all or nothing"
    changes = hbtable.RowChanges()
    for call, error, message in (
        (lambda: changes.increment("f"), ValueError, "needs a ':'"),
        (lambda: changes.increment("f:a", 2**63), ValueError, "'value' 9223372036854775808 is out of range"),
        (lambda: changes.increment("f:a", "1"), TypeError, "'value' '1' is str"),
        (lambda: changes.increment(None), TypeError, "the column None"),
        (lambda: changes.append({"f": "1"}), ValueError, "needs a ':'"),
        (lambda: changes.append({"f:a": 1}), TypeError, "the value 1"),
        (lambda: changes.append("f:a"), TypeError, "has to be a dict"),
        (lambda: table.mutate_row("r", changes), ValueError, "no change of row b'r'"),
    ):
        with pytest.raises(error, match=message):
            call()


HOLDS = {
    "=": {b"b": True, b"a": False, b"c": False, None: False, b"": False},
    "!=": {b"b": False, b"a": True, b"c": True, None: True, b"": True},
    "<": {b"b": False, b"a": False, b"c": True, b"": False},
    "<=": {b"b": True, b"a": False, b"c": True, b"": False},
    ">": {b"b": False, b"a": True, b"c": False, b"": True},
    ">=": {b"b": True, b"a": True, b"c": False, b"": True},
}


@pytest.mark.parametrize("operator", HOLDS)
def test_conditions(ours: Any, name: str, operator: Any) -> None:
    table = made(ours, name)
    done = hbtable.RowChanges().put({b"g:done": b"1"}).delete([b"g:old"])
    for value, expected in HOLDS[operator].items():
        table.put(b"r", {b"f:a": b"b", b"g:old": b"1"})
        assert table.check_and_mutate(b"r", "f:a", operator, value, done) is expected, value
        assert table.row(b"r", ["g"]) == ({b"g:done": b"1"} if expected else {b"g:old": b"1"}), value
        table.delete(b"r")
        there = table.check_and_mutate(b"r", "f:a", operator, value, done)
        assert there is (operator == "=" and not value), "a missing value"
        table.delete(b"r")
    with pytest.raises(ValueError, match="no comparison '<>'; there are ="):
        table.check_and_mutate(b"r", b"f:a", "<>", b"b", done)
    if operator not in ("=", "!="):
        with pytest.raises(TypeError, match="None has no order"):
            table.check_and_mutate(b"r", b"f:a", operator, None, done)
    with pytest.raises(hbtable.NoSuchFamily):
        table.check_and_mutate(b"r", b"h:a", operator, b"b", done)


def test_ranges_and_prefixes_are_deleted(ours: Any, name: str) -> None:
    table = made(ours, name)

    def rows() -> list[bytes]:
        return [row for row, _ in table.scan()]

    with table.batch() as batch:
        for row in (b"a", b"b", b"c1", b"c2", b"c3", b"d"):
            batch.put(row, {b"f:a": b"1", b"g:a": b"1"})
    assert table.delete_rows(row_prefix="c", columns=["g"]) == 3
    assert table.row(b"c1") == {b"f:a": b"1"}
    assert table.delete_rows(row_prefix=b"c", columns=[b"g"]) == 0
    assert table.delete_rows(row_start=b"c2", row_stop=b"d") == 2
    assert rows() == [b"a", b"b", b"c1", b"d"]
    assert table.delete_rows(row_stop=b"b") == 1
    assert table.delete_rows(row_prefix=b"x") == 0
    assert rows() == [b"b", b"c1", b"d"]
    for wrong in ({}, {"row_prefix": b"b", "row_stop": b"c"}):
        with pytest.raises(TypeError):
            table.delete_rows(**wrong)


def test_ranges_are_deleted_at_once(ours: Any, name: str) -> None:
    table = made(ours, name)

    def rows() -> list[bytes]:
        return [row for row, _ in table.scan()]

    with table.batch() as batch:
        for row in (b"a", b"b", b"c1", b"c2", b"d", b"e"):
            batch.put(row, {b"f:a": b"1", b"g:a": b"1"})
    table.put(b"c1", {b"f:a": b"to come"}, timestamp=2**62)
    table.delete_range(row_prefix="c")
    assert rows() == [b"a", b"b", b"c1", b"d", b"e"]
    table.delete_range(row_prefix=b"c", timestamp=2**62)
    assert rows() == [b"a", b"b", b"d", b"e"]
    table.put(b"c1", {b"f:a": b"older, and written later"}, timestamp=1)
    assert table.row(b"c1") == {b"f:a": b"older, and written later"}
    table.delete_range(row_start=b"b", row_stop=b"e")
    assert rows() == [b"a", b"e"]
    table.delete_range(row_start=b"e")
    table.delete_range(row_stop=b"a")
    assert rows() == [b"a"]
    for wrong in (
        {},
        {"row_prefix": b"b", "row_stop": b"c"},
        {"row_prefix": 5},
        {"row_prefix": b"b", "timestamp": "1"},
    ):
        with pytest.raises(TypeError):
            table.delete_range(**wrong)
    with pytest.raises(hbtable.TableNotFound):
        ours.table("missing").delete_range(row_prefix=b"b")


def test_schemas_change(ours: Any, name: str) -> None:
    table = made(ours, name)
    table.put(b"r", {b"f:a": b"1", b"g:a": b"1"})
    ours.alter_table(
        name,
        add={"h": {"locality_group": "cold"}, "i": None},
        change={"f": {"max_versions": 2}},
        drop=["g"],
        split_bytes=1 << 30,
    )
    families = table.schema().families
    assert list(families) == [b"f", b"h", b"i"]
    assert (families[b"f"].max_versions, families[b"h"].locality_group) == (2, "cold")
    assert table.schema().split_bytes == 1 << 30
    assert table.row(b"r") == {b"f:a": b"1"}
    ours.alter_table(name, add=["g"])
    assert table.row(b"r") == {b"f:a": b"1"}, "it is another family of that name"
    for arguments, error in (
        ({"add": ["f"]}, ValueError),
        ({"drop": ["x"]}, hbtable.NoSuchFamily),
        ({"change": {"x": {}}}, hbtable.NoSuchFamily),
        ({"change": {"f": {"versions": 3}}}, TypeError),
        ({"change": ["f"]}, TypeError),
        ({"change": {"f": {"max_versions": 0}}}, hbtable.InvalidRequest),
        ({"drop": ["f", "g", "h", "i"]}, ValueError),
        ({"split_bytes": -1}, ValueError),
    ):
        with pytest.raises(error):
            ours.alter_table(name, **arguments)
    assert sorted(table.families()) == [b"f", b"g", b"h", b"i"]
    with pytest.raises(hbtable.TableNotFound):
        ours.alter_table("missing", add=["f"])


def test_two_who_change_a_schema_at_once_both_do(ours: Any, name: str) -> None:
    table = made(ours, name)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: ours.alter_table(name, add=[f"n{number}"]), range(8)))
    assert sorted(table.families()) == [b"f", b"g", *(b"n%d" % number for number in range(8))]


def test_tables_are_truncated_and_seen(ours: Any, name: str) -> None:
    assert ours.table_exists(name) is False
    table = ours.create_table(name, ["f"], split_rows=["m"])
    assert ours.table_exists(name.encode()) is True
    for keep in (True, False):
        table.put(b"r", {b"f:a": b"1"})
        with pytest.raises(hbtable.TableNotDisabled):
            ours.truncate_table(name)
        ours.truncate_table(name, keep_splits=keep, disable=True)
        assert list(table.scan()) == []
        assert len(table.regions()) == (2 if keep else 1)
    with pytest.raises(hbtable.TableNotFound):
        ours.truncate_table("missing")


def test_tablets_are_split_and_merged_and_flushed(ours: Any, name: str) -> None:
    table = ours.create_table(name, ["f"])
    with table.batch() as batch:
        for row in b"abcdefgh":
            batch.put(bytes((row,)), {b"f:a": b"1"})
    ours.flush_table(name)

    def starts() -> list[bytes]:
        return [region["start_key"] for region in table.regions()]

    for row in ("c", b"e", b"g"):
        assert ours.split_table(name, row) is True
    assert starts() == [b"", b"c", b"e", b"g"]
    assert ours.merge_table(name, "c", b"e") is False
    assert ours.merge_table(name, b"d", b"f") is True
    assert starts() == [b"", b"c", b"g"]
    assert ours.merge_table(name) is True
    assert starts() == [b""]
    assert len(list(table.scan())) == 8
    with pytest.raises(hbtable.TableNotFound):
        ours.merge_table("missing")


def test_namespaces(ours: Any, name: str) -> None:
    assert ours.create_namespace(name, {"owner": "ann"}) is None
    assert name.encode() in ours.namespaces()
    assert {b"default", b"hbase"} <= set(ours.namespaces())
    assert ours.namespace(name.encode()) == {"owner": "ann"}
    ours.alter_namespace(name, {"owner": "ben", "why": "tests"})
    assert ours.namespace(name) == {"owner": "ben", "why": "tests"}
    with pytest.raises(hbtable.AlreadyExists):
        ours.create_namespace(name)
    table = ours.create_table(f"{name}:t", ["f"])
    table.put(b"r", {b"f:a": b"1"})
    assert ours.table(f"{name}:t").row(b"r") == {b"f:a": b"1"}
    with pytest.raises(hbtable.InvalidRequest):
        ours.delete_namespace(name)
    ours.delete_table(f"{name}:t", disable=True)
    ours.delete_namespace(name)
    for call in (ours.namespace, ours.delete_namespace, lambda missing: ours.alter_namespace(missing, {"a": "b"})):
        with pytest.raises(hbtable.NamespaceNotFound):
            call(name)


def test_filters_are_python_objects_or_text(ours: Any, name: str) -> None:
    table = made(ours, name)
    for row, who in ((b"r1", "O'Neill"), (b"r2", "Smith"), (b"r3", "O'Neill")):
        table.put(row, {"f:who": who, "g:a": "1"})
    named = hbtable.Filter("SingleColumnValueFilter", "f", "who", "=", "binary:O'Neill", True, True)
    assert [row for row, _ in table.scan(filter=named)] == [b"r1", b"r3"]
    assert list(table.scan(filter=named & hbtable.Filter("FamilyFilter", "=", "binary:g"), row_start=b"r2")) == [
        (b"r3", {b"g:a": b"1"})
    ]
    assert list(table.scan(filter=named.text)) == list(table.scan(filter=named))
