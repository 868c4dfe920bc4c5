"""hbtable.dataflow beside a plain happybase scan and plain Python over it, cell by cell."""

import multiprocessing
import os
import pickle
import random
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hbtable
from hbtable import dataflow
from hbtable.dataflow import Split
from hbtable.model.cell import MAX_TIMESTAMP
from tests.harness.pickled_splits import PICKLED_BEFORE_NUMBERS
from tests.harness.server import ServerProcess
from tests.harness.server_processes import await_end, kill_servers, server_pids
from tests.harness.waiting import SOON_SECONDS, eventually

pytestmark = pytest.mark.integration

ROWS = 3000
Found = dict[bytes, dict[bytes, Any]]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """Two server processes, of which either may be killed, and a table of five tablets."""
    server = ServerProcess(tmp_path_factory.mktemp("dataflow") / "data", ["log.durability=os"])
    server.arguments = ["--servers", "2"]
    with server:
        with hbtable.connect("127.0.0.1", server.port) as db:
            stops = [f"r{number}" for number in (100, 150, 200, 350)]
            table = db.create_table("t", {"f": {"max_versions": 3}, "g": {}}, split_rows=stops)
            generator = random.Random(20)
            with table.batch(batch_size=500) as batch:
                for number in range(ROWS):
                    batch.put(f"r{number}", {"f:n": str(number), "g:x": generator.randbytes(20)})
        yield server


@pytest.fixture
def db(server: ServerProcess) -> Iterator[hbtable.Database]:
    with hbtable.connect("127.0.0.1", server.port) as db:
        yield db


def plain_scan(server: ServerProcess, name: str = "t", **arguments: Any) -> Found:
    """The oracle: happybase's own client."""
    connection = server.connect()
    try:
        return dict(connection.table(name).scan(**arguments))
    finally:
        connection.close()


def cells_of(split: Split) -> Found:
    return {row: data for batch in dataflow.read(split) for row, data in batch}


def together(parts: list[Found]) -> Found:
    """Of splits in their order; a row in two of them is an error."""
    rows = [row for part in parts for row in part]
    assert rows == sorted(set(rows))
    return {row: data for part in parts for row, data in part.items()}


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"row_prefix": b"r1"},
        {"row_start": b"r120", "row_stop": b"r4"},
        {"row_start": b"r1500"},
        {"row_stop": b"r1"},
        {"row_start": b"r200", "row_stop": b"r200"},
        {"columns": [b"f:n"]},
        {"columns": [b"g"], "filter": b"PrefixFilter('r2')"},
    ],
)
@pytest.mark.parametrize("at_least", [1, 12])
def test_the_splits_have_each_row_once(
    server: ServerProcess, db: hbtable.Database, arguments: dict[str, Any], at_least: int
) -> None:
    pieces = pickle.loads(pickle.dumps(dataflow.splits(db.table("t"), **arguments, at_least=at_least)))
    assert together([cells_of(split) for split in pieces]) == plain_scan(server, **arguments)
    if not arguments:
        assert len(pieces) == (5 if at_least == 1 else 15)
        assert {split.server.rpartition(":")[0] for split in pieces} == {"127.0.0.1"}


def test_other_processes_read_the_same(server: ServerProcess, db: hbtable.Database) -> None:
    pieces = dataflow.splits(db.table("t"))
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as processes:
        assert together(list(processes.map(cells_of, pieces))) == plain_scan(server)


def test_a_folder_that_is_open_here_is_read_in_other_processes(tmp_path: Path) -> None:
    with hbtable.open(tmp_path / "data") as db:
        table = db.create_table("t", ["f"], split_rows=["b", "c"])
        for row in ("a", "b", "c"):
            table.put(row, {"f:n": row})
        pieces = dataflow.splits(table)
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as processes:
            assert together(list(processes.map(cells_of, pieces))) == dict(table.scan())
            written = processes.submit(dataflow.write, dataflow.target(table), [[("d", {"f:n": "d"})]], 5)
            assert written.result() == 1
        assert table.row("d", include_timestamp=True) == {b"f:n": (b"d", 5)}


def test_all_tasks_read_as_of_one_time(server: ServerProcess, db: hbtable.Database) -> None:
    table = db.create_table("clock", {"f": {"max_versions": 10}})
    table.put("a", {"f:n": "1"}, timestamp=1000)
    table.put("a", {"f:n": "2"}, timestamp=2000)
    assert [cells_of(split) for split in dataflow.splits(table, timestamp=2000)] == [{b"a": {b"f:n": b"1"}}]
    two = dataflow.splits(table, timestamp=2001, versions=2)
    assert cells_of(two[0]) == {b"a": {b"f:n": [b"2", b"1"]}}
    now = dataflow.splits(table)
    table.put("a", {"f:n": "3"}, timestamp=now[0].timestamp)
    table.put("b", {"f:n": "3"}, timestamp=now[0].timestamp)
    assert cells_of(now[0]) == {b"a": {b"f:n": b"2"}}


def test_reading_goes_on_where_a_tablet_splits_and_each_server_is_killed(
    server: ServerProcess, db: hbtable.Database
) -> None:
    expected = plain_scan(server)
    (split,) = dataflow.splits(db.table("t"), row_start="r200", row_stop="r35")
    batches = dataflow.read(split, batch_rows=50)
    found = [*next(batches), *next(batches)]
    assert db.split_table("t", "r270")
    for pid in server_pids(server):
        kill_servers([pid])
        await_end([pid])
        found += next(batches)
        eventually(lambda: len(server_pids(server)) == 2, SOON_SECONDS, "another process to take its place")
    found += [row for batch in batches for row in batch]
    assert found == [(row, data) for row, data in sorted(expected.items()) if b"r200" <= row < b"r35"]


def test_arrow_goes_on_behind_its_last_row(server: ServerProcess, db: hbtable.Database) -> None:
    expected = plain_scan(server, columns=[b"f:n"])
    pieces = dataflow.splits(db.table("t"), {"f:n": pa.string()})
    found: list[tuple[bytes, str]] = []
    killed: list[int] = []
    for number, split in enumerate(pieces):
        for batch in dataflow.read_arrow(split, batch_rows=40):
            found += zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True)
            if number == 1 and not killed:
                eventually(lambda: len(server_pids(server)) == 2, SOON_SECONDS, "both servers")
                killed = server_pids(server)[:1]
                kill_servers(killed)
    assert found == [(row, data[b"f:n"].decode()) for row, data in sorted(expected.items())]
    assert sum(int(value) for _, value in found) == sum(range(ROWS))


def test_a_task_that_runs_twice_leaves_the_same_cells(server: ServerProcess, db: hbtable.Database) -> None:
    table = db.create_table("written", {"f": {"max_versions": 5}}, split_rows=["05"])
    batches = [[(f"{number:02}", {"f:n": str(number)}) for number in range(first, first + 5)] for first in (0, 5)]
    ended = threading.Event()

    def broken() -> Iterator[Any]:
        yield batches[0]
        ended.set()
        raise RuntimeError("the task dies")

    with pytest.raises(RuntimeError, match="the task dies"):
        dataflow.write(table, broken(), 1000)
    assert ended.is_set()
    for _ in range(2):
        assert dataflow.write(pickle.loads(pickle.dumps(dataflow.target(table))), batches, 1000) == 10
    found = dict(table.scan(versions=5, include_timestamp=True))
    assert found == {b"%02d" % number: {b"f:n": [(b"%d" % number, 1000)]} for number in range(10)}


def test_a_task_writes_on_while_servers_are_killed(server: ServerProcess, db: hbtable.Database) -> None:
    db.create_table("kept", {"f": {"max_versions": 5}}, split_rows=["5"])
    rows = {b"%06d" % (number * 7919 % 1_000_000): b"%d" % number for number in range(6000)}

    def batches() -> Iterator[list[tuple[bytes, dict[bytes, bytes]]]]:
        for number, (row, value) in enumerate(rows.items()):
            if number in (1500, 3500):
                eventually(lambda: len(server_pids(server)) == 2, SOON_SECONDS, "both servers")
                kill_servers(server_pids(server)[:1])
            yield [(row, {b"f:n": value})]

    assert dataflow.write(db.table("kept"), batches(), 77) == 6000
    found = {row: data[b"f:n"] for row, data in plain_scan(server, "kept").items()}
    assert found == rows
    assert all(db.table("kept").cells(row, "f:n", include_timestamp=True) == [(rows[row], 77)] for row in found)


def test_what_is_wrong_is_said_before_a_task_runs(db: hbtable.Database, tmp_path: Path) -> None:
    table = db.table("t")
    with pytest.raises(hbtable.NoSuchFamily, match="nothing"):
        dataflow.splits(table, ["nothing:x"])
    with pytest.raises(hbtable.TableNotFound, match="absent"):
        dataflow.splits(db.table("absent"))
    with pytest.raises(hbtable.BadFilter):
        dataflow.splits(table, filter="NoSuchFilter()")
    with pytest.raises(hbtable.WrongType, match="has to be an hbtable"):
        dataflow.splits(db)  # type: ignore[arg-type]
    with pytest.raises(hbtable.WrongType, match="one of splits"):
        dataflow.read("t")  # type: ignore[arg-type]
    with pytest.raises(hbtable.WrongType):
        dataflow.write("t", [], 5)  # type: ignore[arg-type]
    for wrong in (None, "5", -1, MAX_TIMESTAMP + 1):
        with pytest.raises((hbtable.InvalidRequest, TypeError)):
            dataflow.write(table, [[("a", {"f:a": "b"})]], wrong)  # type: ignore[arg-type]
    assert table.row("a") == {}
    with hbtable.open(":memory:") as memory, pytest.raises(hbtable.InvalidRequest, match="memory"):
        dataflow.splits(memory.create_table("t", ["f"]))


def test_a_split_of_a_dropped_table_says_so(db: hbtable.Database) -> None:
    table = db.create_table("dropped", ["f"])
    (split,) = dataflow.splits(table)
    db.delete_table("dropped", disable=True)
    with pytest.raises(hbtable.TableNotFound, match="it was there when this split of it was made"):
        list(dataflow.read(split))


def test_a_split_of_an_earlier_release_is_read(db: hbtable.Database) -> None:
    """It has no number of its table."""
    table = db.create_table("earlier", ["f"])
    table.put("b", {"f:n": "1"})
    (split,) = dataflow.splits(table)
    earlier: Split = pickle.loads(PICKLED_BEFORE_NUMBERS)
    earlier = replace(earlier, place=split.place, timestamp=split.timestamp)
    assert list(dataflow.read(earlier)) == [[(b"b", {b"f:n": b"1"})]]


def test_a_secret_stays_in_its_file(tmp_path: Path) -> None:
    """The split goes to tasks' machines and into logs: it has the file's name alone."""
    (tmp_path / "token").write_text("very secret")
    db = hbtable.connect(
        "127.0.0.1", 1, user="ann", secret=os.path.relpath(tmp_path / "token"), autoconnect=False, timeout=1000
    )
    to = dataflow.target(db.table("t"))
    assert (to.place.user, to.place.secret, to.place.timeout) == ("ann", str(tmp_path / "token"), 1000)
    assert "very secret" not in repr(to)
    assert b"very secret" not in pickle.dumps(to)


def test_after_its_time_a_task_gives_up(db: hbtable.Database) -> None:
    (split,) = dataflow.splits(db.table("t"), row_start="r9999")
    gone = Split(dataflow.Place("127.0.0.1", 1), split.table, b"", b"", split.timestamp)
    with pytest.raises(hbtable.Unavailable):
        list(dataflow.read(gone, retry_seconds=0.1))
