"""A server in odd surroundings: a port that is taken, no HOME, a terminal that goes away."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.commands import LONG_SECONDS
from tests.harness.server import ServerProcess


def refused(environment: dict[str, str], *arguments: str) -> tuple[int, str]:
    """(exit code, stderr) of a start that cannot be."""
    done = subprocess.run(
        [sys.executable, "-m", "hbtable", "start", *arguments],
        env=environment, capture_output=True, text=True, timeout=LONG_SECONDS, check=False,
    )  # fmt: skip
    return done.returncode, done.stderr


def test_a_port_that_is_taken_is_said_before_the_folder_is_touched(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, said = refused(dict(os.environ), "--data", str(tmp_path / "data"), "--port", str(port))
    assert code == 1
    assert f"port {port} on 127.0.0.1 is in use by process {os.getpid()} (" in said
    assert "Traceback" not in said
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("home", ["", "/proc/1/fdinfo/nobody-may-look-here"])
def test_a_home_that_is_empty_or_somebody_elses_ends_in_no_trace(tmp_path: Path, home: str) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    code, said = refused({**environment, "HOME": home}, "-D", "server.port=x")
    assert code == 2
    assert "Traceback" not in said
    assert "server.port = 'x'" in said


def test_a_terminal_that_goes_away_asks_for_an_orderly_stop(tmp_path: Path) -> None:
    with ServerProcess(tmp_path / "data") as server:
        assert server.process is not None
        server.process.send_signal(signal.SIGHUP)
        assert server.process.wait(LONG_SECONDS) == 0


def test_under_nohup_it_outlives_the_terminal(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does, and a child inherits it
    try:
        server = ServerProcess(tmp_path / "data").start()
    finally:
        signal.signal(signal.SIGHUP, before)
    try:
        assert server.process is not None
        server.process.send_signal(signal.SIGHUP)
        connection = server.connect()
        assert connection.tables() == []
        connection.close()
    finally:
        assert server.stop() == 0
