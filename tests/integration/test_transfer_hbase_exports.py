"""hbtable import of what a real HBase's Export wrote, into a real server."""

import base64
import json
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import hbtable
from tests.golden.make_hbase_exports import ARCHIVE, FAMILIES, MORTAL
from tests.harness.warm_commands import run_warm
from tests.harness.warm_server import WarmServer

pytestmark = pytest.mark.integration
Cell = tuple[bytes, bytes, int, bytes]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmServer]:
    with WarmServer(tmp_path_factory.mktemp("data") / "data") as running:
        yield running


@pytest.fixture
def exports(tmp_path: Path) -> Path:
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "hbase-exports"


def expected(exports: Path) -> list[Cell]:
    decoded = base64.b64decode
    found = json.loads((exports / "expected.json").read_text())
    return [(decoded(row), decoded(column), time, decoded(value)) for row, column, time, value in found]


def made(database: hbtable.Database, name: str) -> hbtable.Table:
    return database.create_table(name, {family: {"max_versions": many} for family, many in FAMILIES.items()})


def cells(table: hbtable.Table) -> list[Cell]:
    return [
        (row, column, time, value)
        for row, columns in table.scan()
        for column in sorted(columns)
        for value, time in table.cells(row, column, versions=10, include_timestamp=True)
    ]


def imported(server: WarmServer, *words: str, code: int = 0) -> str:
    done = run_warm("import", "--url", f"127.0.0.1:{server.port}", *words)
    assert (done.returncode, done.stdout) == (code, "")
    return done.stderr


@pytest.mark.parametrize("name", ["none", "snappy"])
def test_a_folder_comes_in_whole(server: WarmServer, exports: Path, name: str) -> None:
    with hbtable.connect("127.0.0.1", server.port) as database:
        table = made(database, name)
        assert imported(server, name, str(exports / name)).startswith("imported 103 rows in ")
        assert cells(table) == expected(exports)
        # A part alone is told by its beginning, and what is there already is written once more.
        assert imported(server, name, str(exports / name / "part-m-00000")).startswith("imported 69 rows in ")
        assert cells(table) == expected(exports)
    assert sorted(path.name for path in exports.iterdir() if path.suffix == ".import") == []


def test_cells_keep_their_times_to_live(server: WarmServer, exports: Path) -> None:
    with hbtable.connect("127.0.0.1", server.port) as database:
        made(database, "lives")
    imported(server, "lives", str(exports / "tags"))
    done = run_warm("export", "--url", f"127.0.0.1:{server.port}", "lives", "-o", str(exports / "out.jsonl"))
    assert done.returncode == 0, done.stderr
    records = [json.loads(line) for line in (exports / "out.jsonl").read_text().splitlines()]
    lives = {
        record["row"]: cell["ttl_millis"] for record in records for cell in record["cells"] if "ttl_millis" in cell
    }
    assert lives == {MORTAL[0].decode(): MORTAL[1]}


def test_damage_is_named_and_what_is_before_it_is_kept(server: WarmServer, exports: Path) -> None:
    folder = exports / "record"
    part = folder / "part-m-00001"
    sound = part.read_bytes()
    part.write_bytes(sound[:3000])
    with hbtable.connect("127.0.0.1", server.port) as database:
        table = made(database, "damaged")
        told = imported(server, "damaged", str(folder), code=1)
        assert f"{part} ends at byte 3,000, and .{part.name}.crc has checksums of more" in told or "is damaged" in told
        assert cells(table) == []
        part.with_name(f".{part.name}.crc").unlink()
        told = imported(server, "damaged", str(folder), code=1)
        assert f"{part}, byte " in told
        assert "and the file has" in told
        before = cells(table)
        assert before == [cell for cell in expected(exports) if cell[0] <= before[-1][0]]
        assert len(before) > 500
        part.write_bytes(sound)
        told = imported(server, "damaged", str(folder), code=1)
        assert "was left by a run that read a file of another size" in told
        assert imported(server, "damaged", str(folder), "--anew").startswith("imported 103 rows")
        assert cells(table) == expected(exports)


def test_it_goes_on_where_it_stopped(server: WarmServer, exports: Path) -> None:
    """A family that is missing stops it; the rows before it are not read into the table again."""
    folder = exports / "deletes"
    with hbtable.connect("127.0.0.1", server.port) as database:
        table = made(database, "resumed")
        told = imported(server, "resumed", str(folder), "--batch", "1", "--workers", "1", code=1)
        assert "a cell of type" in told
        count = len({cell[0] for cell in cells(table)})
        assert count > 10
        told = imported(server, "resumed", str(folder), "--skip-bad", "1", "--errors", str(exports / "bad.jsonl"))
        assert told.startswith("imported 102 rows")
        assert "1 bad records skipped" in told
        assert [cell for cell in cells(table) if cell in expected(exports)] == [
            cell for cell in expected(exports) if cell[0] != b"row0001"
        ]
    [kept] = (exports / "bad.jsonl").read_text().splitlines()
    assert json.loads(kept)["file"] == str(folder / "part-m-00000")
    assert "row row0001 has in column f:a a cell of type" in (exports / "bad.jsonl.why").read_text()


def test_a_folder_is_named_as_it_lies(server: WarmServer, exports: Path) -> None:
    told = imported(server, "t", str(exports / "none"), "--format", "jsonl", code=2)
    assert "is a folder, and jsonl is a file: name the file" in told
    shutil.copy(exports / "none" / "part-m-00000", exports / "x.seq")
    told = imported(server, "t", str(exports / "x.seq"), "--columns", "HBASE_ROW_KEY,f:a", code=1)
    assert "there is no table" in told.lower() or "unknown table" in told.lower(), told
