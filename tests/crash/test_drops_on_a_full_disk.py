"""A table goes in one call on a disk that is full: what disables it first has no room to flush it, and goes on."""

import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

import hbtable
from tests.harness.server import ServerProcess
from tests.harness.warm_commands import run_warm
from tests.harness.warm_server import WarmServer

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("quiet")]  # each failure is logged

CHANGES: dict[str, Callable[[hbtable.Database, str], None]] = {
    "drop": lambda db, name: db.delete_table(name, disable=True),
    "truncate": lambda db, name: db.truncate_table(name, disable=True),
}


def fill(db: hbtable.Database) -> None:
    """The disk, with two tables that are all in memory and in the log."""
    chance = random.Random(1)
    for name in ("kept", "other"):
        db.create_table(name, ["f"])
    db.table("kept").put("row", {"f:": "kept"})
    with suppress(hbtable.OutOfSpace):
        for number in range(10_000):
            db.table("other").put(f"{number:05}", {"f:": chance.randbytes(50_000)})
        raise AssertionError("the disk has room for 500 MB")


def look(db: hbtable.Database, change: str) -> None:
    assert db.tables() == ([b"kept"] if change == "drop" else [b"kept", b"other"])
    if change == "truncate":
        assert list(db.table("other").scan()) == []
        assert db.is_table_enabled("other")
    assert db.table("kept").row("row") == {b"f:": b"kept"}


@pytest.mark.parametrize("change", CHANGES)
def test_one_call_of_an_open_database_takes_a_table_away(change: str, small_disk: Path) -> None:
    folder = str(small_disk / "data")
    with hbtable.open(folder, durability="os") as db:
        fill(db)
        CHANGES[change](db, "other")
        look(db, change)
    with hbtable.open(folder) as db:
        look(db, change)


@pytest.fixture
def server(small_disk: Path) -> "ServerProcess":
    return WarmServer(small_disk / "data", ["log.durability=os"])


@pytest.mark.parametrize("change", CHANGES)
def test_one_call_of_a_connection_takes_a_table_away(change: str, server: ServerProcess) -> None:
    with server, hbtable.connect("127.0.0.1", server.port) as db:
        fill(db)
        CHANGES[change](db, "other")
        look(db, change)


def test_the_shell_truncates_in_one_command(server: ServerProcess) -> None:
    with server, hbtable.connect("127.0.0.1", server.port) as db:
        fill(db)
        done = run_warm("shell", "--url", f"127.0.0.1:{server.port}", "-n", "-e", "truncate 'other'")
        assert (done.returncode, done.stderr) == (0, "")
        look(db, "truncate")
