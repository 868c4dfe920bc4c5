"""hbtable.open() in programs that do not keep to `with`: finalizers, exits, signal handlers, threads, notebooks."""

import gc
import signal
import threading
import time
import warnings
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hbtable
from tests.harness.commands import run_python
from tests.harness.kept_objects import check_keeps_none

pytestmark = pytest.mark.integration

ENDS = {
    "a finalizer closes": """
class Holder:
    def __init__(self):
        self.database = database
    def __del__(self):
        self.database.close()
holder = Holder()
holder.myself = holder
print('done')
""",
    "an open scan": "scan = table.scan(batch_size=1)\nnext(scan)\nprint('done')\n",
    "nothing closes": "print('done')\n",
    "threads go on": """
import threading
def work():
    try:
        while True:
            table.put(b'thread', {b'f:q': b'v'})
    except hbtable.Unavailable:
        pass
threading.Thread(target=work, daemon=True).start()
print('done')
""",
    "atexit uses it": "import atexit\natexit.register(lambda: print(table.row(b'r') and 'done'))\n",
    "a finalizer uses it": """
class Last:
    def __del__(self):
        try:
            table.put(b'last', {b'f:q': b'v'})
        except hbtable.Unavailable:
            pass
last = Last()
last.myself = last
print('done')
""",
}


@pytest.mark.parametrize("end", ENDS)
def test_a_program_ends_and_all_is_there(end: str, tmp_path: Path) -> None:
    path = tmp_path / "data"
    program = (
        f"import hbtable, sys\ndatabase = hbtable.open({str(path)!r}, durability='os')\n"
        "table = database.create_table('t', ['f'])\n"
        "for number in range(100):\n    table.put(b'%02d' % number, {b'f:q': b'v'})\n"
        "table.put(b'r', {b'f:q': b'v'})\n"
    )
    done = run_python(program + ENDS[end], str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    with hbtable.open(str(path)) as database:
        assert database.table("t").row(b"r") == {b"f:q": b"v"}
        assert len(list(database.table("t").scan(row_stop=b"A"))) == 100


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "data")


@pytest.fixture
def database(path: str) -> Iterator[Any]:
    with hbtable.open(path, durability="os") as database:
        database.create_table("t", ["f"])
        yield database


def until(is_so: Any, what: str) -> None:
    end = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end, what
        gc.collect()


def test_who_works_while_it_is_closed_reads_that_it_is_closed(path: str) -> None:
    database = hbtable.open(path, durability="os")
    table = database.create_table("t", ["f"])
    ends: list[BaseException] = []
    written: list[int] = []

    def work(name: int) -> None:
        number = 0
        try:
            while True:
                table.put(b"%d-%06d" % (name, number), {b"f:q": b"v"})
                number += 1
        except hbtable.HbtableError as error:
            ends.append(error)
        written.append(number)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    until(lambda: len(list(table.scan(limit=200))) == 200, "200 rows")
    database.close()
    for thread in threads:
        thread.join(60)
    assert {type(error) for error in ends} == {hbtable.Unavailable}
    assert {str(error) for error in ends} == {f"the database {path} is closed: open it again"}
    with hbtable.open(path) as database:
        assert len(list(database.table("t").scan())) == sum(written)


def test_every_close_returns_when_it_is_closed(path: str) -> None:
    database = hbtable.open(path, durability="os")
    database.create_table("t", ["f"]).put(b"r", {b"f:q": b"v" * 1_000_000})
    opened: list[bool] = []

    def close() -> None:
        database.close()
        with open(path + "/LOCK") as lock:
            opened.append(lock.read() == "")  # nobody holds it any more

    threads = [threading.Thread(target=close) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert opened == [True] * 4


def test_a_signal_handler_may_use_and_close_it(path: str) -> None:
    database = hbtable.open(path, durability="os")
    table = database.create_table("t", ["f"])
    handled = 0

    def handler(*_: object) -> None:
        nonlocal handled
        signal.setitimer(signal.ITIMER_REAL, 0)
        table.put(b"handler", {b"f:q": b"%d" % handled})
        handled += 1
        if handled == 50:
            database.close()
        else:
            signal.setitimer(signal.ITIMER_REAL, 0.001)

    def put_on() -> None:
        while True:
            table.put(b"r", {b"f:q": b"v"})

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.001)
        with pytest.raises(hbtable.Unavailable, match="closed"):
            put_on()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    database.close()
    with hbtable.open(path) as again:
        assert again.table("t").row(b"handler") == {b"f:q": b"49"}


def test_what_nobody_refers_to_is_closed_with_a_warning_and_freed(path: str) -> None:
    def left_open() -> "weakref.ref[Any]":
        database = hbtable.open(path, durability="os")
        database.create_table("t", ["f"]).put(b"r", {b"f:q": b"v"})
        return weakref.ref(database)

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", ResourceWarning)
        left = left_open()
        gc.collect()
    assert any("was left open: call close()" in str(each.message) for each in warned)
    warned.clear()  # each refers to the database
    with hbtable.open(path) as database:  # which waits for the other's end
        assert database.table("t").row(b"r") == {b"f:q": b"v"}
    until(lambda: left() is None, "the database is freed")


def test_a_table_keeps_its_database_open(path: str, database: Any) -> None:
    database.close()
    table = hbtable.open(path).table("t")
    gc.collect()
    assert table.row(b"r") == {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        del table
        gc.collect()
    hbtable.open(path).close()


def test_the_patches_after_it_was_opened_make_no_noise(tmp_path: Path) -> None:
    program = (
        f"import hbtable\ndatabase = hbtable.open({str(tmp_path / 'data')!r})\n"
        "table = database.create_table('t', ['f'])\n"
        "from gevent import monkey; monkey.patch_all()\n"
        "table.put(b'r', {b'f:q': b'v'})\ndatabase.close()\nprint('done')\n"
    )
    done = run_python(program, str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_opening_again_and_again_keeps_no_database(path: str, database: Any) -> None:
    database.close()

    def opened() -> None:
        with hbtable.open(path) as again:
            again.table("t").put(b"r", {b"f:q": b"v"})

    check_keeps_none(opened)
