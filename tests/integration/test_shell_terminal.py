"""The shell in a real terminal (tmux): completion, history, pager, Ctrl-C, resize."""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.waiting import SOON_SECONDS, eventually
from tests.harness.warm_server import WarmServer

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux"),
]


class Terminal:
    """A tmux server of its own, 100 x 24."""

    def __init__(self, folder: Path, address: str) -> None:
        self.socket = str(folder / "tmux")
        state, path = shlex.quote(str(folder)), shlex.quote(os.getcwd())
        environment = f"XDG_STATE_HOME={state} PAGER='less -SX' PYTHONPATH={path}"
        command = f"{environment} {shlex.quote(sys.executable)} -m hbtable shell --url {address}"
        self.tmux("new-session", "-d", "-x", "100", "-y", "24", command)

    def tmux(self, *arguments: str) -> str:
        command = ["tmux", "-S", self.socket, "-f", "/dev/null", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout

    def type(self, *keys: str) -> None:
        self.tmux("send-keys", *keys)

    def screen(self) -> str:
        return self.tmux("capture-pane", "-p")

    def wait_for(self, text: str) -> str:
        screens = [""]

        def is_there() -> bool:
            screens.append(self.screen())
            return text in screens[-1]

        try:
            eventually(is_there, SOON_SECONDS, f"{text!r} on the screen")
        except AssertionError as error:
            raise AssertionError(f"{error}:\n{screens[-1]}") from None
        return screens[-1]


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    with WarmServer(tmp_path / "data") as server:
        address = f"127.0.0.1:{server.port}"
        script = "create 'observations', 'temperature'\n" + "".join(
            f"put 'observations', 'r{number:03d}', 'temperature:c', '{number}'\n" for number in range(60)
        )
        command = [sys.executable, "-m", "hbtable", "shell", "-n", "--url", address]
        subprocess.run(command, input=script, text=True, check=True, capture_output=True)
        made = Terminal(tmp_path, address)
        yield made
        made.tmux("kill-server")


def test_a_person_at_a_terminal(terminal: Terminal) -> None:
    terminal.wait_for("hbase:001:0>")

    # completion: a command, a live table, its family; the hint line shows how the command goes on
    terminal.type("descr", "Tab")
    terminal.wait_for("> describe")
    terminal.wait_for("describe 't1'")
    terminal.type(" 'obs", "Tab")
    terminal.wait_for("describe 'observations")
    terminal.type("'", "Enter")
    terminal.wait_for("NAME => 'temperature'")
    terminal.wait_for("hbase:002:0>")
    terminal.type("get 'observations', 'r000', 'temp", "Tab")
    terminal.wait_for("'temperature:")
    terminal.type("c'", "Enter")
    terminal.wait_for("value=0")

    # history
    terminal.wait_for("hbase:003:0>")
    terminal.type("Up", "Up")
    terminal.wait_for("hbase:003:0> describe 'observations'")
    terminal.type("C-c")

    # an open bracket goes on in the next line
    terminal.type("scan 'observations', {", "Enter", "LIMIT => 1", "Enter", "}", "Enter")
    terminal.wait_for("1 row(s)")

    # the pager, and leaving it
    terminal.wait_for("hbase:004:0>")
    terminal.type("scan 'observations'", "Enter")
    screen = terminal.wait_for("r010")
    assert "row(s)" not in screen.splitlines()[-1]
    terminal.type("q")
    terminal.wait_for("hbase:005:0>")

    # Ctrl-C ends what runs, not the shell; after a resize it goes on
    terminal.type("\\watch 0.2 status", "Enter")
    terminal.wait_for("average load")
    terminal.type("C-c")
    terminal.wait_for("Interrupt")
    terminal.tmux("resize-window", "-x", "60", "-y", "20")
    terminal.type("version", "Enter")
    terminal.wait_for("Took")
    terminal.type("exit", "Enter")
    eventually(lambda: terminal.tmux("list-windows") == "", SOON_SECONDS, "the end of the shell")
