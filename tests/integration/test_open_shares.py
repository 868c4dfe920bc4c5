"""hbtable.open().share() and hbtable.connect(folder=...): processes of one user share a folder by a socket in it."""

import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import hbtable
from tests.harness.commands import environment, run, run_python
from tests.harness.waiting import SOON_SECONDS, eventually

pytestmark = pytest.mark.integration

OWNER = """
import os, sys, time, hbtable
db = hbtable.open(sys.argv[1], durability="os")
db.create_table("t", ["f"]).put("r", {"f:a": "1"})
db.share()
"""
STAYS = "print('shared', flush=True)\nsys.stdin.read()\n"
FORKS = """
if not os.fork():
    print(os.getpid(), flush=True)  # by now it has let go of what is the parent's
    time.sleep(3600)
sys.stdin.read()
"""
WITH_A_CHILD = (
    """
print("shared", flush=True)
sys.stdin.readline()
"""
    + FORKS
)


@contextmanager
def owner(folder: Path, program: str) -> Iterator["tuple[subprocess.Popen[str], str]"]:
    """A process that shares the folder, and the line that it printed."""
    command = [sys.executable, "-c", OWNER + program, str(folder)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment(None)
    ) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


def test_another_process_uses_the_tables_until_it_is_closed(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with hbtable.open(folder, durability="os") as database:
        database.share()
        database.share()
        table = database.create_table("t", ["f"])
        assert stat.S_IMODE((folder / "SOCKET").stat().st_mode) == 0o600
        program = (
            f"import hbtable\nwith hbtable.connect(folder={str(folder)!r}) as db:\n"
            "    print(db.table('t').counter_inc('c', 'f:n', 3), db)\n    db.create_table('u', ['f'])\n"
            f"try: hbtable.open({str(folder)!r})\nexcept hbtable.AlreadyExists as error: print(error)\n"
        )
        done = run_python(program, str(tmp_path))
        counted, refused = done.stdout.splitlines()
        assert counted == f"3 <hbtable database {folder}>"
        assert refused.endswith(
            f"in use by process {os.getpid()} (hbtable.open(), shared): stop it, or connect to it with "
            f"hbtable.connect(folder='{folder}')"
        )
        assert table.counter_get("c", "f:n") == 3
        assert database.tables() == [b"t", b"u"]
        connected = hbtable.connect(folder=folder)
        assert connected.tables() == [b"t", b"u"]
        assert connected.table("t").regions()[0]["port"] == 0
    assert not (folder / "SOCKET").exists()
    with connected:
        for _ in range(2):
            with pytest.raises(
                hbtable.Unavailable, match=rf"no process shares the data folder {folder} .*programs\.md"
            ):
                connected.tables()


def test_a_folder_is_shared_and_has_a_port(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with hbtable.open(folder, durability="os") as database:
        database.share()
        port = database.serve(port=0)
        with hbtable.connect(folder=folder) as first, hbtable.connect("127.0.0.1", port) as second:
            first.create_table("t", ["f"]).put("r", {"f:a": "1"})
            assert second.table("t").row("r") == {b"f:a": b"1"}
            assert second.table("t").regions()[0]["port"] == port
        assert f"hbtable.open(), shared, 127.0.0.1:{port}\n" in (folder / "LOCK").read_text()


def test_a_path_that_is_longer_than_the_address_of_a_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / ("a" * 120) / "data"
    folder.parent.mkdir()
    monkeypatch.chdir(folder.parent)
    with hbtable.open("data", durability="os") as database:
        database.share()
        connected = hbtable.connect(folder="data", autoconnect=False)
        monkeypatch.chdir(tmp_path)
        assert connected.tables() == []
        connected.close()


def test_what_a_killed_owner_left_is_no_way_in_and_in_nobodys_way(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with owner(folder, STAYS) as (process, _), hbtable.connect(folder=folder) as connected:
        assert connected.table("t").row("r") == {b"f:a": b"1"}
        process.kill()
        process.wait()
        assert (folder / "SOCKET").exists()
        with pytest.raises(hbtable.Unavailable, match="no process shares"):
            connected.tables()
        assert run("check", str(folder)).returncode == 0
        with hbtable.open(folder, read_only=True) as reading:
            assert reading.tables() == [b"t"]
        with hbtable.open(folder, durability="os") as database:
            assert not (folder / "SOCKET").exists()
            database.share()
            assert connected.table("t").row("r") == {b"f:a": b"1"}


def test_clients_see_the_end_of_an_owner_whose_child_lives_on(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with owner(folder, WITH_A_CHILD) as (process, _), hbtable.connect(folder=folder, timeout=60_000) as before:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("fork\n")
        process.stdin.flush()
        child = int(process.stdout.readline())
        try:
            with hbtable.connect(folder=folder, timeout=60_000) as after:
                assert before.tables() == after.tables() == [b"t"]
                process.kill()
                process.wait()
                for connected in (before, after):
                    with pytest.raises(hbtable.Unavailable, match="no process shares"):
                        connected.tables()
            with hbtable.open(folder, durability="os") as next_owner:  # the child has nothing of the lock
                assert next_owner.tables() == [b"t"]
        finally:
            os.kill(child, signal.SIGKILL)


READS_WITH_A_CHILD = (
    """
import os, sys, time
import hbtable
reading = hbtable.open(sys.argv[1], read_only=True)
"""
    + FORKS
)


def test_a_reader_s_child_keeps_nobody_from_writing(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with hbtable.open(folder, durability="os") as database:
        database.create_table("t", ["f"])
    command = [sys.executable, "-c", READS_WITH_A_CHILD, str(folder)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment(None)
    ) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        try:
            with pytest.raises(hbtable.AlreadyExists, match="only reads it"):
                hbtable.open(folder, durability="os")
            process.kill()
            process.wait()
            hbtable.open(folder, durability="os").close()
        finally:
            os.kill(child, signal.SIGKILL)


HELD_ON_ARRIVAL = (
    """
import threading
from gevent.server import StreamServer
accepted, accept = threading.Event(), StreamServer.do_read
def held(server):
    found = accept(server)
    if found:
        accepted.set()
        time.sleep(0.5)  # other threads run meanwhile, and fork
    return found
StreamServer.do_read = held
print("shared", flush=True)
accepted.wait()
"""
    + FORKS
)


def test_a_connection_that_arrives_during_a_fork_ends_with_the_owner(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with owner(folder, HELD_ON_ARRIVAL) as (process, _), hbtable.connect(folder=folder, timeout=60_000) as connected:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        try:
            assert connected.tables() == [b"t"]
            process.kill()
            process.wait()
            with pytest.raises(hbtable.Unavailable, match="no process shares"):
                connected.tables()
        finally:
            os.kill(child, signal.SIGKILL)


def test_a_connection_from_before_a_fork_is_another_one_in_the_child(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    program = (
        "import os, hbtable\n"
        f"db = hbtable.connect(folder={str(folder)!r})\ntable = db.table('t')\ntable.put('r', {{'f:n': 'x'}})\n"
        "children = []\n"
        "for number in range(3):\n    children.append(os.fork())\n    if not children[-1]:\n        break\n"
        "own = f'r{len(children)}{bool(children[-1])}'\n"
        "for number in range(100):\n"
        "    table.put(own, {'f:n': f'{own}-{number}'})\n"
        "    assert table.row(own) == {b'f:n': f'{own}-{number}'.encode()}\n"
        "if children[-1]:\n    print([os.waitpid(child, 0)[1] for child in children])\n"
    )
    with hbtable.open(folder, durability="os") as database:
        database.create_table("t", ["f"])
        database.share()
        done = run_python(program, str(tmp_path))
        assert done.stdout == "[0, 0, 0]\n", done.stderr
        assert len(list(database.table("t").scan())) == 5


def test_a_child_that_is_forked_in_the_middle_of_a_call_has_calls_of_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    program = (
        "import os, signal, hbtable\n"
        f"db = hbtable.connect(folder={str(folder)!r})\ntable = db.table('t')\n"
        "with db.calls._lock:  # as another thread has it during its call\n"
        "    child = os.fork()\n"
        "    if not child:\n"
        "        signal.alarm(30)  # ends a child that waits for a thread it does not have\n"
        "        table.put('r', {'f:n': 'x'})\n"
        "        os._exit(0)\n"
        "print(os.waitpid(child, 0)[1], table.row('r'))\n"
    )
    with hbtable.open(folder, durability="os") as database:
        database.create_table("t", ["f"])
        database.share()
        done = run_python(program, str(tmp_path))
        assert done.stdout == "0 {b'f:n': b'x'}\n", done.stdout + done.stderr


def test_nobody_is_answered_once_the_folder_is_lost(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with hbtable.open(folder, durability="os") as database:
        database.share()
        with hbtable.connect(folder=folder) as connected:
            folder.rename(tmp_path / "moved")
            shutil.copytree(tmp_path / "moved", folder, ignore=shutil.ignore_patterns("SOCKET"))

            def is_cut_off() -> bool:
                try:
                    connected.tables()
                except (hbtable.Unavailable, hbtable.LockLost):  # cut off, or its call came before that
                    return True
                return False

            eventually(is_cut_off, SOON_SECONDS, "a connection that is cut off")


def test_what_cannot_be_shared(tmp_path: Path) -> None:
    hbtable.open(tmp_path / "data", durability="os").close()
    with hbtable.open(":memory:") as database, pytest.raises(hbtable.InvalidRequest, match=r"serve\(\) opens a port"):
        database.share()
    with hbtable.open(tmp_path / "data", read_only=True) as database, pytest.raises(hbtable.InvalidRequest):
        database.share()
    with pytest.raises(hbtable.Unavailable, match="is closed"):
        database.share()
