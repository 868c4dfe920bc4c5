"""`hbtable repair --withhold`: nobody serves that tablet, all else is served, and `--release` is the way back."""

import shutil
from pathlib import Path

import pytest

import hbtable
from hbtable.errors import TabletWithheld
from tests.harness.warm_commands import run_warm as run
from tests.integration.test_repair import everything, flip

pytestmark = pytest.mark.integration


def tablet_ids(folder: Path) -> list[int]:
    with hbtable.open(str(folder)) as database:
        return [tablet.tablet_id for tablet in database.tablets("t")]


def files_of(folder: Path) -> dict[Path, bytes]:
    return {path: content for path, content in everything(folder).items() if path.is_file()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Table t has two tablets, with an SSTable and log records each."""
    folder = tmp_path / "data"
    with hbtable.open(str(folder)) as database:
        table = database.create_table("t", ["f"], split_rows=[b"m"])
        for row in (b"a", b"z"):
            table.put(row, {b"f:q": row * 100})
        database.flush_table("t")
        for row in (b"b", b"y"):
            table.put(row, {b"f:q": row * 100})
        database.create_table("u", ["f"]).put(b"one", {b"f:a": b"only"})
    return folder


ROWS = {row: {b"f:q": row * 100} for row in (b"a", b"b", b"y", b"z")}


def test_everything_else_is_served_and_the_way_back_gives_all_of_it(folder: Path) -> None:
    _, last = tablet_ids(folder)
    before = everything(folder)
    done = run("repair", str(folder), "--withhold", str(last), "--dry-run")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"would be done: tablet {last} of table t is withheld: nobody serves its rows" in done.stdout
    assert everything(folder) == before
    assert run("repair", str(folder), "--withhold", str(last)).returncode == 0

    found = run("check", str(folder))
    assert found.returncode == 1
    assert f"tablet {last} was withheld by an operator" in found.stderr
    assert f"`hbtable repair --release {last}` on the stopped folder mends it" in found.stderr
    with hbtable.open(str(folder)) as database:
        table = database.table("t")
        assert table.row(b"a") == ROWS[b"a"]
        table.put(b"c", {b"f:q": b"new"})
        assert dict(database.table("u").scan()) == {b"one": {b"f:a": b"only"}}
        for refused in (lambda: table.row(b"z"), lambda: table.put(b"zz", {b"f:q": b"1"})):
            with pytest.raises(TabletWithheld, match=rf"^tablet {last} of table t, rows from b'm' on, was withheld"):
                refused()
        database.compact_table("u", major=True)

    again = run("repair", str(folder))
    assert (again.returncode, again.stdout) == (0, "nothing is to be repaired\n")
    assert f"NOTE: tablet {last} was withheld by an operator" in again.stderr
    done = run("repair", str(folder), "--release", str(last))
    assert (done.returncode, done.stderr) == (0, "")
    assert run("check", str(folder)).returncode == 0
    with hbtable.open(str(folder)) as database:
        assert dict(database.table("t").scan()) == {**ROWS, b"c": {b"f:q": b"new"}}


def test_a_repair_leaves_the_damage_of_a_withheld_tablet_until_it_is_released(folder: Path, tmp_path: Path) -> None:
    """So that its file can be restored from a backup first."""
    first, last = tablet_ids(folder)
    table_t = folder / "sstables/00000010"
    files = sorted(table_t.glob("*.sst"))
    whole = {path: path.read_bytes() for path in files}
    for path in files:
        flip(path)
    damaged = {path: path.read_bytes() for path in files}
    done = run("repair", str(folder), "--withhold", str(last), "--withhold", str(first))
    assert done.returncode == 0, done.stderr
    assert {path: path.read_bytes() for path in files} == damaged
    for path in damaged:
        path.write_bytes(whole[path])
    done = run("repair", str(folder), "--release", str(last), "--release", str(first))
    assert (done.returncode, done.stderr) == (0, "")
    with hbtable.open(str(folder)) as database:
        assert dict(database.table("t").scan()) == ROWS


def test_a_released_tablet_is_mended_in_the_same_run(folder: Path) -> None:
    _, last = tablet_ids(folder)
    assert run("repair", str(folder), "--withhold", str(last)).returncode == 0
    shutil.rmtree(folder / "sstables/00000010")
    done = run("repair", str(folder))
    assert done.returncode == 1  # the other tablet's file is lost
    assert run("check", str(folder)).returncode == 1
    done = run("repair", str(folder), "--release", str(last))
    assert done.returncode == 1
    assert "LOST: table t, rows from b'm' on" in done.stderr
    assert run("check", str(folder)).returncode == 0


def test_metadata_made_anew_keeps_a_tablet_withheld(folder: Path) -> None:
    _, last = tablet_ids(folder)
    assert run("repair", str(folder), "--withhold", str(last)).returncode == 0
    for log in (folder / "logs").glob("*/*.log"):
        log.unlink()
    shutil.rmtree(folder / "lockservice")
    run("repair", str(folder))
    with hbtable.open(str(folder)) as database, pytest.raises(TabletWithheld):
        database.table("t").row(b"z")


def test_what_cannot_be_withheld_is_told_and_changes_nothing(folder: Path) -> None:
    _, last = tablet_ids(folder)
    before = files_of(folder)
    for more, message in (
        (("--withhold", "99999"), "METADATA names no tablet 99999 of a table"),
        (("--withhold", "2"), "METADATA names no tablet 2 of a table"),
        (("--release", str(last)), f"tablet {last} is not withheld"),
        (("--withhold", str(last), "--release", str(last)), "cannot be withheld and released at once"),
    ):
        done = run("repair", str(folder), *more)
        assert done.returncode == 1
        assert message in done.stderr
    assert files_of(folder) == before
    assert run("repair", str(folder), "--withhold", str(last)).returncode == 0
    assert "is withheld already" in run("repair", str(folder), "--withhold", str(last)).stderr
