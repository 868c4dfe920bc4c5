"""hbtable sql beside plain Python over a happybase scan; what it reads is counted at the server."""

import csv
import io
import json
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import happybase
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

import hbtable
from hbtable.launch.cli import sql_command
from hbtable.launch.cli.command import main
from hbtable.library.server_calls import ServerCalls
from hbtable.library.sql import query as query_module
from hbtable.library.sql.pushdown import Pushdown, pushdown
from hbtable.library.sql.query import Answer
from tests.harness.tiers import generated

pytestmark = pytest.mark.integration

ROWS = 2000
TYPES = "--columns=t=f:n=int64,f:sparse=double,g:text=text"


class World:
    """A database with the table t, a port of it, and all its rows by happybase."""

    def __init__(self) -> None:
        self.db = hbtable.open(":memory:")
        table = self.db.create_table("t", ["f", "g", "h"], split_rows=["r0500", "r1500"])
        with table.batch() as batch:
            for number in range(ROWS):
                data = {b"g:text": b"text %d" % (number % 13), b"h:unused": b"x"}
                if number % 3:
                    data[b"f:n"] = struct.pack(">q", number - 1000)
                if not number % 10:
                    data[b"f:sparse"] = struct.pack(">d", number / 8)
                batch.put(b"r%04d" % number, data)
        self.db.flush_table("t")
        self.db.create_table("ns_t", ["f"]).put(b"\x00\xff", {b"f:": b"\x1b[1m", "f:b": "ä"})
        self.db.create_table("empty", ["f"])
        self.port = self.db.serve(port=0)
        plain = happybase.Connection("127.0.0.1", self.port)
        self.rows = [
            {
                "row": row,
                "n": struct.unpack(">q", data[b"f:n"])[0] if b"f:n" in data else None,
                "sparse": struct.unpack(">d", data[b"f:sparse"])[0] if b"f:sparse" in data else None,
                "text": data[b"g:text"].decode(),
            }
            for row, data in plain.table("t").scan()
        ]
        plain.close()

    def run(self, *arguments: str) -> Result:
        return CliRunner().invoke(main, ["sql", f"--url=127.0.0.1:{self.port}", *arguments])

    def ask(self, statement: str) -> list[list[Any]]:
        done = self.run("--format=json", TYPES, statement)
        assert done.exit_code == 0, done.output
        return [list(json.loads(line).values()) for line in done.output.splitlines()]


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    world = World()
    yield world
    world.db.close()


def numbers(rows: list[dict[str, Any]]) -> list[int]:
    return [row["n"] for row in rows if row["n"] is not None]


Q: list[tuple[str, Any]] = [
    ("select count(*) from t", lambda rows: [[len(rows)]]),
    ('select count("f:n"), sum("f:n") from t', lambda rows: [[len(numbers(rows)), sum(numbers(rows))]]),
    ('select count(*) from t where "f:n" is null', lambda rows: [[sum(r["n"] is None for r in rows)]]),
    ('select row, "f:sparse" from t where "f:sparse" > 100.5 order by row',
     lambda rows: [[r["row"].decode(), r["sparse"]] for r in rows if (r["sparse"] or 0) > 100.5]),
    ("select count(*) from t where row >= 'r0490' and row < 'r0510'",
     lambda rows: [[sum(b"r0490" <= r["row"] < b"r0510" for r in rows)]]),
    ("select count(*) from t where row > 'r0490' and row <= 'r0510'", lambda rows: [[20]]),
    ("select \"g:text\" from t where row = 'r0007'", lambda rows: [[rows[7]["text"]]]),
    ("select row from t where row < 'r0002' or row = 'r1999' order by 1",
     lambda rows: [[r["row"].decode()] for r in rows if r["row"] < b"r0002" or r["row"] == b"r1999"]),
    ("select row from t where row in ('r0002', 'r1000') order by 1", lambda rows: [["r0002"], ["r1000"]]),
    ("select count(*) from t where row >= 'b' and row < 'a'", lambda rows: [[0]]),
    ('select "g:text", max("f:n") from t group by 1 order by 1',
     lambda rows: sorted([text, max(r["n"] for r in rows if r["text"] == text and r["n"] is not None)]
                         for text in {r["text"] for r in rows})),
    ('select count(*) from t a join t b on a."f:n" = -b."f:n"',
     lambda rows: [[len(set(numbers(rows)) & {-n for n in numbers(rows)})]]),
    ("select count(*) from t where starts_with(decode(row), 'r19') and \"f:n\" > 0",
     lambda rows: [[sum(r["row"].startswith(b"r19") and (r["n"] or 0) > 0 for r in rows)]]),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "expected"), Q, ids=[statement for statement, _ in Q])
def test_the_answers_of_plain_python(world: World, statement: str, expected: Any) -> None:
    assert world.ask(statement) == expected(world.rows)


class Counted:
    """What the server says that it looked at, and what it was asked for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.rows = 0
        self.sent: set[bytes] = set()
        self.read: set[bytes] = set()
        admin = ServerCalls.admin

        def counted(calls: ServerCalls, method: str, *arguments: Any) -> Any:
            page = admin(calls, method, *arguments)
            if method == "adminScanArrow":
                self.rows += page.rows_scanned
                self.sent |= {one.family + b":" + one.qualifier for one in arguments[2]}
                self.read |= {one.family + b":" + one.qualifier for one in arguments[1].read.columns}
            return page

        monkeypatch.setattr(ServerCalls, "admin", counted)


READ: list[tuple[str, int, set[bytes], set[bytes]]] = [
    ("select count(*) from t where row >= 'r0490' and row < 'r0510'", 20, set(), {b"f:n", b"f:sparse", b"g:text"}),
    ("select \"f:n\" from t where row = 'r0007'", 1, {b"f:n"}, {b"f:n", b"f:sparse", b"g:text"}),
    ('select row from t where "f:n" > 900', 1333, {b"f:n"}, {b"f:n"}),
    ("select \"g:text\" from t where \"f:n\" > 900 and 'r1000' <= row", 1000, {b"f:n", b"g:text"}, {b"f:n", b"g:text"}),
    ('select sum("f:n") from t where "f:n" is not null or "f:sparse" > 1', ROWS, {b"f:n", b"f:sparse"},
     {b"f:n", b"f:sparse", b"g:text"}),
    ("select * from t where row < 'a' and row > 'b'", 0, set(), set()),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "rows", "sent", "read"), READ, ids=[one[0] for one in READ])
def test_no_more_is_read_than_that(
    world: World, monkeypatch: pytest.MonkeyPatch, statement: str, rows: int, sent: set[bytes], read: set[bytes]
) -> None:
    counted = Counted(monkeypatch)
    world.ask(statement)
    assert (counted.rows, counted.sent, counted.read) == (rows, sent, read)


def test_rows_behind_the_sampled_ones_have_a_record_whatever_their_columns_are(world: World) -> None:
    """Those that have none of the columns of the first 1,000 rows were left out: count(*) was 1004."""
    table = world.db.create_table("late", ["f", "g"])
    with table.batch() as batch:
        for number in range(1004):
            batch.put(b"r%04d" % number, {"f:a": "1"})
        for number in range(1004, 1010):
            batch.put(b"r%04d" % number, {"f:b" if number % 2 else "g:c": "2"})
    for statement, columns, count in (
        ("select count(*) from late", [], 1010),
        ("select count(*) from late where row >= 'r1000'", [], 10),
        ('select count(*) from late where "f:a" is null', [], 6),
        ("select count(*) from late where \"f:a\" = '1'", [], 1004),
        ("select count(*) from late", ["--columns=late=f:a=text"], 1004),
        ("select count(*) from late", ["--columns=late=f:a=text,g:c=text"], 1007),
    ):
        done = world.run("--format=json", *columns, statement)
        assert (done.exit_code, list(json.loads(done.output).values())) == (0, [count]), done.output


def test_a_family_that_is_not_needed_is_not_read(world: World) -> None:
    """As the server counts its reads."""

    def reads() -> dict[bytes, int]:
        return {one.families[0]: one.read_rows for one in world.db.table("t").usage()}

    before = reads()
    world.ask('select count(*) from t where "f:n" > 0')
    after = reads()
    assert after[b"f"] > before[b"f"]
    assert {name: after[name] for name in (b"g", b"h")} == {name: before[name] for name in (b"g", b"h")}


SCHEMA = pa.schema([pa.field("row", pa.binary(), False), pa.field("f:n", pa.int64()), pa.field("f:t", pa.string())])
KEYS = st.binary(max_size=2) | st.sampled_from([b"", b"\x12\x06\n\x02\x12\x00", b'"\x00', b"\xff\xff"])
LEAVES = st.one_of(
    st.tuples(st.sampled_from(["<", "<=", ">", ">=", "=="]), st.just("row"), KEYS, st.booleans()),
    st.tuples(st.sampled_from(["<", "=="]), st.just("f:n"), st.integers(-1, 2), st.booleans()),
    st.tuples(st.sampled_from([">", "=="]), st.just("f:t"), st.text("ab\0", max_size=2), st.booleans()),
    st.tuples(st.just("null"), st.sampled_from(["f:n", "f:t"])),
)
FILTERS = st.recursive(
    LEAVES, lambda inner: st.tuples(st.sampled_from(["and", "or"]), inner, inner) | st.tuples(st.just("not"), inner)
)


def expression(told: Any) -> Any:
    kind, *rest = told
    if kind in ("and", "or"):
        left, right = map(expression, rest)
        return left & right if kind == "and" else left | right
    if kind == "not":
        return ~expression(rest[0])
    if kind == "null":
        return pc.field(rest[0]).is_null()
    name, value, mirrored = rest
    one, other = pc.field(name), pc.scalar(pa.scalar(value, SCHEMA.field(SCHEMA.names.index(name)).type))
    compare: dict[str, Any] = {
        "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
        "==": lambda a, b: a == b,
    }  # fmt: skip
    return compare[kind](other, one) if mirrored else compare[kind](one, other)


@settings(max_examples=generated(200), deadline=None)
@given(FILTERS, st.lists(st.tuples(KEYS, st.none() | st.integers(-1, 2), st.none() | st.text("ab", max_size=2))))
def test_whatever_passes_a_filter_is_read(told: Any, records: list[Any]) -> None:
    """Arrow itself says what passes."""
    filter = expression(told)
    found = pushdown(filter, SCHEMA)
    arrays = [pa.array([one[place] for one in records], SCHEMA.field(place).type) for place in range(3)]
    for record in pa.table(arrays, schema=SCHEMA).filter(filter).to_pylist():
        assert found.start <= record["row"]
        assert found.stop is None or record["row"] < found.stop
        assert all(record[SCHEMA.names[number]] is not None for number in found.present)


def test_what_a_filter_says() -> None:
    row, n = pc.field("row"), pc.field("f:n")
    both = (row >= pc.scalar(b"a")) & (row < pc.scalar(b"b")) & (n > 3)
    assert pushdown(both, SCHEMA) == Pushdown(b"a", b"b", frozenset((0, 1)), frozenset((0, 1)))
    assert pushdown((row == pc.scalar(b"a")) | (n > 3), SCHEMA) == Pushdown(fields=frozenset((0, 1)))


def test_forms(world: World) -> None:
    table = world.run('select row, "f:", "f:b", "f:c" from (select *, null as "f:c" from ns_t)')
    *_, values, rows = table.output.splitlines()
    assert (values.split(), rows) == ([r"\x00\xFF", r"\x1B[1m", r"\xC3\xA4", "NULL"], "1 row")
    assert world.run("--format=csv", TYPES, "select row, \"f:n\" from t where row < 'r0002'").output == (
        "row,f:n\nr0000,\nr0001,-999\n"
    )


def test_text_of_a_csv_is_what_the_table_has(world: World) -> None:
    """Each sign by itself and beside others; a line break and the text of its escape gave the same field."""
    signs = [chr(point) for point in (*range(1, 0x180), 0x2028, 0x202E, 0xFEFF, 0x1F600)]
    texts = [text for sign in signs for text in (sign, f"a{sign}b")] + [r"a\x0Ab", "", '"', "NULL"]
    table = world.db.create_table("signs", ["f"])
    for number, text in enumerate(texts):
        table.put(b"%04d" % number, {"f:t": text})
    asked = "--columns=signs=f:t=text", 'select row, "f:t" as "a\tb\nc" from signs order by row'
    output = world.run("--format=csv", *asked).stdout_bytes.decode()
    assert list(csv.reader(io.StringIO(output, newline=""), strict=True)) == [
        ["row", "a\tb\nc"],
        *([f"{number:04d}", text] for number, text in enumerate(texts)),
    ]
    world.db.disable_table("signs")
    world.db.delete_table("signs")


def test_a_terminal_obeys_no_text_of_a_csv(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    shown = Terminal()
    monkeypatch.setattr("sys.stdout", shown)
    sql_command._write(Answer(["a\x1bb"], [[("\x1b[1m\n", b"\0", None, 5)]]), "csv")
    assert shown.getvalue() == "a\\x1Bb\n\\x1B[1m\\x0A,\\x00,,5\n"


WRONG = [
    (["select * from absent"], "there is no table absent|absent"),
    (["select * from empty"], "has no rows, of which its columns could be learned"),
    (["selec 1"], "DuckDB refuses it: .*syntax"),
    (["select 1; select 2"], "there are 2 statements, and one can be answered at a time"),
    (["/* nothing */"], "there are 0 statements"),
    (["--columns=t=f:n=int65", "select * from t"], "is to be read as int65"),
    (["--columns=t=f=int64", "select * from t"], "columns are family:qualifier"),
    (["--columns=t", "select 1"], "is not TABLE=F:Q=TYPE"),
    (["--columns=t=f:n=int64", "--columns=t=g:text=text", "select * from t"], "table t is named twice"),
    (["--columns=T=f:n=int64", "select * from t"], "columns are named of T, which the statement does not read"),
    (["--columns=absent=f:n=int64", "select 1"], "columns are named of absent"),
    (["--columns=t=g:text=int64", "select * from t"], r"row b'r0000' has the value b'text 0' in column b'g:text'"),
    (["--columns=t=z:n=int64", "select * from t"], "NoSuchFamily: .*z"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG, ids=[one[1] for one in WRONG])
def test_what_is_wrong_is_said_in_a_sentence(world: World, arguments: list[str], message: str) -> None:
    done = world.run(*arguments)
    assert done.exit_code in (1, 2)
    assert re.search(message, done.output), done.output
    assert "Traceback" not in done.output


def test_tables_whose_names_differ_in_case_are_refused() -> None:
    """DuckDB took the one for the other, and answered with its rows."""
    with hbtable.open(":memory:") as db:
        for name in ("orders", "Orders"):
            db.create_table(name, ["f"]).put("r", {"f:q": name})
        port = db.serve(port=0)
        done = CliRunner().invoke(main, ["sql", f"--url=127.0.0.1:{port}", 'select (select count(*) from "Orders")'])
        assert done.exit_code == 1
        assert "tables Orders and orders have one name in SQL" in done.output


@pytest.fixture
def odd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a server with tables whose names are those of something else; a program that stands in a folder
    with some files."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "both.csv").write_text("row,f\nlocal,file\n")
    (tmp_path / "plain").mkdir()
    with hbtable.open(":memory:") as db:
        for name in ("both.csv", "only.csv", "other.parquet", "sqlite_master", "pg_class", "plain", "a.b"):
            db.create_table(name, ["f"]).put("r", {"f:q": f"of {name}"})
        db.create_table("empty.csv", ["f"])
        yield f"--url=127.0.0.1:{db.serve(port=0)}"


@pytest.mark.parametrize(
    ("named", "table"),
    [
        *((f'"{name}"', name) for name in ("only.csv", "other.parquet", "sqlite_master", "pg_class", "plain", "a.b")),
        *(("sqlite_master", "sqlite_master"), ("PG_Class", "pg_class"), ("'only.csv'", "only.csv")),
        *(('main."both.csv"', "both.csv"), ('main."sqlite_master"', "sqlite_master"), ('"ONLY.csv"', "only.csv")),
    ],
)
@pytest.mark.parametrize("around", ['select "f:q" v from {}', 'with x as (from {}) select first("f:q") v from x'])
def test_a_table_is_meant_before_a_file_and_before_what_duckdb_has(
    odd: str, named: str, table: str, around: str
) -> None:
    """Answers came from a local file and from DuckDB's own catalogue."""
    done = CliRunner().invoke(main, ["sql", odd, "--format=json", f"--columns={table}=f:q=text", around.format(named)])
    assert json.loads(done.output) == {"v": f"of {table}"}, done.output


def test_statements_that_duckdb_does_not_look_into_mean_tables_as_well(odd: str) -> None:
    done = CliRunner().invoke(main, ["sql", odd, "--format=json", 'pivot "only.csv" on "f:q" using count(*)'])
    assert json.loads(done.output) == {"row": "r", "of only.csv": 1}, done.output


def test_a_column_there_is_no_table_of_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which the user might not be allowed to read."""
    asked = []
    relation = query_module._relation
    monkeypatch.setattr(query_module, "_relation", lambda *of: asked.append(of[1]) or relation(*of))
    with hbtable.open(":memory:") as db:
        db.create_table("orders", ["f"]).put("r", {"f:q": "open"})
        db.create_table("total", ["f"]).put("r", {"f:q": "1"})
        address = f"--url=127.0.0.1:{db.serve(port=0)}"
        statement = 'pivot orders on "f:q" using count(*) as total'
        done = CliRunner().invoke(main, ["sql", address, "--format=json", statement])
    assert json.loads(done.output) == {"row": "r", "open_total": 1}, done.output
    assert asked == ["orders"]


def test_a_name_of_a_table_and_of_a_file_is_refused(odd: str) -> None:
    for statement in ('select * from "both.csv"', "select (select count(*) from 'both.csv')", "describe 'both.csv'"):
        done = CliRunner().invoke(main, ["sql", odd, statement])
        assert done.exit_code == 1
        said = 'there is a table both.csv and a file both.csv in this folder: write the table as main."both.csv", and'
        assert said in done.output
    done = CliRunner().invoke(main, ["sql", odd, "--format=json", "select * from './both.csv'"])
    assert json.loads(done.output) == {"row": "local", "f": "file"}
    done = CliRunner().invoke(main, ["sql", odd, 'select \'empty.csv\', "both.csv".x from (select 1 x) "both.csv"'])
    assert done.exit_code == 0, "a text, and a name that the statement gives"


def test_a_table_is_found_by_its_name_in_other_letters(world: World) -> None:
    assert world.ask('select count(*), sum("f:n") from T') == world.ask('select count(*), sum("f:n") from t')


def test_several_statements_do_nothing(world: World, tmp_path: Path) -> None:
    """The first one was run once for each table that the next ones name, and once more."""
    done = world.run(f"copy (select 1) to '{tmp_path}/out.csv'; select count(*) from t")
    assert (done.exit_code, list(tmp_path.iterdir())) == (1, []), done.output


def test_columns_whose_names_differ_in_case_are_refused() -> None:
    """DuckDB called the second one f:N_1; which one that is, nobody could see."""
    with hbtable.open(":memory:") as db:
        db.create_table("t", ["f"]).put("r", {"f:n": "small", "f:N": "capital", "f:\u00c4": "1", "f:\u00e4": "2"})
        url = f"--url=127.0.0.1:{db.serve(port=0)}"
        done = CliRunner().invoke(main, ["sql", url, "select * from t"])
        assert done.exit_code == 1
        assert "columns b'f:N' and b'f:n' of table t have one name in SQL" in done.output
        for columns, statement, value in (
            ("f:N=text", 'select "f:n" v from t', "capital"),
            ("f:\u00c4=text,f:\u00e4=text", 'select "f:\u00c4" v from t', "1"),
        ):
            done = CliRunner().invoke(main, ["sql", url, "--format=json", f"--columns=t={columns}", statement])
            assert json.loads(done.output) == {"v": value}, done.output


def test_columns_are_learned_of_all_pages_of_the_first_rows() -> None:
    with hbtable.open(":memory:") as db:
        table = db.create_table("t", ["f"])
        for number in range(8):
            table.put(b"a%d" % number, {"f:a": b"v" * 900_000})
        table.put("b", {"f:b": b"v"})
        port = db.serve(port=0)
        done = CliRunner().invoke(
            main, ["sql", f"--url=127.0.0.1:{port}", "--format=json", 'select count(*) n, count("f:b") b from t']
        )
        assert json.loads(done.output) == {"n": 9, "b": 1}, done.output


def test_fields_of_one_name_are_refused_as_json(world: World) -> None:
    """The first of the values was lost."""
    join = "select a.row, b.row from t a join t b on a.row = b.row where a.row < 'r0002'"
    done = world.run("--format=json", TYPES, join)
    assert (done.exit_code, done.stdout) == (1, "")
    assert "two fields of the answer are called 'row', and JSON has one" in done.stderr
    assert world.run("--format=csv", TYPES, join).output.splitlines()[0] == "row,row"
    assert json.loads(world.run("--format=json", 'select 1 "row", 2 "row_2"').output) == {"row": 1, "row_2": 2}
