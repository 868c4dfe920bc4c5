"""`hbtable repair`: a damaged folder is whole again, nothing was deleted, and what was lost is told."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import hbtable
from tests.harness.warm_commands import run_warm as run

pytestmark = pytest.mark.integration

ROWS = 300
Damage = Callable[[Path], None]


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tables, several tablets and SSTables, stopped in order."""
    folder = tmp_path_factory.mktemp("repair") / "data"
    with hbtable.open(str(folder)) as database:
        families = {"f": {"max_versions": 1, "compression": "SNAPPY"}, "g": {"locality_group": "g"}}
        table = database.create_table("t", families, split_rows=[b"0150"])
        for number in range(ROWS):
            table.put(b"%04d" % number, {b"f:a": b"v%d" % number * 20, b"g:b": b"w"})
        database.compact_table("t", major=True)
        table.delete(b"0007")
        database.create_table("u", ["f"]).put(b"one", {b"f:a": b"only"})
    return folder


@pytest.fixture
def folder(stopped: Path, tmp_path: Path) -> Path:
    """A copy to damage."""
    shutil.copytree(stopped, tmp_path / "data")
    return tmp_path / "data"


def check_everything_is_there(folder: Path) -> None:
    """And that the store takes writes, and makes tables."""
    with hbtable.open(str(folder)) as database:
        assert database.tables() == [b"t", b"u"]
        found = dict(database.table("t").scan())
        expected = {
            b"%04d" % number: {b"f:a": b"v%d" % number * 20, b"g:b": b"w"} for number in range(ROWS) if number != 7
        }
        assert found == expected
        assert dict(database.table("u").scan()) == {b"one": {b"f:a": b"only"}}
        database.table("t").put(b"new", {b"f:a": b"x"})
        database.create_table("later", ["f"]).put(b"r", {b"f:a": b"y"})
        database.compact_table("t", major=True)
        assert database.table("t").row(b"new") == {b"f:a": b"x"}


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0x10
    path.write_bytes(content)


def lose(*names: str) -> Damage:
    def damage(folder: Path) -> None:
        for name in names:
            path = folder / name
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    return damage


def make_a_folder(*names: str) -> Damage:
    def damage(folder: Path) -> None:
        for name in names:
            lose(name)(folder)
            (folder / name / "inside").mkdir(parents=True)

    return damage


def make_a_file(*names: str) -> Damage:
    def damage(folder: Path) -> None:
        for name in names:
            lose(name)(folder)
            (folder / name).write_text("something else")

    return damage


NOTHING_LOST: dict[str, Damage] = {
    "the lock service and METADATA": lose("lockservice", "metadata", "sstables/00000000"),
    "the lock service, METADATA and the logs": lose("lockservice", "metadata", "sstables/00000000", "logs"),
    "the lock service": lose("lockservice"),
    "METADATA": lose("sstables/00000000"),
    "the root record": lambda folder: flip(folder / "lockservice/files/root-tablet"),
    "the root record and its copy": lose("lockservice/files/root-tablet", "metadata"),
    "numbers of locks": lambda folder: flip(folder / "lockservice/epochs"),
    "FORMAT": lose("FORMAT"),
    "FORMAT's text": lambda folder: flip(folder / "FORMAT"),
    "folders where files belong": make_a_folder("FORMAT", "LOCK", "cluster", "lockservice/files/incarnations"),
    "files where folders belong": make_a_file("metadata", "sstables/00000000", "unfinished"),
}


@pytest.mark.parametrize("what", NOTHING_LOST)
def test_what_the_files_tell_of_comes_back(folder: Path, what: str) -> None:
    NOTHING_LOST[what](folder)
    assert run("check", str(folder)).returncode in (1, 2)
    done = run("repair", str(folder))
    print(done.stdout, done.stderr)
    assert (done.returncode, done.stderr) == (0, "")
    done = run("check", str(folder))
    assert (done.returncode, done.stderr) == (0, "")
    check_everything_is_there(folder)


@pytest.mark.parametrize("damaged", [(), ("FORMAT",), ("FORMAT", "LOCK")])
def test_a_dry_run_says_the_same_and_changes_nothing(folder: Path, damaged: tuple[str, ...]) -> None:
    lose("lockservice", *damaged)(folder)
    before = everything(folder)
    done = run("repair", "--dry-run", str(folder))
    assert (done.returncode, done.stderr) == (0, "")
    assert "would be done: the root tablet's record was taken from its copy" in done.stdout
    assert ("would be done: FORMAT was written anew: " in done.stdout) == ("FORMAT" in damaged)
    assert run("check", str(folder)).returncode == 2
    assert everything(folder) == before


def everything(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")}


def test_a_damaged_block_costs_its_rows_and_no_others(folder: Path, tmp_path: Path) -> None:
    victim = max((folder / "sstables").glob("*/*.sst"), key=lambda path: path.stat().st_size)
    content = victim.read_bytes()
    shutil.rmtree(folder / "trash", ignore_errors=True)  # what it was made from would take its place
    flip(victim)
    damaged = victim.read_bytes()
    done = run("repair", str(folder), "--backup", str(tmp_path / "kept"))
    assert done.returncode == 1
    lost = [line for line in done.stderr.splitlines() if line.startswith("LOST: table t, row")]
    assert len(lost) == 1
    (kept,) = (tmp_path / "kept").glob(f"*/{victim.relative_to(folder)}")
    assert kept.read_bytes() == damaged != content
    copies = [tmp_path / "kept", *(tmp_path / "kept").rglob("*")]
    assert [path for path in copies if path.stat().st_mode & 0o077] == []
    assert run("check", str(folder)).returncode == 0
    with hbtable.open(str(folder)) as database:
        found = dict(database.table("t").scan())
        assert len(found) >= ROWS // 2  # the other tablet's rows, at least
        assert dict(database.table("u").scan()) == {b"one": {b"f:a": b"only"}}


def test_a_sound_folder_is_left_alone(folder: Path) -> None:
    done = run("repair", str(folder))
    assert (done.returncode, done.stdout.splitlines(), done.stderr) == (0, ["nothing is to be repaired"], "")
    assert not list(folder.glob("repair-backup-*"))


def test_what_is_in_use_or_no_data_folder_is_not_touched(folder: Path, tmp_path: Path) -> None:
    with hbtable.open(str(folder)):
        for more in ((), ("--dry-run",)):
            done = run("repair", *more, str(folder))
            assert done.returncode == 1
            assert "is in use" in done.stderr
    (tmp_path / "thesis").mkdir()
    done = run("repair", str(tmp_path / "thesis"))
    assert done.returncode == 1
    assert "is no hbtable data folder" in done.stderr


_KILLED_AT_ITS_END = """
import os, sys
from hbtable.launch.cli.repair import repair_folder
from hbtable.repair.backup import Backup
Backup.end = lambda self: os._exit(9)
repair_folder(sys.argv[1], False, sys.argv[2] or None)
"""


@pytest.mark.parametrize("outside", [False, True])
def test_a_repair_that_was_interrupted_is_taken_back_first(folder: Path, tmp_path: Path, outside: bool) -> None:
    flip(folder / "lockservice/files/root-tablet")
    kept = str(tmp_path / "kept") if outside else ""
    killed = subprocess.run([sys.executable, "-c", _KILLED_AT_ITS_END, str(folder), kept], timeout=300, check=False)
    assert killed.returncode == 9
    more = ("--backup", kept) if outside else ()
    done = run("repair", "--dry-run", *more, str(folder))
    assert done.returncode == 1
    assert "was interrupted: without --dry-run it is taken back first" in done.stderr
    done = run("repair", *more, str(folder))
    assert done.returncode == 0, done.stderr
    assert "was interrupted and was taken back first" in done.stdout
    assert run("check", str(folder)).returncode == 0
    check_everything_is_there(folder)


def test_an_interrupted_repair_takes_nothing_back_from_a_server_that_served_since(folder: Path) -> None:
    """What it kept is old by then."""
    flip(folder / "lockservice/files/root-tablet")
    killed = subprocess.run([sys.executable, "-c", _KILLED_AT_ITS_END, str(folder), ""], timeout=300, check=False)
    assert killed.returncode == 9
    with hbtable.open(str(folder)) as database:
        database.table("u").put(b"since", {b"f:a": b"1"})
    done = run("repair", str(folder))
    assert done.returncode == 0, done.stderr
    with hbtable.open(str(folder)) as database:
        assert dict(database.table("u").scan()) == {b"one": {b"f:a": b"only"}, b"since": {b"f:a": b"1"}}
