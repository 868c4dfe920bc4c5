"""hbtable.happybase's pool in children that are forked while threads of the parent are at it: nobody waits for a thread
that is not there, and nobody speaks on, or ends, a connection of the other."""

from collections.abc import Iterator
from pathlib import Path

import happybase
import pytest

from tests.harness.commands import run_python
from tests.harness.warm_server import WarmServer

pytestmark = pytest.mark.integration

PROGRAM = """\
import gc, os, signal, sys, threading, warnings
from hbtable.happybase import ConnectionPool

warnings.filterwarnings("ignore", "This process .* is multi-threaded")  # which is what is tried here
pool = ConnectionPool(2, host="127.0.0.1", port={port}, timeout=60_000)
held, go_on = threading.Event(), threading.Event()

def other():
    with pool.connection() as connection:
        table = connection.table("t")
        table.put(b"thread", {{b"f:a": b"1"}})
        held.set()
        go_on.wait()
        table.put(b"thread", {{b"f:a": b"2"}})

thread = threading.Thread(target=other)
thread.start()
held.wait()
{around}
go_on.set()
thread.join()
with pool.connection() as connection:
    print(status, sorted(connection.table("t").scan()))
"""
FORK = """\
child = os.fork()
if not child:
    signal.alarm(60)  # ends a child that waits for a thread it does not have
{child}
    gc.collect()
    sys.exit(0)  # all that an interpreter does at its end
status = os.waitpid(child, 0)[1]
"""
BOTH = """\
    with pool.connection() as one:
        one.table("t").put(b"child", {b"f:a": b"1"})
        mine = threading.Thread(target=lambda: [pool.connection().__enter__().table("t").put(b"more", {b"f:a": b"1"})])
        mine.start()
        mine.join()
"""


def indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


LOCKS = "pool._lock", "pool._queue.mutex", "pool._connections[0]._routes._lock"
WAYS = {
    **{
        lock: f"with {lock}:  # as another thread has it in its call\n{indented(FORK.format(child=BOTH))}"
        for lock in LOCKS
    },
    "nobody in a call": FORK.format(child=BOTH),
    "this thread has a connection": (
        "with pool.connection() as mine:\n    mine.table('t').put(b'before', {b'f:a': b'1'})\n"
        + indented(FORK.format(child="    mine.table('t').put(b'child', {b'f:a': b'1'})\n    mine.tables()\n"))
        + "    mine.table('t').put(b'after', {b'f:a': b'1'})\n"
    ),
}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[WarmServer]:
    with WarmServer(tmp_path / "data", ["log.durability=os"]) as server:
        yield server


@pytest.mark.parametrize("way", WAYS)
def test_a_forked_child_has_connections_of_its_own(server: WarmServer, tmp_path: Path, way: str) -> None:
    connection = happybase.Connection("127.0.0.1", server.port)
    connection.create_table("t", {"f": {"max_versions": 1}})
    connection.close()
    done = run_python(PROGRAM.format(port=server.port, around=WAYS[way]), str(tmp_path))
    rows = [b"before", b"after", b"child"] if way == "this thread has a connection" else [b"child", b"more"]
    expected = sorted([*((row, {b"f:a": b"1"}) for row in rows), (b"thread", {b"f:a": b"2"})])
    assert done.stdout == f"0 {expected}\n", done.stdout + done.stderr
