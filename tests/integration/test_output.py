"""A server whose stdout or stderr is closed, full, unread or ASCII serves all the same."""

import os
import subprocess
import sys
from pathlib import Path

import happybase
import pytest

from tests.harness.commands import LONG_SECONDS
from tests.harness.waiting import eventually


def started(folder: Path, **streams: object) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "hbtable", "start", "--data", str(folder), "--port", "0"]
    return subprocess.Popen(command, **streams)  # type: ignore[call-overload,no-any-return]


def port_of(folder: Path) -> int:
    """As the folder's LOCK tells it, once the server serves."""

    def told() -> str:
        try:
            return (folder / "LOCK").read_text().partition("address 127.0.0.1:")[2].split("\n")[0]
        except FileNotFoundError:
            return ""

    eventually(lambda: told() not in ("", "0"), 60, "the server says its port")
    return int(told())


def put_and_get(port: int, name: str) -> None:
    connection = happybase.Connection("127.0.0.1", port, timeout=60_000)
    try:
        connection.create_table(name, {"f": {}})
        table = connection.table(name)
        table.put(b"r", {b"f:q": b"v"})
        assert table.row(b"r") == {b"f:q": b"v"}
    finally:
        connection.close()


def stopped(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    assert process.wait(LONG_SECONDS) == 0


def ended(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def test_a_stderr_that_nobody_reads_stops_nobody(tmp_path: Path) -> None:
    """Each create and drop logs some lines: 64 KB of them once stopped the hub for ever."""
    folder = tmp_path / "data"
    process = started(folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    try:
        port = port_of(folder)
        # Fills the pipe, as a week of log lines would.
        blocking = os.open(f"/proc/self/fd/{process.stderr.fileno()}", os.O_WRONLY | os.O_NONBLOCK)
        try:
            while os.write(blocking, bytes(4096)):
                pass
        except BlockingIOError:
            pass
        finally:
            os.close(blocking)
        for number in range(5):
            put_and_get(port, f"t{number}")
        stopped(process)
    finally:
        ended(process)


@pytest.mark.parametrize("closed", ["1>&-", "2>&-", "1>&- 2>&-", "1>/dev/full", "2>/dev/full"])
def test_a_closed_or_full_output_stops_nobody(tmp_path: Path, closed: str) -> None:
    folder = tmp_path / "data-\u00e9"
    command = f'exec "$0" -m hbtable start --data "$1" --port 0 {closed}'
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    process = subprocess.Popen(["/bin/sh", "-c", command, sys.executable, str(folder)], env=environment)
    try:
        put_and_get(port_of(folder), "t")
        stopped(process)
    finally:
        ended(process)


def test_an_ascii_terminal_gets_escapes(tmp_path: Path) -> None:
    folder = tmp_path / "data-\u00e9"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    process = started(folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment)
    assert process.stdout is not None
    try:
        port_of(folder)
        stopped(process)
        assert b"data-\\xe9" in process.stdout.read()
    finally:
        ended(process)


@pytest.mark.parametrize("closed", ["0<&-", "0<&- 1>&- 2>&-"])
def test_no_file_of_the_folder_takes_the_number_of_a_closed_stream(tmp_path: Path, closed: str) -> None:
    """What a crash writes to standard error would go into it."""
    folder = tmp_path / "data"
    command = f"exec {sys.executable} -m hbtable start --data {folder} --port 0 {closed}"
    process = subprocess.Popen(["sh", "-c", command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        put_and_get(port_of(folder), "closed")
        numbers = range(3) if "2" in closed else [0]
        assert {os.readlink(f"/proc/{process.pid}/fd/{number}") for number in numbers} == {os.devnull}
        stopped(process)
    finally:
        ended(process)


@pytest.mark.parametrize("command", ["shell", "shell -n", "get t r", "user password ann --data {}"])
def test_a_command_whose_input_is_closed_ends_as_with_an_empty_one(tmp_path: Path, command: str) -> None:
    """As cron starts some: the shell ended in a traceback."""

    def run(stdin: str) -> tuple[int, str]:
        words = f"{sys.executable} -m hbtable {command.format(tmp_path)} {stdin}"
        done = subprocess.run(["sh", "-c", words], capture_output=True, text=True, timeout=LONG_SECONDS, check=False)
        return done.returncode, done.stderr

    assert run("<&-") == run("</dev/null")
    assert "Traceback" not in run("<&-")[1]
