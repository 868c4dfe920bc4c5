"""The data folder, or its LOCK, is removed or replaced under a running server or an open database."""

import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from thriftpy2.thrift import TException

import hbtable
from hbtable.client.batch import Batch
from hbtable.errors import HbtableError, LockLost
from hbtable.launch.embedded import EmbeddedDatabase
from hbtable.launch.roles.watchdog import LOST
from hbtable.library.table import Table
from tests.harness.commands import LONG_SECONDS
from tests.harness.waiting import SOON_SECONDS, eventually
from tests.harness.warm_server import WarmServer
from tests.integration.test_library_wrong_values import DATABASE, ROWS, public


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
def test_a_server_ends_with_a_message_and_the_exit_code_of_a_lost_lock(tmp_path: Path, how: str) -> None:
    root = tmp_path / "data"
    with WarmServer(root) as server:
        connection = server.connect()
        connection.create_table("t", {"f": {}})
        table = connection.table("t")
        table.put(b"r", {b"f:q": b"v"})
        spoil(root, how)
        acknowledged = puts_until_refused(lambda row: table.put(row, {b"f:q": b"v"}))
        connection.close()
        assert server.process is not None
        assert server.process.wait(LONG_SECONDS) == LOST
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


def copy_over(source: Path, target: Path) -> None:
    """What target had stays the same file, with source's bytes and times."""
    subprocess.run(["cp", "-a", f"{source}/.", str(target)], check=True)


@pytest.mark.parametrize("taken", ["running", "before the last segment", "stopped"])
def test_a_server_ends_when_a_backup_is_copied_over_its_files(tmp_path: Path, taken: str) -> None:
    """`taken`: whether the server ran when the backup was made; with the same server, LOCK says the same."""
    root, backup = tmp_path / "data", tmp_path / "backup"
    if taken == "stopped":
        with hbtable.open(str(root)) as database:
            database.create_table("other", ["f"])
        copy_over(root, backup)
    with WarmServer(root, defines=["log.segment_bytes=20000"]) as server:
        connection = server.connect()
        connection.create_table("t", {"f": {}})
        connection.table("t").put(b"r", {b"f:q": b"v"})
        if taken != "stopped":
            copy_over(root, backup)
        for number in range(3 if taken == "before the last segment" else 1):
            connection.table("t").put(b"s%d" % number, {b"f:q": b"v" * 20000})
        connection.close()
        copy_over(backup, root)
        assert server.process is not None
        assert server.process.wait(LONG_SECONDS) == LOST
        assert "somebody wrote over its files" in server.errors.read_text()


def test_a_database_acknowledges_nothing_more_when_a_backup_is_copied_over_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hbtable.launch.folder_watch._LOOK_SECONDS", 3600.0)  # only the put can notice
    root, backup = tmp_path / "data", tmp_path / "backup"
    with hbtable.open(str(root)) as database:
        table = database.create_table("t", ["f"])
        copy_over(root, backup)
        table.put(b"r", {b"f:q": b"v"})
        copy_over(backup, root)
        with pytest.raises(LockLost, match="somebody wrote over its files"):
            table.put(b"s", {b"f:q": b"v"})


CAUSES = {"LOCK": "its file LOCK was removed or replaced", "moved": "it was moved or replaced"}
ASK_NOTHING = {
    (EmbeddedDatabase, "table"),
    (EmbeddedDatabase, "close"),
    (Table, "batch"),
    (Batch, "put"),
    (Batch, "delete"),
}
"""They make an object, or keep a change for later, without a call to the cluster."""


def calls(database: EmbeddedDatabase) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every public method of the library that asks the cluster."""
    table = database.table("t")
    batch = table.batch()
    batch.put(b"batched", {b"f:q": b"v"})
    targets: list[tuple[Any, dict[str, dict[str, Any]]]] = [(database, DATABASE), (table, ROWS), (batch, {"send": {}})]
    for target, arguments in targets:
        for method in public(type(target)):
            if (type(target), method) not in ASK_NOTHING:
                yield (
                    method,
                    lambda target=target, method=method, given=arguments: _all_of(
                        getattr(target, method)(**given[method])
                    ),
                )


def _all_of(answer: Any) -> Any:
    return list(answer) if isinstance(answer, Iterator) else answer


def refused(call: Callable[[], Any], root: Path, how: str) -> bool:
    """False when it answered; any other error than the right one is raised."""
    try:
        call()
    except LockLost as error:
        said = str(error)
    else:
        return False
    assert said.startswith(f"the data folder {root} is not this process's any more: {CAUSES[how]} while it was in use")
    assert "close this database, and start or open the folder that counts" in said
    return True


@pytest.mark.parametrize("how", ["LOCK", "moved"])
def test_every_call_of_a_lost_database_is_refused_with_the_cause(tmp_path: Path, how: str) -> None:
    root = tmp_path / "data"
    with hbtable.open(str(root)) as database:
        database.create_table("t", ["f"])
        spoil(root, how)
        eventually(lambda: refused(database.tables, root, how), SOON_SECONDS, "a refused call")
        assert [name for name, call in calls(database) if not refused(call, root, how)] == []


def test_no_read_is_answered_after_the_first_refused_put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hbtable.launch.folder_watch._LOOK_SECONDS", 3600.0)  # only the put can notice
    root = tmp_path / "data"
    with hbtable.open(str(root)) as database:
        table = database.create_table("t", ["f"])
        table.put(b"r", {b"f:q": b"v"})
        spoil(root, "moved")
        assert refused(lambda: table.put(b"s", {b"f:q": b"v"}), root, "moved")
        assert refused(lambda: table.row(b"r"), root, "moved")


def test_a_call_under_way_ends_when_the_folder_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "data"
    with hbtable.open(str(root)) as database:
        database.create_table("t", ["f"])
        begun = threading.Event()

        def never(name: bytes) -> None:
            begun.set()
            database._portal.runtime.event().wait()

        monkeypatch.setattr(database._cluster.client.admin, "flush", never)
        answers: list[bool] = []
        caller = threading.Thread(
            target=lambda: answers.append(refused(lambda: database.flush_table("t"), root, "moved")), daemon=True
        )
        caller.start()
        assert begun.wait(60)
        spoil(root, "moved")
        caller.join(60)
        assert answers == [True]


def test_a_lock_lost_otherwise_refuses_every_call_as_well(tmp_path: Path) -> None:
    with hbtable.open(str(tmp_path / "data")) as database:
        database.create_table("t", ["f"])
        database._portal.call(database._cluster.lost.set)
        for name, call in calls(database):
            with pytest.raises(LockLost, match="close this database, and open the folder again"):
                print(name, call())
