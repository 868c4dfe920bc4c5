"""A folder that this process has open already is opened again: another handle on the same database."""

import gc
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import hbtable
from hbtable.launch import shared_database
from tests.harness.commands import run_python
from tests.harness.kept_objects import check_keeps_none
from tests.harness.waiting import SOON_SECONDS, eventually

pytestmark = pytest.mark.integration

ROW = {b"f:q": b"v"}


@pytest.fixture
def path(tmp_path: Path) -> Iterator[str]:
    """Of a folder that no database is left in."""
    path = str(tmp_path / "data")
    with hbtable.open(path, durability="os") as database:
        database.create_table("t", ["f"]).put(b"r", ROW)
    yield path
    gc.collect()
    eventually(lambda: Path(path, "LOCK").read_text() == "", SOON_SECONDS, "nobody holds the folder")


def test_a_cell_of_a_notebook_is_run_again(path: str) -> None:
    cell = compile(f"db = hbtable.open({path!r})\ntable = db.table('t')\nrow = table.row(b'r')", "cell", "exec")
    notebook: dict[str, Any] = {"hbtable": hbtable}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        for _ in range(3):
            exec(cell, notebook)
            assert notebook.pop("row") == ROW
    notebook["db"].close()


def test_each_handle_ends_alone_and_the_last_one_ends_the_database(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    link = Path(path).with_name("link")
    link.symlink_to(path)
    monkeypatch.chdir(link.parent)
    ways: list[Any] = [path, "data", "./x/../data/", b"data", Path("link"), link]
    handles = [hbtable.open(way) for way in ways]
    tables = [handle.table("t") for handle in handles]
    tables[0].put(b"all", ROW)
    while handles:
        assert [table.row(b"all") for table in tables] == [ROW] * len(tables)
        handle, table = handles.pop(0), tables.pop(0)
        handle.close()
        handle.close()
        assert "closed" in repr(handle)
        assert (Path(path, "LOCK").read_text() == "") == (not handles), "freed with the last handle, and not before"
        for use in (handle.tables, lambda table=table: table.row(b"r"), lambda table=table: table.put(b"late", ROW)):
            with pytest.raises(hbtable.Unavailable, match=r"closed: open it again"):
                use()
    with hbtable.open(path) as again:
        assert [row for row, _ in again.table("t").scan()] == [b"all", b"r"]


def test_readers_share_it_whatever_durability_they_name(path: str) -> None:
    with hbtable.open(path, read_only=True) as first:
        with hbtable.open(path, read_only=True, durability="os") as second:
            assert first.table("t").row(b"r") == second.table("t").row(b"r") == ROW
        assert first.table("t").row(b"r") == ROW


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ({}, {"durability": "os"}, ("durability='sync', read_only=False", "durability='os', read_only=False")),
        ({"durability": "os"}, {}, ("durability='os', read_only=False", "durability='sync', read_only=False")),
        ({}, {"read_only": True}, ("durability='sync', read_only=False", "read_only=True")),
        ({"read_only": True}, {}, ("read_only=True", "durability='sync', read_only=False")),
    ],
)
def test_other_settings_are_refused(
    path: str, first: dict[str, Any], second: dict[str, Any], said: tuple[str, str]
) -> None:
    with hbtable.open(path, **first) as database:
        with pytest.raises(hbtable.AlreadyExists) as refused:
            hbtable.open(path, **second)
        assert str(refused.value) == (
            f"the data folder {path} is in use by this process, which opened it with {said[0]}: it cannot be opened "
            f"with {said[1]} as well; close the first database, or open this one with the same settings"
        )
        assert database.table("t").row(b"r") == ROW
    with hbtable.open(path, **second) as database:
        assert database.table("t").row(b"r") == ROW


def test_what_nobody_refers_to_is_closed_before_others_settings_are_refused(path: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        knot: list[Any] = [hbtable.open(path)]
        knot.append(knot)
        del knot  # only the garbage collector finds it
        with hbtable.open(path, durability="os") as database:
            assert database.table("t").row(b"r") == ROW


def test_what_nobody_refers_to_is_closed_also_where_warnings_are_errors(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    raised: list[str] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: raised.append(str(unraisable.exc_value)))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        hbtable.open(path)
        gc.collect()
    assert raised == [f"<hbtable database {path}> was left open: call close()"]
    with hbtable.open(path, durability="os") as database:
        assert database.table("t").row(b"r") == ROW


def test_threads_open_at_once_and_close_at_will(path: str) -> None:
    together = threading.Barrier(8)

    def work(name: int) -> int:
        together.wait(60)
        for turn in range(4):
            with hbtable.open(path, durability="os") as database:
                table = database.table("t")
                table.put(b"%d-%d" % (name, turn), ROW)
                assert table.row(b"%d-%d" % (name, turn)) == ROW
        return name

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(8))) == list(range(8))
    with hbtable.open(path) as database:
        assert len(list(database.table("t").scan())) == 1 + 8 * 4


def test_an_open_during_the_last_close_waits_for_it(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first = hbtable.open(path)
    is_closing, second_began = threading.Event(), threading.Event()
    free_folder, found_or_taken = first._shared._storage.close, shared_database._found_or_taken  # type: ignore[union-attr]

    def close_late() -> None:
        is_closing.set()
        assert second_began.wait(60)
        free_folder()

    def found(*arguments: Any) -> Any:
        second_began.set()
        return found_or_taken(*arguments)

    monkeypatch.setattr(first._shared._storage, "close", close_late)  # type: ignore[union-attr]
    with ThreadPoolExecutor(2) as pool:
        closed = pool.submit(first.close)
        assert is_closing.wait(60)
        monkeypatch.setattr(shared_database, "_found_or_taken", found)
        with pool.submit(hbtable.open, path).result(60) as second:
            closed.result(60)
            assert second.table("t").row(b"r") == ROW


def test_a_first_open_that_fails_leaves_the_second_its_turn(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, waiting = threading.Event(), threading.Event()
    portal = shared_database.Portal

    def fails_once() -> Any:
        if begun.is_set():
            return portal()
        begun.set()
        assert waiting.wait(60)
        raise MemoryError

    class Event(shared_database.NativeEvent):  # type: ignore[misc]  # final: only for this test
        def wait(self) -> None:
            waiting.set()
            super().wait()

    monkeypatch.setattr(shared_database, "Portal", fails_once)
    monkeypatch.setattr(shared_database, "NativeEvent", Event)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(hbtable.open, path)
        assert begun.wait(60)
        second = pool.submit(hbtable.open, path)
        with pytest.raises(MemoryError):
            first.result(60)
        with second.result(60) as database:
            assert database.table("t").row(b"r") == ROW


@pytest.mark.parametrize("where", ["storage_at", "SharedDatabase", "Portal"])
def test_what_interrupts_an_open_is_told_and_does_not_wait_for_ever(
    where: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted = getattr(shared_database, where)

    def with_a_handler(*arguments: Any) -> Any:
        """As by a signal handler, which runs in the thread that opens."""
        answer = interrupted(*arguments)
        with pytest.raises(hbtable.AlreadyExists, match="just being opened by this thread"):
            hbtable.open(path)
        return answer

    monkeypatch.setattr(shared_database, where, with_a_handler)
    with hbtable.open(path) as database:
        assert database.table("t").row(b"r") == ROW


def refused(call: Callable[[], object]) -> bool:
    try:
        call()
    except hbtable.LockLost as error:
        return "it was moved or replaced" in str(error)
    return False


def test_another_folder_at_the_path_is_another_database(path: str) -> None:
    moved = Path(path).with_name("moved")
    with hbtable.open(path) as lost:
        Path(path).rename(moved)
        with hbtable.open(path) as new:
            assert new.tables() == []
            eventually(lambda: refused(lost.tables), SOON_SECONDS, "the loss is noticed")
            with pytest.raises(hbtable.LockLost, match="close this database"):
                hbtable.open(str(moved))
            new.create_table("u", ["f"])
            assert new.tables() == [b"u"]
    with hbtable.open(str(moved)) as database:
        assert database.table("t").row(b"r") == ROW


def test_a_lost_database_gets_no_further_handle(path: str) -> None:
    with hbtable.open(path) as database:
        Path(path, "LOCK").unlink()
        with pytest.raises(hbtable.LockLost, match=r"its file LOCK was removed.*close this database"):
            hbtable.open(path)
        database.close()
    with hbtable.open(path) as database:
        assert database.table("t").row(b"r") == ROW


def test_many_handles_keep_no_object(path: str) -> None:
    def opened() -> None:
        with hbtable.open(path) as first, hbtable.open(path) as second:
            first.table("t").put(b"r", ROW)
            assert second.table("t").row(b"r") == ROW

    check_keeps_none(opened)


PROGRAMS = {
    "a child has none of its parent's handles": """\
import os, warnings
import hbtable
warnings.simplefilter("ignore")  # Python 3.12 warns of any fork in a program with threads
first, second = hbtable.open(DATA), hbtable.open(DATA)
child = os.fork()
if child == 0:
    first.close()
    del second
    try:
        hbtable.open(DATA)
    except hbtable.AlreadyExists as error:
        assert f"in use by process {os.getppid()}" in str(error), error
        os._exit(5)
    os._exit(1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
first.close()
assert second.table("t").row(b"r") == {b"f:q": b"v"}
""",
    "handles that are left open": """\
import hbtable
first, second = hbtable.open(DATA), hbtable.open(DATA)
first.table("t").put(b"late", {b"f:q": b"v"})
second.close()
""",
    "greenlets open at once": """\
from gevent import monkey; monkey.patch_all()
import gevent, hbtable
def work(number):
    with hbtable.open(DATA) as database:
        database.table("t").put(b"%d" % number, {b"f:q": b"v"})
gevent.joinall([gevent.spawn(work, number) for number in range(8)], raise_error=True)
with hbtable.open(DATA) as database:
    assert len(list(database.table("t").scan())) == 9
""",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_in_a_program(program: str, path: str, tmp_path: Path) -> None:
    done = run_python(PROGRAMS[program].replace("DATA", repr(path)), str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    with hbtable.open(path) as database:
        assert database.table("t").row(b"r") == ROW
