"""Bytes on the command line: what `scan` shows, `get` takes, and what is no UTF-8 is a byte like any other."""

import json
import os
import re
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from typing import Final

import click
import pytest

from hbtable.launch.cli.shell_commands import COMMANDS
from tests.harness.commands import LONG_SECONDS
from tests.harness.server import ServerProcess
from tests.harness.warm_commands import run_warm
from tests.harness.warm_server import WarmServer

pytestmark = pytest.mark.integration

ROW, COLUMN, VALUE = b"r\x01\xff\\x41 \xc3\xa9", b"f:q\x00\\", b"\x80\\v"
"""With a control character, what is no UTF-8, a backslash before x41, a blank and a letter with an accent."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with WarmServer(tmp_path_factory.mktemp("bytes"), ["log.durability=os"]) as server:
        with closing(server.connect()) as connection:
            connection.create_table("t", {"f": {}})
        yield server


def hbtable(server: ServerProcess, name: str, *arguments: str | bytes) -> "subprocess.CompletedProcess[bytes]":
    command = [sys.executable, "-m", "hbtable", name, "--url", f"127.0.0.1:{server.port}", *arguments]
    done = subprocess.run(command, capture_output=True, timeout=LONG_SECONDS, check=False)
    assert b"Traceback" not in done.stderr
    return done


def test_what_scan_shows_get_takes(server: ServerProcess) -> None:
    with closing(server.connect()) as connection:
        connection.table("t").put(ROW, {COLUMN: VALUE})
    shown = hbtable(server, "scan", "t").stdout
    found = re.search(rb"^ (.+) column=(.+), timestamp=.+, value=(.+)$", shown, re.MULTILINE)
    assert found is not None, shown
    row, column, value = found.groups()
    got = hbtable(server, "get", "t", row, column)
    assert got.returncode == 0
    assert b"value=" + value in got.stdout
    assert hbtable(server, "scan", "--start", row, "--columns", column, "t").stdout == shown
    assert hbtable(server, "scan", "--prefix", row, "--columns", column, "t").stdout == shown
    assert hbtable(server, "count", "--prefix", row, "t").stdout == b"1 row(s)\n"
    assert hbtable(server, "put", "t", row + b"2", column, value).returncode == 0
    with closing(server.connect()) as connection:
        assert connection.table("t").row(ROW + b"2") == {COLUMN: VALUE}
        assert hbtable(server, "append", "t", row + b"2", column, r"\x00").returncode == 0
        assert connection.table("t").row(ROW + b"2") == {COLUMN: VALUE + b"\0"}
        assert hbtable(server, "deleteall", "t", row + b"2").returncode == 0
        assert connection.table("t").row(ROW + b"2") == {}


def test_bytes_that_are_no_text_are_taken_as_they_are(server: ServerProcess) -> None:
    raw = os.fsencode(b"raw\xff\xfe".decode("utf-8", "surrogateescape"))
    assert hbtable(server, "put", "t", raw, b"f:\xfd", b"\x80").returncode == 0
    with closing(server.connect()) as connection:
        assert connection.table("t").row(b"raw\xff\xfe") == {b"f:\xfd": b"\x80"}
    assert b"value=\\x80" in hbtable(server, "get", "t", raw).stdout


NUMBER: Final = struct.pack(">q", 7)
EFFECTS: Final = {
    "put": (["t", "r", "COLUMN", "new"], b"new"),
    "append": (["t", "r", "COLUMN", "+"], NUMBER + b"+"),
    "incr": (["t", "r", "COLUMN", "5"], struct.pack(">q", 12)),
    "delete": (["t", "r", "COLUMN"], None),
    "deleteall": (["t", "r", "COLUMN"], None),
    "get_counter": (["t", "r", "COLUMN"], NUMBER),
    "get": (["t", "r", "COLUMN"], NUMBER),
    "scan": (["t", "--columns", "COLUMN", "--prefix", "r"], NUMBER),
    "count": (["t", "--columns", "COLUMN", "--prefix", "r"], NUMBER),
}
"""Arguments of each command that takes a column, and the value of a counter of 7 behind it; None: no cell."""


def takes_a_column(command: click.Command) -> bool:
    named = [(parameter.name, parameter.metavar or "") for parameter in command.params]
    return any(name in ("column", "columns") or ":QUALIFIER" in metavar for name, metavar in named)


def test_every_command_that_takes_a_column_is_here() -> None:
    assert {command.name for command in COMMANDS if takes_a_column(command)} == EFFECTS.keys()


@pytest.mark.parametrize("qualifier", ["http://cnn.com", "n:toLong", "n:", ":", ":n", "a:b:c", r"\x3A\x3A"])
@pytest.mark.parametrize("name", EFFECTS)
def test_the_first_colon_divides_a_column(server: ServerProcess, name: str, qualifier: str) -> None:
    """What the qualifier begins with, as far as its own colon, is another column, which stays as it is."""
    arguments, after = EFFECTS[name]
    whole = b"f:" + qualifier.replace(r"\x3A", ":").encode()
    others = {b"f:" + whole[2:].partition(b":")[0]: NUMBER, b"f:": NUMBER, b"f:z": NUMBER}
    url = f"127.0.0.1:{server.port}"
    with closing(server.connect()) as connection:
        table = connection.table("t")
        table.delete(b"r")
        table.put(b"r", {**others, whole: NUMBER})
        given = [f"f:{qualifier}" if argument == "COLUMN" else argument for argument in arguments]
        done = run_warm(name, "--url", url, "--format", "json", *given)
        assert done.returncode == 0, done.stderr
        assert table.row(b"r") == {**others, **({} if after is None else {whole: after})}
    answer = json.loads(done.stdout or "null")
    if name in ("get", "scan"):
        assert [cell["column"] for cell in answer] == [whole.decode()]
    elif name in ("count", "get_counter"):
        assert answer == (1 if name == "count" else [{"counter": 7}])


@pytest.mark.parametrize("name", EFFECTS)
def test_a_column_without_a_letter_is_misuse(server: ServerProcess, name: str) -> None:
    """A variable of a script that is not set, and `deleteall` would take the whole row."""
    given = ["" if argument == "COLUMN" else argument for argument in EFFECTS[name][0]]
    assert run_warm(name, "--url", f"127.0.0.1:{server.port}", *given).returncode == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("get", b"\xff", "r"),
        ("exists", b"\xff"),
        ("describe", b"t\xff"),
        ("create", b"\xff", "f"),
        ("scan", "--filter", b"PrefixFilter('\xff", "t"),
        ("list", b"\xff"),
        ("grant", b"\xff", "R"),
        ("why", "t", b"\xff"),
    ],
)
def test_no_bytes_end_in_a_trace(server: ServerProcess, arguments: tuple[str | bytes, ...]) -> None:
    done = hbtable(server, str(arguments[0]), *arguments[1:])
    assert done.stdout or done.stderr or not done.returncode


ANSWERS = [("list",), ("scan", "t"), ("shell", "-n", "-e", "list"), ("status",), ("version",), ("config",)]


@pytest.mark.parametrize("arguments", ANSWERS)
def test_an_answer_that_cannot_be_written_is_a_message(server: ServerProcess, arguments: tuple[str, ...]) -> None:
    name, *rest = arguments
    url = [] if name in ("version", "config") else ["--url", f"127.0.0.1:{server.port}"]
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "hbtable", name, *url, *rest]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, timeout=LONG_SECONDS, check=False)
    assert (done.returncode, done.stderr.decode()) == (1, "hbtable: the answer: No space left on device\n")
    closed = ["sh", "-c", '"$@" >&-', "sh", *command]
    done = subprocess.run(closed, stderr=subprocess.PIPE, timeout=LONG_SECONDS, check=False)
    assert (done.returncode, done.stderr.decode()) == (1, "hbtable: the answer: Bad file descriptor\n")
