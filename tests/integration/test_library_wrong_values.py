"""Every parameter of every public method of hbtable.open() takes every wrong value: it says what is wrong, or what it
took is read back equal; the neighbours are unharmed, and the folder opens, after a close as after kill -9.

Methods and parameters are found by introspection: a new one must be given a call here.
"""

import inspect
import itertools
import shutil
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hbtable
from hbtable.client.batch import Batch
from hbtable.errors import AlreadyExists, HbtableError, InvalidRequest, NotFound
from hbtable.launch.embedded import EmbeddedDatabase
from hbtable.library.options import FamilyOptions
from hbtable.library.table import Table
from hbtable.model.schema import FOREVER_SECONDS, FamilySchema
from tests.harness.tiers import one_in
from tests.harness.waiting import eventually
from tests.harness.wrong_values import VALUES

pytestmark = pytest.mark.integration

NEIGHBOURS = {b"a%03d" % number: {b"f:m": b"%d" % number, b"f:n": b"n"} for number in range(40)}
ROW = b"m"
"""The row that the calls change: for each call another one."""
LONGEST_MESSAGE = 1000
"""Characters: whoever reads it sees what is wrong, and not ten million characters of it."""
_numbers = itertools.count()


def public(kind: type) -> list[str]:
    return sorted(name for name, it in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_"))


# How each method is called when nothing is wrong: by parameter.
DATABASE: dict[str, dict[str, Any]] = {
    "close": {},
    "table": {"name": "t", "use_prefix": True},
    "tables": {},
    "create_table": {"name": "made", "families": {"f": {}}, "split_rows": ()},
    "delete_table": {"name": "made", "disable": True},
    "enable_table": {"name": "made"},
    "disable_table": {"name": "made"},
    "is_table_enabled": {"name": "t"},
    "compact_table": {"name": "t", "major": False},
    "flush_table": {"name": "t"},
    "split_table": {"name": "made", "row": b"m"},
    "tablets": {"name": "t"},
    "regions_of": {"name": "t"},
    "table_exists": {"name": "t"},
    "alter_table": {"name": "made", "add": ["g"], "change": {}, "drop": [], "split_bytes": None},
    "truncate_table": {"name": "made", "keep_splits": False, "disable": True},
    "merge_table": {"name": "made", "row_start": None, "row_stop": None},
    "serve": {"host": "127.0.0.1", "port": 0},
    "share": {},
    "metrics": {},
    "usage_of": {"name": "t"},
    "sizes_of": {"name": "t"},
    "namespaces": {},
    "namespace": {"name": "default"},
    "create_namespace": {"name": "space", "properties": {"a": "b"}},
    "alter_namespace": {"name": "space", "properties": {"a": "b"}},
    "delete_namespace": {"name": "space"},
}
CHANGES = hbtable.RowChanges().put({b"f:m": b"v"})
RECORDS = pa.table({"id": ["m-arrow"], "v": ["v"]})
BEYOND = {"versions": None, "time_range": None, "filter": None}
ROWS: dict[str, dict[str, Any]] = {
    "families": {},
    "schema": {},
    "usage": {},
    "sample_row_keys": {},
    "regions": {},
    "row": {"row": ROW, "columns": [b"f:m"], "timestamp": None, "include_timestamp": False, **BEYOND},
    "get": {"row": ROW, "columns": None, "timestamp": None, "include_timestamp": False, **BEYOND},
    "rows": {"rows": [ROW, b"a001"], "columns": [b"f"], "timestamp": None, "include_timestamp": True, **BEYOND},
    "cells": {
        "row": ROW,
        "column": b"f:m",
        "versions": 2,
        "timestamp": None,
        "include_timestamp": False,
        "time_range": None,
        "filter": None,
    },
    "scan": {
        "row_start": None,
        "row_stop": None,
        "row_prefix": None,
        "columns": None,
        "filter": None,
        "timestamp": None,
        "include_timestamp": False,
        "batch_size": 1000,
        "scan_batching": None,
        "limit": None,
        "sorted_columns": False,
        "reverse": False,
        **BEYOND,
    },
    "to_arrow": {
        "columns": ["f"],
        "row_start": None,
        "row_stop": None,
        "row_prefix": None,
        "filter": None,
        "timestamp": None,
        "time_range": None,
        "versions": None,
        "batch_rows": 10_000,
        "row": "row",
    },
    "aggregate": {
        "aggregates": {"n": "rows", "d": ("distinct", "f"), "s": ("sum", "f:none", "int64")},
        "group_bytes": None,
        "group_delimiter": None,
        "group_columns": False,
        "columns": None,
        "row_start": None,
        "row_stop": None,
        "row_prefix": None,
        "filter": None,
        "timestamp": None,
        "time_range": None,
        "versions": None,
        "max_groups": 1000,
    },
    "write_arrow": {"batches": RECORDS, "row": "id", "columns": {"v": "f:arrow"}, "types": None, "timestamp": None},
    "put_frame": {"frame": RECORDS, "row": "id", "columns": {"v": "f:arrow"}, "types": None, "timestamp": None},
    "put": {"row": ROW, "data": {b"f:m": b"v"}, "timestamp": None, "wal": True},
    "delete": {"row": ROW, "columns": [b"f:m"], "timestamp": None, "wal": True},
    "batch": {"timestamp": None, "batch_size": None, "transaction": False, "wal": True},
    "append": {"row": ROW, "data": {b"f:m": b"v"}},
    "mutate_row": {"row": ROW, "changes": CHANGES},
    "check_and_mutate": {
        "row": ROW,
        "column": b"f:absent",
        "operator": "=",
        "value": None,
        "changes": CHANGES,
        "time_range": None,
    },
    "mutate_if": {"row": ROW, "changes": CHANGES, "columns": [b"f:absent"], "filter": None, "time_range": None},
    "delete_rows": {"row_start": None, "row_stop": None, "row_prefix": b"m", "columns": None, "timestamp": None},
    "delete_range": {"row_start": None, "row_stop": None, "row_prefix": b"m", "timestamp": None},
    "check_and_put": {"row": ROW, "column": b"f:absent", "expected": None, "data": {b"f:m": b"v"}},
    "counter_get": {"row": ROW, "column": b"f:counter"},
    "counter_set": {"row": ROW, "column": b"f:counter", "value": 3},
    "counter_inc": {"row": ROW, "column": b"f:counter", "value": 1},
    "counter_dec": {"row": ROW, "column": b"f:counter", "value": 1},
}
BATCH: dict[str, dict[str, Any]] = {
    "put": {"row": ROW, "data": {b"f:m": b"v"}, "wal": None},
    "delete": {"row": ROW, "columns": [b"f:m"], "wal": None},
    "send": {},
}


def parameters(calls: dict[str, dict[str, Any]]) -> list[tuple[str, str]]:
    return [(method, name) for method, arguments in calls.items() for name in arguments]


def swept(calls: dict[str, dict[str, Any]]) -> list[object]:
    return one_in(4, [pytest.param(*one) for one in parameters(calls)])


@pytest.mark.parametrize(("kind", "calls"), [(EmbeddedDatabase, DATABASE), (Table, ROWS), (Batch, BATCH)])
def test_the_sweep_knows_every_parameter(kind: type, calls: dict[str, dict[str, Any]]) -> None:
    found = {
        method: [name for name in inspect.signature(getattr(kind, method)).parameters if name != "self"]
        for method in public(kind)
    }
    assert found == {method: list(arguments) for method, arguments in calls.items()}


FLAGS = [
    (kind, method, name)
    for kind, calls in ((EmbeddedDatabase, DATABASE), (Table, ROWS), (Batch, BATCH))
    for method, name in parameters(calls)
    if inspect.signature(getattr(kind, method)).parameters[name].annotation in (bool, bool | None)
]


@pytest.mark.parametrize(("kind", "method", "name"), FLAGS, ids=lambda part: getattr(part, "__name__", part))
def test_a_flag_is_true_or_false(database: hbtable.Database, kind: type, method: str, name: str) -> None:
    """'false' would count as true: delete_table(disable='false') would drop a table that is in use."""
    optional = inspect.signature(getattr(kind, method)).parameters[name].annotation is not bool
    calls = {EmbeddedDatabase: DATABASE, Table: ROWS, Batch: BATCH}[kind]
    table = database.table("t")
    owner = {EmbeddedDatabase: database, Table: table, Batch: table.batch()}[kind]
    before = table.row(ROW)
    for value in (None, 0, 1, "", "false", "true", b"", [], {}, 0.0, object()):
        if value is None and optional:
            continue
        with pytest.raises(hbtable.WrongType, match=f"'{name}' .* has to be True or False"):
            getattr(owner, method)(**{**calls[method], name: value})
    assert table.row(ROW) == before


def test_there_are_flags() -> None:
    assert {name for _, _, name in FLAGS} == {
        "disable", "group_columns", "include_timestamp", "keep_splits", "major", "reverse", "sorted_columns",
        "transaction", "use_prefix", "wal",
    }  # fmt: skip


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedDatabase]:
    """One for the whole sweep. At its end what it holds is what a copy of the folder of a killed process holds, and
    what it holds when it was closed and opened again."""
    path = tmp_path_factory.mktemp("calls") / "data"
    database = hbtable.open(str(path), durability="os")
    table = database.create_table("t", {"f": {"max_versions": 1000}}, split_rows=[b"zzz"])
    with table.batch() as batch:
        for row, data in NEIGHBOURS.items():
            batch.put(row, data)
    try:
        yield database
        before = contents(database)
        killed = path.with_name("killed")
        copy_as_it_is(path, killed)
        with hbtable.open(str(killed), durability="os") as copy:
            assert contents(copy) == before
    finally:
        database.close()
    with hbtable.open(str(path), durability="os") as again:
        assert contents(again) == before


def copy_as_it_is(path: Path, copy: Path) -> None:
    """As a process that is killed leaves it: without a file that was replaced while others were copied."""

    def names() -> set[Path]:
        return set((path / "sstables").rglob("*"))

    def made() -> bool:
        shutil.rmtree(copy, ignore_errors=True)
        before = names()
        try:
            shutil.copytree(path, copy)
        except shutil.Error:  # one is gone
            return False
        return names() == before

    eventually(made, 60.0, "no file is replaced while the folder is copied")


def contents(database: EmbeddedDatabase) -> dict[bytes, Any]:
    found = {}
    for name in database.tables():
        table = database.table(name)
        rows = list(table.scan(include_timestamp=True)) if database.is_table_enabled(name) else None
        found[name] = (table.schema(), rows, [tablet.range for tablet in database.tablets(name)])
    return found


def attempt(call: Callable[[], Any], named: str) -> tuple[bool, Any]:
    """(accepted, the answer). Whatever is raised is a proper error: of the tree, or one that names the parameter."""
    try:
        answer = call()
        if inspect.isgenerator(answer):
            answer = list(answer)
    except (InvalidRequest, NotFound, AlreadyExists) as error:
        message = str(error)
    except (TypeError, ValueError) as error:
        message = str(error) if named in str(error) else ""
    else:
        return True, answer
    assert message, f"no message, or one without {named!r}"
    assert len(message) <= LONGEST_MESSAGE, f"a message of {len(message):,} characters: {message[:200]}..."
    return False, None


def neighbours_are_well(database: EmbeddedDatabase) -> None:
    table = database.table("t")
    assert dict(table.scan(row_start=b"a", row_stop=b"b")) == NEIGHBOURS
    for row, data in table.scan():
        assert type(row) is bytes
        assert all(type(column) is bytes and type(value) is bytes for column, value in data.items())


@pytest.mark.parametrize(("method", "parameter"), swept(DATABASE))
def test_methods_of_the_database(database: hbtable.Database, method: str, parameter: str) -> None:
    for value in VALUES.values():
        if b"made" not in database.tables() and method != "create_table":
            database.create_table("made", ["f"])
        if method == "enable_table" and database.is_table_enabled("made"):
            database.disable_table("made")
        arguments = {**DATABASE[method], parameter: value()}
        attempt(lambda arguments=arguments: getattr(database, method)(**arguments), parameter)
        if method == "create_table":
            for name in set(database.tables()) - {b"t"}:
                use(database.table(name))
                database.delete_table(name, disable=True)
    if b"made" in database.tables():
        if not database.is_table_enabled("made"):
            database.enable_table("made")
        use(database.table("made"))
        database.delete_table("made", disable=True)
    neighbours_are_well(database)


def use(table: Table) -> None:
    """It serves rows."""
    for family in table.families():
        table.put(ROW, {family + b":q": b"v"})
    assert len(table.row(ROW)) == len(table.families())


def test_options_are_all_but_what_the_master_says() -> None:
    assert {field.name for field in fields(FamilySchema)} - set(FamilyOptions.__annotations__) == {"name", "added_in"}


FIELDS = {"bloom_filter_type": "bloom", "block_cache_enabled": "block_cache", "time_to_live": "ttl_seconds"}
IGNORED = ("bloom_filter_vector_size", "bloom_filter_nb_hashes")


@pytest.mark.parametrize("option", list(FamilyOptions.__annotations__))
def test_options_of_a_family(database: hbtable.Database, option: str) -> None:
    field = FIELDS.get(option, option)
    default = getattr(FamilySchema(b"f"), field, None)
    for number, value in enumerate(VALUES.values()):
        given = value()
        families: Any = {"f": {option: given}}
        accepted, table = attempt(lambda families=families: database.create_table("options", families), option)
        if accepted:
            if option in IGNORED:
                assert hasattr(given, "__index__"), number
            else:
                kept = getattr(table.schema().families[b"f"], field)
                assert kept == given or (option, kept) == ("time_to_live", FOREVER_SECONDS), number
                assert type(kept) is type(given) is type(default), number
            table.put(ROW, {b"f:q": b"v"})
            database.flush_table("options")
            assert table.row(ROW) == {b"f:q": b"v"}
            database.delete_table("options", disable=True)
        assert database.tables() == [b"t"]


@pytest.mark.parametrize(("method", "parameter"), swept(ROWS))
def test_methods_of_a_table(database: hbtable.Database, method: str, parameter: str) -> None:
    table = database.table("t")
    for what, value in VALUES.items():
        arguments = given(ROWS[method], parameter, value())
        accepted, answer = attempt(lambda arguments=arguments: getattr(table, method)(**arguments), parameter)
        if accepted:
            read_back(table, method, arguments, answer, what)
            if parameter == "wal":
                table.delete(arguments.get("row", ROW))  # what was not logged is not in the copy
    neighbours_are_well(database)


def given(arguments: dict[str, Any], parameter: str, value: Any) -> dict[str, Any]:
    """With a row that no call had before: a time far ahead would hide what comes after."""
    fresh = {name: b"m%06d" % next(_numbers) for name, it in arguments.items() if it == ROW}
    return {**arguments, **fresh, parameter: value}


def as_bytes(given: Any) -> bytes:
    return str.encode(given) if isinstance(given, str) else bytes(memoryview(given))


def read_back(table: Table, method: str, arguments: dict[str, Any], answer: Any, what: str) -> None:
    """What was accepted is there, as it was given."""
    if method == "put" or (method == "check_and_put" and answer):
        found = table.row(as_bytes(arguments["row"]))
        for column, value in arguments["data"].items():
            assert found[as_bytes(column)] == as_bytes(value), what
    elif method == "append":
        for column, value in arguments["data"].items():
            assert answer[as_bytes(column)].endswith(as_bytes(value)), what
    elif method == "counter_set":
        assert table.counter_get(arguments["row"], arguments["column"]) == arguments["value"], what
    elif method in ("counter_inc", "counter_dec"):
        assert answer == table.counter_get(arguments["row"], arguments["column"]), what
        if as_bytes(arguments["row"]).startswith(b"m0"):
            assert answer == (arguments["value"] if method == "counter_inc" else -arguments["value"]), what
    elif method in ("row", "get", "cells"):
        assert type(answer) in (dict, list), what
    elif method == "batch":
        row = b"n%06d" % next(_numbers)
        with answer as batch:
            batch.put(row, {b"f:m": b"2"})
        table.delete(row)


@pytest.mark.parametrize(("method", "parameter"), swept(BATCH))
def test_methods_of_a_batch(database: hbtable.Database, method: str, parameter: str) -> None:
    table = database.table("t")
    for what, value in VALUES.items():
        batch = table.batch()
        arguments = given(BATCH[method], parameter, value())

        def call(batch: Batch = batch, arguments: dict[str, Any] = arguments) -> None:
            getattr(batch, method)(**arguments)
            batch.send()

        accepted, _ = attempt(call, parameter)
        if accepted and method == "put":
            read_back(table, "put", arguments, None, what)
        if accepted and parameter == "wal":
            table.delete(arguments["row"])
    neighbours_are_well(database)


@pytest.mark.parametrize("parameter", ["path", "durability", "config"])
def test_opening(tmp_path: Path, parameter: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    refused = []
    for value in VALUES.values():
        arguments: dict[str, Any] = {"path": str(tmp_path / "data"), "durability": "os", parameter: value()}
        try:
            hbtable.open(**arguments).close()
        except (HbtableError, ValueError, OSError) as error:
            refused.append(str(error))
    assert all(refused)
