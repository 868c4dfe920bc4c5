"""hbtable import and export against a real server: several tablets and workers, breaks, Parquet."""

import contextlib
import json
import os
import random
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import happybase
import pytest
from click.testing import CliRunner

import hbtable as hbtable_library
from hbtable.launch.cli.command import main
from tests.harness.tiers import quick_first
from tests.harness.warm_commands import run_warm
from tests.harness.warm_server import WarmServer

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmServer]:
    with WarmServer(tmp_path_factory.mktemp("data") / "data") as running:
        yield running


def command(server: WarmServer, *words: str) -> list[str]:
    return [sys.executable, "-m", "hbtable", words[0], "--url", f"127.0.0.1:{server.port}", *words[1:]]


def hbtable(server: WarmServer, *words: str) -> str:
    """What it said at the end."""
    done = run_warm(*command(server, *words)[3:])
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_a_file_that_is_there_is_replaced_only_when_that_is_said(server: WarmServer, tmp_path: Path) -> None:
    create(server, "overwritten")
    fill(server, "overwritten", 100)
    mine = tmp_path / "mine.jsonl"
    mine.write_text("years of work")
    refused = run_warm(*command(server, "export", "overwritten", "-o", str(mine))[3:])
    assert (refused.returncode, "is there already, and nothing was written" in refused.stderr) == (1, True)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("mine.jsonl", "years of work")]
    assert "exported 100 rows" in hbtable(server, "export", "overwritten", "-o", str(mine), "--overwrite")
    assert len(mine.read_text().splitlines()) == 100
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    refused = run_warm(*command(server, "export", "overwritten", "-o", str(pipe), "--overwrite")[3:])
    assert (refused.returncode, "is no file" in refused.stderr) == (1, True)
    assert pipe.is_fifo()


def create(server: WarmServer, name: str) -> None:
    script = f"create '{name}', {{NAME => 'f', VERSIONS => 3}}, SPLITS => ['k03', 'k06', 'k09']\n"
    done = run_warm("shell", "-n", "--url", f"127.0.0.1:{server.port}", given=script)
    assert done.returncode == 0, done.stderr


def fill(server: WarmServer, name: str, rows: int) -> None:
    connection = happybase.Connection("127.0.0.1", server.port)
    with connection.table(name).batch(batch_size=500) as batch:
        for number in range(rows):
            batch.put(
                b"k%02d%05d" % (number % 12, number), {b"f:n": b"%d" % number, b"f:\xff\x00": bytes([number % 256])}
            )
    connection.table(name).put(b"k0000000", {b"f:n": b"newer"})
    connection.close()


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_a_table_of_several_tablets_comes_back_equal_through_several_workers(
    server: WarmServer, tmp_path: Path, form: str
) -> None:
    create(server, f"from-{form}")
    create(server, f"to-{form}")
    fill(server, f"from-{form}", 6000)
    first, second = tmp_path / f"first.{form}", tmp_path / f"second.{form}"
    assert "exported 6,000 rows" in hbtable(server, "export", f"from-{form}", "-o", str(first), "--workers", "4")
    assert first.stat().st_mode & 0o777 == 0o600
    assert "imported 6,000 rows" in hbtable(
        server, "import", f"to-{form}", str(first), "--workers", "3", "--batch", "300"
    )
    assert "exported 6,000 rows" in hbtable(server, "export", f"to-{form}", "-o", str(second), "--workers", "1")
    assert first.read_bytes() == second.read_bytes()
    if form == "parquet":
        import pyarrow.parquet

        assert pyarrow.parquet.read_metadata(first).num_row_groups == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == [first.name, second.name]


@pytest.mark.parametrize("form", quick_first(["jsonl", "parquet"], 0, 1))
def test_an_export_and_an_import_killed_in_the_middle_go_on(server: WarmServer, tmp_path: Path, form: str) -> None:
    create(server, f"killed-{form}")
    create(server, f"killed-again-{form}")
    fill(server, f"killed-{form}", 12_000)
    whole, target = tmp_path / f"whole.{form}", tmp_path / f"target.{form}"
    hbtable(server, "export", f"killed-{form}", "-o", str(whole))
    export = command(server, "export", f"killed-{form}", "-o", str(target))
    kill_when(export, target.with_name(f"{target.name}.export"), lambda: target.unlink())
    assert not target.exists()
    assert "exported 12,000 rows" in hbtable(server, "export", f"killed-{form}", "-o", str(target))
    assert target.read_bytes() == whole.read_bytes()

    words = ("import", f"killed-again-{form}", str(whole), "--batch", "100")
    state = whole.with_name(f"{whole.name}.killed-again-{form}.import")
    kill_when(command(server, *words), state, lambda: None)
    assert "imported 12,000 rows" in hbtable(server, *words)
    hbtable(server, "export", f"killed-again-{form}", "-o", str(target), "--overwrite")
    assert target.read_bytes() == whole.read_bytes()


def kill_when(words: list[str], there: Path, undo: Callable[[], object]) -> None:
    """Kills the command as soon as it has remembered how far it came. When this process stood still and the command has
    ended meanwhile: once more, after `undo`."""
    for _ in range(20):
        process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
        while not there.exists() and process.poll() is None:
            time.sleep(0.002)
        process.kill()
        if process.wait() == -signal.SIGKILL:
            assert there.exists()
            return
        assert process.returncode == 0
        undo()
    raise AssertionError("it always ended before it could be killed")


def test_of_two_lines_about_a_row_the_later_one_wins_whatever_the_workers(server: WarmServer, tmp_path: Path) -> None:
    create(server, "lines")
    source = tmp_path / "lines.csv"
    lines = [f"k{number % 7:02d},{number}" for number in range(5000)]
    source.write_text("HBASE_ROW_KEY,f:n\n" + "\n".join(lines) + "\n")
    hbtable(server, "import", "lines", str(source), "--workers", "5", "--batch", "20")
    connection = happybase.Connection("127.0.0.1", server.port)
    found = {row: cells[b"f:n"] for row, cells in connection.table("lines").scan()}
    assert found == {b"k%02d" % (number % 7): b"%d" % number for number in range(4993, 5000)}
    connection.close()


def test_a_typed_parquet_file_has_the_cells_of_a_happybase_scan(server: WarmServer, tmp_path: Path) -> None:
    import duckdb
    import pyarrow as pa
    import pyarrow.parquet

    create(server, "typed")
    connection = happybase.Connection("127.0.0.1", server.port)
    with connection.table("typed").batch(batch_size=500) as batch:
        for number in range(3000):
            data = {b"f:n": struct.pack(">q", number - 1500), b"f:late": b"not asked for"}
            data |= {b"f:s": f"ä{number}".encode() if number % 3 else b""} if number % 2 else {}
            data |= {b"f:x": struct.pack(">d", number / 8)} if number % 5 else {}
            batch.put(b"k%02d%05d" % (number % 12, number), data)
    connection.table("typed").put(b"k0000000", {b"f:n": struct.pack(">q", 7)})
    connection.table("typed").put(b"k07late", {b"f:late": b"a row with none of the columns"})
    expected = [
        {
            "row": row,
            "f:n": struct.unpack(">q", data[b"f:n"])[0],
            "f:s": data[b"f:s"].decode() if b"f:s" in data else None,
            "f:x": struct.unpack(">d", data[b"f:x"])[0] if b"f:x" in data else None,
        }
        for row, data in connection.table("typed").scan()
        if row != b"k07late"
    ]
    connection.close()
    target = tmp_path / "typed.parquet"
    words = ("export", "typed", "-o", str(target), "--types", "f:n=int64,f:s=text,f:x=double")
    assert "exported 3,000 rows" in hbtable(server, *words)
    found = pyarrow.parquet.ParquetFile(target)
    assert found.read().to_pylist() == expected
    assert found.schema_arrow.types == [pa.binary(), pa.int64(), pa.string(), pa.float64()]
    assert found.metadata.num_row_groups == 1  # of four tablets
    totals = duckdb.sql(f'select sum("f:n"), count("f:s"), max("f:x") from \'{target}\'').fetchall()
    sums = [[one[name] for one in expected if one[name] is not None] for name in ("f:n", "f:s", "f:x")]
    assert totals == [(sum(sums[0]), len(sums[1]), max(sums[2]))]

    for file, types, message in (
        ("wrong.parquet", "f:s=int64", "in column b'f:s': it has "),
        ("wrong.parquet", "f:n=int65", "column b'f:n' is to be written as int65"),
        ("wrong.parquet", "g:n=int64", "Column family g does not exist in table typed"),
        ("wrong.csv", "f:n=int64", "give them with --format parquet, without --columns"),
        ("wrong.parquet", "f:n=int64,f:n=text", "column f:n is named twice"),
        ("wrong.parquet", "", "column b'' is to be written as bytes: columns are family:qualifier"),
        ("wrong.parquet", "f:\udcff,f:\\xff", r"fields of one name, f:\xff"),
    ):
        words = ("export", "typed", "-o", str(tmp_path / file), "--types", types)
        done = CliRunner().invoke(main, command(server, *words)[3:])
        assert (isinstance(done.exception, SystemExit), message in done.output) == (True, True), done.output
        assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("names", [False, True])
def test_a_typed_export_comes_back_as_it_was(server: WarmServer, tmp_path: Path, names: bool) -> None:
    """Each of the types, with values of random bits; as to_arrow() has them, too."""
    import pyarrow.parquet

    from hbtable.arrow.forms import TYPES

    generator = random.Random(7)
    widths = {name: type.bit_width // 8 for name, type in TYPES.items() if name not in ("bool", "text", "bytes")}
    random_values: dict[str, Callable[[], bytes]] = {
        **{name: partial(generator.randbytes, width) for name, width in widths.items()},
        "bool": lambda: generator.choice([b"\x00", b"\xff"]),
        "text": lambda: generator.choice(["", "0", "ä\0", "a,b\n"]).encode(),
        "bytes": lambda: generator.randbytes(generator.randrange(3)),
    }
    assert random_values.keys() == TYPES.keys()
    made = f"typed-{names}"
    with hbtable_library.connect("127.0.0.1", server.port) as database:
        tables = [database.create_table(f"{made}-{place}", ["f"]) for place in ("from", "export", "arrow")]
        for number in range(200):
            data = {f"f:{name}": of() for name, of in random_values.items() if generator.random() < 0.8}
            tables[0].put(generator.randbytes(3) + b"%d" % number, {**data, "f:always": "1"})
        exported, read = tmp_path / "exported.parquet", tmp_path / "read.parquet"
        types = ",".join([*(f"f:{name}={name}" for name in TYPES), "f:always=text"])
        hbtable(server, "export", f"{made}-from", "-o", str(exported), "--types", types)
        asked = {**{f"f:{name}": type for name, type in TYPES.items()}, "f:always": None}
        pyarrow.parquet.write_table(tables[0].to_arrow(asked).read_all(), read)
        more = ["--columns", ",".join(["HBASE_ROW_KEY", *asked])] if names else []
        hbtable(server, "import", f"{made}-export", str(exported), *more)
        hbtable(server, "import", f"{made}-arrow", str(read), *more)
        first, *others = (list(table.scan()) for table in tables)
    assert len(first) == 200
    assert others == [first, first]


@pytest.mark.parametrize("name", [b"f:\xff", rb"f:\xff", b"f:\xc3\xa4"])
def test_a_column_of_any_name_comes_back_from_every_form(server: WarmServer, tmp_path: Path, name: bytes) -> None:
    text = name.decode("utf-8", "surrogateescape")
    with hbtable_library.connect("127.0.0.1", server.port) as database:
        source = database.create_table(f"named-{name.hex()}", ["f"])
        source.put("r", {name: "v"})
        forms = {"csv": ["--columns", text], "tsv": ["--columns", text], "jsonl": [], "parquet": []}
        for number, (form, more) in enumerate([*forms.items(), ("parquet", ["--types", f"{text}=text"])]):
            file = str(tmp_path / f"{number}.{form}")
            hbtable(server, "export", f"named-{name.hex()}", "-o", file, *more)
            target = database.create_table(f"again-{name.hex()}-{number}", ["f"])
            hbtable(server, "import", f"again-{name.hex()}-{number}", file)
            assert list(target.scan()) == [(b"r", {name: b"v"})]
        target = database.create_table(f"again-{name.hex()}", ["f"])
        assert target.write_arrow(source.to_arrow({name: None}), "row") == 1
        assert list(target.scan()) == [(b"r", {name: b"v"})]


def test_a_typed_export_goes_on_when_the_value_is_right(server: WarmServer, tmp_path: Path) -> None:
    """What the other tablets gave is kept."""
    import pyarrow.parquet

    create(server, "mended")
    with contextlib.closing(happybase.Connection("127.0.0.1", server.port)) as connection:
        table = connection.table("mended")
        for number in range(12):
            table.put(b"k%02d" % number, {b"f:n": struct.pack(">q", number)})
        table.put(b"k11", {b"f:n": b"eleven"})

        def export(types: str) -> str:
            words = command(server, "export", "mended", "-o", str(tmp_path / "of.parquet"), "--types", types)
            return CliRunner().invoke(main, words[3:]).output

        assert "row b'k11' has the value b'eleven' in column b'f:n': it has 6 bytes, and int64 has 8" in export(
            "f:n=int64"
        )
        assert not (tmp_path / "of.parquet").exists()
        assert "had other --columns or --types; begin anew with --anew" in export("f:n=bytes")
        state = json.loads((tmp_path / "of.parquet.export").read_text())
        assert state["columns"] == ["--types", "f:n=int64"]
        table.put(b"k11", {b"f:n": struct.pack(">q", 11)})
        table.put(b"k00", {b"f:n": struct.pack(">q", 100)})  # was read already
        assert "exported 12 rows" in export("f:n=int64")
    found = pyarrow.parquet.read_table(tmp_path / "of.parquet").to_pylist()
    assert found == [{"row": b"k%02d" % number, "f:n": number} for number in range(12)]
    assert list(tmp_path.iterdir()) == [tmp_path / "of.parquet"]


def test_a_wide_parquet_file_and_bytes_that_are_not_text(server: WarmServer, tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    create(server, "wide")
    source = tmp_path / "wide.parquet"
    columns = {"HBASE_ROW_KEY": ["a", "b", "c"], "f:n": [1, None, 3], "f:b": [b"\xff\x00", b"x", None]}
    pyarrow.parquet.write_table(pyarrow.table(columns), source)
    hbtable(server, "import", "wide", str(source))
    latin = tmp_path / "latin.csv"
    latin.write_bytes(b"d,caf\xe9\n")
    hbtable(server, "import", "wide", str(latin), "--columns", "HBASE_ROW_KEY,f:b")
    connection = happybase.Connection("127.0.0.1", server.port)
    assert dict(connection.table("wide").scan()) == {
        b"a": {b"f:n": b"1", b"f:b": b"\xff\x00"},
        b"b": {b"f:b": b"x"},
        b"c": {b"f:n": b"3"},
        b"d": {b"f:b": b"caf\xe9"},
    }
    connection.close()
    damaged = tmp_path / "damaged.parquet"
    damaged.write_bytes(b"no parquet")
    done = run_warm(*command(server, "import", "wide", str(damaged))[3:])
    assert (done.returncode, "is no Parquet file" in done.stderr) == (1, True)


@pytest.mark.parametrize(("form", "separator"), [("csv", ","), ("tsv", "\t")])
def test_an_empty_value_is_no_field_of_its_own_and_that_is_counted(
    server: WarmServer, tmp_path: Path, form: str, separator: str
) -> None:
    cells = [("a", "f:n", ""), ("a", "f:m", "1"), ("b", "f:n", ""), ("c", "f:n", "2"), ("d", "f:x", "")]
    with hbtable_library.connect("127.0.0.1", server.port) as database:
        table = database.create_table(f"empty-{form}", ["f"])
        for row, column, value in cells:
            table.put(row, {column: value})
    file = tmp_path / f"of.{form}"
    said = hbtable(server, "export", f"empty-{form}", "-o", str(file), "--columns", "f:n,f:m")
    assert "exported 3 rows" in said
    assert "; 2 cells of an empty value are empty fields" in said
    fields = [line.split(separator) for line in file.read_text().splitlines()]
    assert fields == [["HBASE_ROW_KEY", "f:n", "f:m"], ["a", "", "1"], ["b", "", ""], ["c", "2", ""]]
    said = hbtable(server, "export", f"empty-{form}", "-o", str(tmp_path / "of.jsonl"))
    assert said.startswith("exported 4 rows"), said
    assert "empty" not in said


@pytest.mark.parametrize("form", ["csv", "tsv"])
def test_a_family_is_no_field(server: WarmServer, tmp_path: Path, form: str) -> None:
    asked = command(server, "export", "any", "-o", str(tmp_path / f"of.{form}"), "--columns", "f:a,f")
    refused = run_warm(*asked[3:])
    assert (refused.returncode, "f is a family: name its columns" in refused.stderr) == (1, True)
    assert list(tmp_path.iterdir()) == []
