"""hbtable.open() in an ordinary program: threads, a second open, kills, forks, forgotten closes, and the server."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import happybase
import pytest

import hbtable
from tests.harness.commands import ROOT, environment, run_python
from tests.harness.warm_server import WarmServer

pytestmark = pytest.mark.integration


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Any]:
    with hbtable.open(str(tmp_path / "data"), durability="os") as database:
        yield database


def test_tables_rows_scans_batches_and_counters(database: Any) -> None:
    table = database.create_table("t", {"f": {}, b"g:": None})
    assert database.tables() == [b"t"]
    assert sorted(table.families()) == [b"f", b"g"]
    table.put(b"r1", {b"f:a": b"1", b"g:": b"2"})
    assert table.row(b"r1") == {b"f:a": b"1", b"g:": b"2"}
    with table.batch(batch_size=10) as batch:
        for number in range(100):
            batch.put(b"s%03d" % number, {b"f:n": b"%d" % number})
        batch.delete(b"s050")
    assert len(list(table.scan(row_prefix=b"s", batch_size=7))) == 99
    assert [row for row, _ in table.scan(reverse=True, limit=2)] == [b"s099", b"s098"]
    assert table.counter_inc(b"c", b"f:hits", 5) == 5
    assert table.counter_get(b"c", b"f:hits") == 5
    assert table.append(b"r1", {b"f:a": b"23"}) == {b"f:a": b"123"}
    assert table.check_and_put(b"r1", b"f:a", b"123", {b"f:a": b"4"})
    assert not table.check_and_put(b"r1", b"f:a", b"123", {b"f:a": b"5"})
    table.delete(b"r1", [b"f:a"])
    assert database.table(b"t").row(b"r1") == {b"g:": b"2"}
    assert "t" in repr(table)


def test_administration(database: Any) -> None:
    table = database.create_table("t", ["f", b"g"], split_rows=[b"m"])
    for number in range(50):
        table.put(b"%c%d" % (97 + number % 26, number), {b"f:a": b"v", b"g:b": b"w"})
    assert [tablet.range for tablet in database.tablets("t")] == [(b"", b"m"), (b"m", b"")]
    database.flush_table("t")
    assert all(tablet.files for tablet in database.tablets("t"))
    assert database.split_table("t", b"f")
    assert [tablet.range.stop for tablet in database.tablets("t")] == [b"f", b"m", b""]
    database.compact_table("t", major=True)
    assert len(list(table.scan())) == 50
    database.disable_table("t")
    assert not database.is_table_enabled("t")
    with pytest.raises(hbtable.TableNotEnabled, match="t is disabled"):
        table.row(b"a0")
    database.enable_table("t")
    assert len(list(table.scan())) == 50
    with pytest.raises(hbtable.TableNotDisabled):
        database.delete_table("t")
    database.delete_table("t", disable=True)
    assert database.tables() == []


def test_mistakes_are_messages(database: Any) -> None:
    table = database.create_table("t", {"f": {}})
    with pytest.raises(hbtable.TableExists, match="t"):
        database.create_table("t", {"f": {}})
    with pytest.raises(hbtable.TableNotFound, match="nowhere"):
        database.table("nowhere").row(b"r")
    with pytest.raises(hbtable.TableNotFound, match="nowhere"):
        database.delete_table("nowhere", disable=True)
    with pytest.raises(hbtable.NoSuchFamily, match="h"):
        table.put(b"r", {b"h:a": b"1"})
    with pytest.raises(hbtable.InvalidRequest, match=r"has no option 'versions'; there are max_versions"):
        database.create_table("u", {"f": {"versions": 3}})
    for families in ({}, [], "f", None):
        with pytest.raises(hbtable.InvalidRequest, match="needs column families"):
            database.create_table("u", families)
    with pytest.raises(hbtable.InvalidRequest, match="needs a ':'"):
        table.put(b"r", {b"f": b"1"})
    with pytest.raises(hbtable.LimitExceeded):
        table.put(b"r" * 40000, {b"f:a": b"1"})
    table.put(b"r", {b"f:n": b"three"})
    with pytest.raises(hbtable.NotACounter):
        table.counter_inc(b"r", b"f:n")
    with pytest.raises(hbtable.BadFilter):
        list(table.scan(filter=b"NoFilter("))
    assert table.row(b"r") == {b"f:n": b"three"}


@pytest.mark.parametrize(
    ("row", "column", "value"),
    [(5, b"f:a", b"v"), (b"r", 5, b"v"), (b"r", b"f:a", 5), (b"r", b"f:a", None), (bytearray(b"r"), b"f:a", b"v")],
)
def test_what_is_neither_bytes_nor_text_is_refused_and_breaks_nothing(
    database: Any, row: Any, column: Any, value: Any
) -> None:
    table = database.create_table("t", {"f": {}})
    table.put(b"before", {b"f:a": b"1"})
    with pytest.raises(hbtable.WrongType, match="has to be bytes, or text"):
        table.put(row, {column: value})
    batch = table.batch()
    batch.put(b"good", {b"f:a": b"1"})
    with pytest.raises(hbtable.WrongType, match="has to be bytes, or text"):
        batch.put(row, {column: value})
    table.put(b"after", {b"f:a": b"2"})
    assert [row for row, _ in table.scan()] == [b"after", b"before"]
    batch.send()
    assert table.row(b"good") == {b"f:a": b"1"}


def test_many_threads_share_it(database: Any) -> None:
    table = database.create_table("t", {"f": {}})

    def work(number: int) -> int:
        for turn in range(30):
            table.put(b"%d-%d" % (number, turn), {b"f:a": b"%d" % turn})
            assert table.row(b"%d-%d" % (number, turn)) == {b"f:a": b"%d" % turn}
            table.counter_inc(b"counter", b"f:n")
        return sum(1 for _ in table.scan(row_prefix=b"%d-" % number))

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(8))) == [30] * 8
    assert table.counter_get(b"counter", b"f:n") == 240


def test_a_scan_may_be_left_and_used_from_another_thread(database: Any) -> None:
    table = database.create_table("t", {"f": {}})
    with table.batch() as batch:
        for number in range(100):
            batch.put(b"%03d" % number, {b"f:a": b"1"})
    scan = table.scan(batch_size=10)
    assert next(scan)[0] == b"000"
    rest: list[bytes] = []
    thread = threading.Thread(target=lambda: rest.extend(row for row, _ in scan))
    thread.start()
    thread.join()
    assert len(rest) == 99
    scan = table.scan(batch_size=10)
    next(scan)
    scan.close()


def test_closing(tmp_path: Path) -> None:
    path = tmp_path / "data"
    database = hbtable.open(path)
    table = database.create_table("t", {"f": {}})
    table.put(b"r", {b"f:a": b"1"})
    scan = table.scan()
    database.close()
    database.close()
    assert "closed" in repr(database)
    for use in (lambda: table.row(b"r"), lambda: table.put(b"r", {b"f:a": b"2"}), database.tables, lambda: next(scan)):
        with pytest.raises(hbtable.Unavailable, match="closed"):
            use()
    with hbtable.open(str(path)) as database:
        assert database.table("t").row(b"r") == {b"f:a": b"1"}


def test_an_error_inside_the_block_closes_too(tmp_path: Path) -> None:
    def fail() -> None:
        with hbtable.open(str(tmp_path / "data")) as database:
            database.create_table("t", {"f": {}})
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with hbtable.open(str(tmp_path / "data")) as database:
        assert database.tables() == [b"t"]


PAGE = "docs/manual/programs.md"


def test_a_second_open_says_who_holds_the_folder(tmp_path: Path) -> None:
    path = str(tmp_path / "data")
    with hbtable.open(path):
        program = (
            f"import hbtable\ntry:\n    hbtable.open({path!r})\nexcept hbtable.AlreadyExists as error: print(error)\n"
        )
        done = run_python(program, str(tmp_path))
        assert f"is in use by process {os.getpid()}" in done.stdout, done.stderr
        assert path in done.stdout
        assert done.stdout.endswith(f": stop it, or share it as {PAGE} says\n")
        assert Path(__file__).parents[2].joinpath(PAGE).is_file()
    threads = set(threading.enumerate())
    with pytest.raises(hbtable.HbtableError, match="no hbtable data folder"):
        hbtable.open(str(tmp_path))  # it holds program.py
    assert set(threading.enumerate()) <= threads, "a failed open leaves no thread behind"


def test_open_waits_until_another_process_lets_go(tmp_path: Path) -> None:
    path = str(tmp_path / "data")
    program = f"import hbtable\nwith hbtable.open({path!r}): print('open', flush=True); input()\n"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment(None)
    ) as other, ThreadPoolExecutor(1) as threads:  # fmt: skip
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        with pytest.raises(hbtable.AlreadyExists, match=f"in use by process {other.pid}"):
            hbtable.open(path, wait=0.1)
        opened = threads.submit(hbtable.open, path, wait=60)
        other.stdin.write("\n")
        other.stdin.close()
        with opened.result(60) as database:
            assert database.tables() == []
    assert other.returncode == 0


@pytest.mark.parametrize("wait", [-1, float("nan"), float("inf"), "5", None, True, 10**10])
def test_a_wrong_time_to_wait_is_refused(tmp_path: Path, wait: Any) -> None:
    with pytest.raises(hbtable.InvalidRequest, match=r"^wait .* seconds$"):
        hbtable.open(str(tmp_path / "data"), wait=wait)
    assert not (tmp_path / "data").exists()


def stored(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.rglob("*") if path.is_file()}


def test_a_folder_of_a_killed_process_is_read_without_a_change(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    program = (
        f"import hbtable, os\ndatabase = hbtable.open({str(folder)!r})\ntable = database.create_table('t', ['f'])\n"
        "table.put(b'a', {b'f:q': b'1'})\ndatabase.flush_table('t')\ntable.put(b'b', {b'f:q': b'2'})\nos._exit(9)"
    )
    run_python(program, str(tmp_path))
    before = stored(folder)
    with hbtable.open(str(folder), read_only=True) as database, hbtable.open(str(folder), read_only=True) as other:
        for reader in (database, other):
            assert list(reader.table("t").scan()) == [(b"a", {b"f:q": b"1"}), (b"b", {b"f:q": b"2"})]
        table = database.table("t")
        for change in (
            lambda: table.put(b"a", {b"f:q": b"3"}),
            lambda: table.delete(b"a"),
            lambda: table.counter_inc(b"a", b"f:n"),
            lambda: table.append(b"a", {b"f:q": b"3"}),
            lambda: table.check_and_put(b"a", b"f:q", b"1", {b"f:q": b"3"}),
            lambda: database.create_table("u", ["f"]),
            lambda: database.delete_table("t", disable=True),
            lambda: database.enable_table("t"),
            lambda: database.flush_table("t"),
            lambda: database.compact_table("t", major=True),
            lambda: database.split_table("t", b"b"),
        ):
            with pytest.raises(hbtable.InvalidRequest, match="opened with read_only=True, and nothing in it can be"):
                change()
        with pytest.raises(hbtable.AlreadyExists, match="in use by this process, which opened it with read_only=True"):
            hbtable.open(str(folder))
        done = run_python(f"import hbtable\nhbtable.open({str(folder)!r})", str(tmp_path))
        assert "in use by somebody who only reads it" in done.stderr
    assert stored(folder) == before
    with pytest.raises(hbtable.InvalidRequest, match="read_only 1 is int"):
        hbtable.open(str(folder), read_only=1)  # type: ignore[arg-type]
    with hbtable.open(str(folder)) as database:
        assert len(list(database.table("t").scan())) == 2


def test_durability_is_checked(tmp_path: Path) -> None:
    with pytest.raises(hbtable.InvalidConfiguration, match="'sync' or 'os'"):
        hbtable.open(str(tmp_path / "data"), durability="perhaps")
    assert not (tmp_path / "data").exists()


KILLED = """\
import sys
import hbtable

db = hbtable.open(sys.argv[1])
table = db.create_table("t", {"f": {}})
number = 0
while True:
    table.put(b"%08d" % number, {b"f:a": b"v" * 100, b"f:b": b"w"})
    number += 1
    print(number, flush=True)
"""


def test_kill_nine_loses_nothing_acknowledged(tmp_path: Path) -> None:
    path = str(tmp_path / "data")
    command = [sys.executable, "-c", KILLED, path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment(None), cwd=ROOT, text=True) as process:
        assert process.stdout is not None
        acknowledged = 0
        for line in process.stdout:
            acknowledged = int(line)
            if acknowledged == 200:
                process.kill()
    with hbtable.open(path) as database:
        found = dict(database.table("t").scan())
    assert len(found) in (acknowledged, acknowledged + 1)
    assert set(map(len, found.values())) == {2}


def test_the_server_serves_what_was_written_here_and_back(tmp_path: Path) -> None:
    path = tmp_path / "data"
    with hbtable.open(str(path)) as database:
        database.create_table("t", {"f": {}}).put(b"here", {b"f:a": b"1"})
    server = WarmServer(path)
    with server:
        table = server.connect().table("t")
        assert table.row(b"here") == {b"f:a": b"1"}
        table.put(b"there", {b"f:a": b"2"})
        with pytest.raises(hbtable.AlreadyExists, match=rf"\(127\.0\.0\.1:{server.port}\)"):
            hbtable.open(str(path))
        assert server.stop() == 0
    with hbtable.open(str(path)) as database:
        assert list(database.table("t").scan()) == [(b"here", {b"f:a": b"1"}), (b"there", {b"f:a": b"2"})]


def program_result(tmp_path: Path, program: str) -> "subprocess.CompletedProcess[str]":
    return run_python(program.replace("DATA", repr(str(tmp_path / "data"))), str(tmp_path))


def test_a_forked_child_is_told_and_the_parent_goes_on(tmp_path: Path) -> None:
    done = program_result(
        tmp_path,
        """\
import os, warnings
import hbtable
warnings.simplefilter("ignore")  # Python 3.12 warns of any fork in a program with threads
db = hbtable.open(DATA)
table = db.create_table("t", {"f": {}})
child = os.fork()
if child == 0:
    try:
        table.put(b"child", {b"f:a": b"1"})
    except hbtable.InvalidRequest as error:
        print("child:", error, flush=True)
    db.close()
    os._exit(0)
os.waitpid(child, 0)
table.put(b"parent", {b"f:a": b"1"})
print([row for row, _ in table.scan()])
print(open(DATA + "/LOCK").read().startswith(f"pid {os.getpid()}"))
db.close()
""",
    )
    assert done.returncode == 0, done.stderr
    message, rows, lock = done.stdout.splitlines()
    assert "forked" in message
    assert PAGE in message
    assert (rows, lock) == ("[b'parent']", "True")


def test_a_forgotten_close_is_no_disaster(tmp_path: Path) -> None:
    done = program_result(
        tmp_path,
        'import hbtable\ndb = hbtable.open(DATA)\ndb.create_table("t", {"f": {}}).put(b"r", {b"f:a": b"1"})\n',
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    with hbtable.open(str(tmp_path / "data")) as database:
        assert database.table("t").row(b"r") == {b"f:a": b"1"}


@pytest.mark.parametrize("module", ["serve", "servers.launcher", "servers.server_process"])
def test_a_server_loads_nothing_large_that_it_may_not_need(tmp_path: Path, module: str) -> None:
    """Clients of ZooKeeper and HDFS take 4 and 9 MB, of the 60 MB that an idle server may have; 5 what only worker
    processes search with; 2 what makes the page for Prometheus."""
    large = {"kazoo", "requests", "hdfs", "regex", "prometheus_client"}
    text = f"import sys, hbtable.launch.{module}\nloaded = {large} & set(sys.modules)\nassert not loaded, loaded\n"
    done = program_result(tmp_path, text)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_program_stays_unpatched_and_importing_is_cheap(tmp_path: Path) -> None:
    done = program_result(
        tmp_path,
        """\
import socket, sys, threading, time
before = socket.socket, threading.Thread, time.sleep, threading.Lock
import hbtable
assert not {"gevent", "thriftpy2", "click"} & set(sys.modules), "import hbtable is heavy"
assert issubclass(hbtable.TableNotFound, hbtable.HbtableError)
assert "TableNotFound" in dir(hbtable)
with hbtable.open(DATA) as db:
    assert not {"thriftpy2", "click", "prometheus_client"} & set(sys.modules), "open() needs no server"
    db.create_table("t", ["f"])
assert before == (socket.socket, threading.Thread, time.sleep, threading.Lock)
assert [thread.name for thread in threading.enumerate()] == ["MainThread"], threading.enumerate()
""",
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_no_such_name(tmp_path: Path) -> None:
    with pytest.raises(AttributeError, match="no attribute 'connetc'"):
        _ = hbtable.connetc  # type: ignore[attr-defined]
    assert happybase is not None
