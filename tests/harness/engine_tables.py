"""What every engine is to read alike, and the mistakes of which every engine is to tell alike: a case a line, and each
engine's tests go through all of them."""

import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pytest

import hbtable
from hbtable.dataflow.splits import MOST_SPLITS
from tests.harness.server import ServerProcess

TYPES: Final[dict[str, pa.DataType | None]] = {"c:raw": None, "c:n": pa.int64()}
Record = tuple[Any, ...]
Written = tuple[bytes | None, int]
"""A row, and the long of its column "n"."""


@dataclass(frozen=True)
class Engine:
    """An engine's calls, whose arguments are those of dataflow's functions for it."""

    source: Callable[..., Callable[[], list[Record]]]
    """Makes it, of the table and its columns; what it returns reads it, ascending by row."""
    sink: Callable[..., Callable[[list[Written]], None]] | None = None
    """The same of what writes rows, to the column that it is given."""
    cuts: bool = True
    """It takes 'at_least'."""
    needs_types: bool = True


@contextmanager
def _connected(server: ServerProcess) -> Iterator[hbtable.Database]:
    """What is made there is gone behind it: other engines have the same names."""
    with hbtable.connect("127.0.0.1", server.port) as db:
        before = set(db.tables())
        yield db
        for name in set(db.tables()) - before:
            db.delete_table(name, disable=db.is_table_enabled(name))


# ---------------------------------------------------------------------------------------------- what is read

_ROWS: Final = (b"\0", b"\0\0", b"\0\xff", b"a\0b", b"\x80", b"\xff", b"\xff\0", b"\xff\xff", b"\xff\xff\xff")
_LARGE: Final = 5 << 20
ODD_TABLES: Final[dict[str, dict[bytes, dict[bytes, bytes]]]] = {
    "binary": {row: {b"c:raw": row * 3, b"c:n": struct.pack(">q", at)} for at, row in enumerate(_ROWS)},
    "one": {b"r": {b"c:n": struct.pack(">q", -1)}},
    "empty": {},
    "large": {b"%d" % at: {b"c:raw": bytes([at]) * _LARGE} for at in range(3)},
}


def check_odd_tables(engine: Engine, server: ServerProcess, _: Path) -> None:
    """Beside a plain happybase scan."""
    with _connected(server) as db:
        for name, rows in ODD_TABLES.items():
            table = db.create_table(f"odd-{name}", ["c"], split_rows=[b"\0\x01", b"\xff\0"])
            with table.batch() as batch:
                for row, data in rows.items():
                    batch.put(row, data)
            expected = _plain_records(server, f"odd-{name}")
            assert len(expected) == len(rows)
            for cut in ({}, {"at_least": 7}) if engine.cuts else ({},):
                assert engine.source(table, TYPES, **cut)() == expected, name
            few = [record for record in expected if record[0].startswith(b"\xff\xff")]
            assert engine.source(table, TYPES, row_prefix=b"\xff\xff")() == few, name


def _plain_records(server: ServerProcess, name: str) -> list[Record]:
    connection = server.connect()
    try:
        return [
            (row, data.get(b"c:raw"), struct.unpack(">q", data[b"c:n"])[0] if b"c:n" in data else None)
            for row, data in connection.table(name).scan(batch_size=1)
        ]
    finally:
        connection.close()


# ---------------------------------------------------------------------------------------------- what is wrong at once


class Mistake(NamedTuple):
    kind: type[Exception]
    message: str
    columns: object = TYPES
    rows: Mapping[str, object] = {}
    table: str = "wrong"


_EMPTY: Final = "the range of rows is empty: 'row_start' is not before 'row_stop'"
_NO_TYPE: Final = "the type of column c:n is 'int64', and has to be a type of pyarrow, as pyarrow.int64()"
_ONE_VALUE: Final = "with types in 'columns' a record has one value of each column; give names for 'versions'"
_NO_COLUMN: Final = "'columns' has no column: give some their types, or leave it out for a record a cell"
MISTAKES: Final = [
    Mistake(hbtable.TableNotFound, "there is no table absent; tables() has the names of all", table="absent"),
    Mistake(hbtable.NoSuchFamily, "Column family x does not exist in table wrong; it has c, d", {"x:y": None}),
    Mistake(hbtable.WrongValue, "column b'c' needs a ':' after its family", {"c": None}),
    Mistake(hbtable.WrongValue, _NO_COLUMN, {}),
    Mistake(hbtable.WrongType, _NO_TYPE, {"c:n": "int64"}),
    Mistake(hbtable.InvalidRequest, _EMPTY, rows={"row_start": "b", "row_stop": "a"}),
    Mistake(
        hbtable.WrongValue, "timestamp -1 is out of range: it lies between 0 and 9223372036854775807",
        rows={"timestamp": -1},
    ),
    Mistake(hbtable.WrongType, "timestamp '1' is str, and has to be a whole number", rows={"timestamp": "1"}),
    Mistake(hbtable.WrongType, "'row' 5 is int, and has to be text: it names the column of rows", rows={"row": 5}),
    Mistake(
        hbtable.WrongValue, "'row' 'c:n' is the name of another column: give the column of rows another one",
        rows={"row": "c:n"},
    ),
    Mistake(hbtable.WrongValue, _ONE_VALUE, rows={"versions": 2}),
    Mistake(TypeError, "splits() got an unexpected keyword argument 'row_strat'", rows={"row_strat": "b"}),
]  # fmt: skip
WITHOUT_TYPES: Final = [
    Mistake(hbtable.WrongType, f"'columns' {given!r} has to be a dict with a type of Arrow for each column", given)
    for given in (None, ["c:n"])
]
CUTS: Final = [
    Mistake(kind, f"'at_least' {message}", rows={"at_least": given})
    for kind, given, message in (
        (hbtable.WrongValue, 0, f"0 is out of range: it lies between 1 and {MOST_SPLITS}"),
        (hbtable.WrongValue, 10**9, f"{10**9} is out of range: it lies between 1 and {MOST_SPLITS}"),
        (hbtable.WrongType, "4", "'4' is str, and has to be a whole number"),
    )
]


def check_mistakes(engine: Engine, server: ServerProcess, _: Path) -> None:
    """Told of by the call that makes them, and before a task of the engine is begun."""
    with _connected(server) as db:
        db.create_table("wrong", ["c", "d"])
        _check_mistakes(engine, db)


def _check_mistakes(engine: Engine, db: hbtable.Database) -> None:
    cases = [*MISTAKES, *(WITHOUT_TYPES if engine.needs_types else ()), *(CUTS if engine.cuts else ())]
    for case in cases:
        with pytest.raises(Exception) as caught:  # told below
            engine.source(db.table(case.table), case.columns, **case.rows)
        assert (caught.type, str(caught.value)) == (case.kind, case.message)
    with pytest.raises(hbtable.WrongType, match=r"^the table .* is \w+Database, and has to be an hbtable\.Table$"):
        engine.source(db, TYPES)
    if engine.sink is not None:
        with pytest.raises(hbtable.WrongValue, match=r"^timestamp -1 is out of range"):
            engine.sink(db.table("wrong"), "c:n", timestamp=-1)


# ---------------------------------------------------------------------------------------------- what is wrong in a task


class Change(NamedTuple):
    """What is done to the table, which has the family "c" and "d", between the plan and its tasks."""

    message: str
    done: Callable[[hbtable.Database, str], object]


_MADE_BEFORE: Final = "; it was there when this split of it was made: make new ones"


def _made_anew(db: hbtable.Database, name: str) -> None:
    db.delete_table(name, disable=True)
    db.create_table(name, ["c", "d"]).put("r", {"c:n": b"12345678"}, timestamp=1)


CHANGES: Final[dict[str, Change]] = {
    "dropped": Change(
        "there is no table {}; tables() has the names of all" + _MADE_BEFORE,
        lambda db, name: db.delete_table(name, disable=True),
    ),
    "made-anew": Change("table {} was dropped or truncated" + _MADE_BEFORE, _made_anew),
    "truncated": Change(
        "table {} was dropped or truncated" + _MADE_BEFORE, lambda db, name: db.truncate_table(name, disable=True)
    ),
    "disabled": Change(
        "table {} is disabled, and has to be enabled for this: call enable_table() first",
        lambda db, name: db.disable_table(name),
    ),
    "without-c": Change(
        "Column family c does not exist in table {}; it has d", lambda db, name: db.alter_table(name, drop=["c"])
    ),
    "other-type": Change(
        "row b'r' has the value b'1234' in column b'c:n': it has 4 bytes, and int64 has 8",
        lambda db, name: db.table(name).put("r", {"c:n": b"1234"}, timestamp=2),
    ),
}


def check_changes(engine: Engine, server: ServerProcess, _: Path) -> None:
    """Between the plan and its tasks: each task ends, and what the engine says has one sentence of what is wrong."""
    with _connected(server) as db:
        _check_changed_sources(engine, db)
        if engine.sink is not None:
            _check_changed_sinks(engine.sink, db)


def _check_changed_sources(engine: Engine, db: hbtable.Database) -> None:
    for name, change in CHANGES.items():
        db.create_table(name, ["c", "d"]).put("r", {"c:n": b"12345678"}, timestamp=1)
        read = engine.source(db.table(name), TYPES)
        change.done(db, name)
        with _told(change.message.format(name)):
            read()


def _check_changed_sinks(sink: Callable[..., Callable[[list[Written]], None]], db: hbtable.Database) -> None:
    for name, column, message in (
        ("gone", "c:n", "there is no table gone; tables() has the names of all"),
        ("no-family", "x:n", "Column family x does not exist in table no-family; it has c"),
    ):
        write = sink(db.create_table(name, ["c"]), column)
        if name == "gone":
            db.delete_table(name, disable=True)
        with _told(message):
            write([(b"r", 1)])


@contextmanager
def _told(message: str) -> Iterator[None]:
    """An engine wraps it into what it says of the task."""
    with pytest.raises(Exception) as caught:  # told below
        yield
    assert message in str(caught.value), str(caught.value)
