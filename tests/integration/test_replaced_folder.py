"""The data folder, or its LOCK, is removed or replaced under a running server or an open database."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from thriftpy2.thrift import TException

import hbtable
from hbtable.errors import HbtableError
from hbtable.launch.lifeline import LOST
from tests.harness.server import ServerProcess


def spoil(root: Path, how: str) -> None:
    if how == "LOCK":
        (root / "LOCK").unlink()
        return
    root.rename(root.with_name("moved"))
    if how == "replaced":
        shutil.copytree(root.with_name("moved"), root)


def puts_until_refused(put: Callable[[bytes], None]) -> int:
    """How many were acknowledged."""
    deadline = time.monotonic() + 60
    acknowledged = 0
    while time.monotonic() < deadline:
        try:
            put(b"late%d" % acknowledged)
        except (OSError, HbtableError, TException):
            return acknowledged
        acknowledged += 1
    raise AssertionError("puts were acknowledged for a minute after the folder was lost")


@pytest.mark.parametrize("how", ["LOCK", "moved", "replaced"])
def test_a_server_ends_with_a_sentence_and_the_exit_code_of_a_lost_lock(tmp_path: Path, how: str) -> None:
    root = tmp_path / "data"
    with ServerProcess(root) as server:
        connection = server.connect()
        connection.create_table("t", {"f": {}})
        table = connection.table("t")
        table.put(b"r", {b"f:q": b"v"})
        spoil(root, how)
        acknowledged = puts_until_refused(lambda row: table.put(row, {b"f:q": b"v"}))
        connection.close()
        assert server.process is not None
        assert server.process.wait(60) == LOST
        assert "is not this process's any more" in server.errors.read_text()
    with hbtable.open(str(root.with_name("moved") if how == "moved" else root)) as database:
        rows = dict(database.table("t").scan())
        assert {b"r"} | {b"late%d" % number for number in range(acknowledged)} <= rows.keys()


@pytest.mark.parametrize("how", ["LOCK", "moved", "replaced"])
def test_an_open_database_acknowledges_nothing_more_and_its_successor_has_all(tmp_path: Path, how: str) -> None:
    root = tmp_path / "data"
    with hbtable.open(str(root)) as database:
        table = database.create_table("t", ["f"])
        table.put(b"r", {b"f:q": b"v"})
        spoil(root, how)
        acknowledged = puts_until_refused(lambda row: table.put(row, {b"f:q": b"v"}))
    if how != "LOCK":
        assert not acknowledged, "its log is in the folder that was moved away"
    with hbtable.open(str(root.with_name("moved") if how == "moved" else root)) as database:
        rows = dict(database.table("t").scan())
        assert b"r" in rows
        assert {b"late%d" % number for number in range(acknowledged)} <= rows.keys()
