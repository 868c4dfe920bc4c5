"""The `hbtable` command in a fork of a process that has imported the program already.

Two thirds of what a short command costs is Python's start and its imports. Tests that are about what a command does
with a folder or a server, and not about its start, take this one; what they see of it is the same: what it prints, how
it exits. Each process of the tests has one such server, which ends with it. It has no thread, no event loop, and no
file but the command's own.
"""

import atexit
import gc
import importlib
import json
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from functools import cache
from typing import Any, Final

from tests.harness.commands import LONG_SECONDS, ROOT, environment

_LARGEST_MESSAGE: Final = 1 << 17
_PACKAGES: Final = ("hbtable.launch", "hbtable.shell", "hbtable.repair")


def run_warm(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """As `run` of tests/harness/commands.py."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors, open(os.devnull, "rb") as nothing:
        code = _server().run(arguments, [nothing.fileno(), out.fileno(), errors.fileno()])
        out.seek(0)
        errors.seek(0)
        return subprocess.CompletedProcess(
            ["hbtable", *arguments], code, out.read().decode("utf-8"), errors.read().decode("utf-8")
        )


@cache
def _server() -> "_Server":
    return _Server()


class _Server:
    """The process that forks, as its client sees it."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(LONG_SECONDS)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.harness.warm_commands", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env=environment(None),
                cwd=ROOT,
            )
        atexit.register(self._end)

    def _end(self) -> None:
        self._socket.close()
        self._process.wait()

    def run(self, arguments: tuple[str, ...], files: list[int]) -> int:
        """The exit code."""
        socket.send_fds(self._socket, [json.dumps(arguments).encode()], files)
        process = int(self._socket.recv(_LARGEST_MESSAGE))
        try:
            return int(self._socket.recv(_LARGEST_MESSAGE))
        except TimeoutError:
            os.kill(process, signal.SIGKILL)
            self._socket.recv(_LARGEST_MESSAGE)
            raise AssertionError(f"hbtable {' '.join(arguments)} came to no end in {LONG_SECONDS} s") from None


def _import_the_program() -> None:
    for name in _PACKAGES:
        package: Any = importlib.import_module(name)
        for module in pkgutil.walk_packages(package.__path__, f"{name}."):
            importlib.import_module(module.name)
    assert threading.active_count() == 1, "a fork has one thread"
    gc.freeze()


def _serve(connection: socket.socket) -> list[str]:
    """Returns in each fork, with the command's arguments. Exits when nobody is there that would ask."""
    while True:
        message, files, _, _ = socket.recv_fds(connection, _LARGEST_MESSAGE, 3)
        if not message:
            sys.exit(0)
        forked = os.fork()
        if not forked:
            connection.close()
            for number, file in enumerate(files):
                os.dup2(file, number)
                os.close(file)
            return list(json.loads(message))
        for file in files:
            os.close(file)
        connection.send(b"%d" % forked)
        _, status = os.waitpid(forked, 0)
        connection.send(b"%d" % os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    _import_the_program()
    sys.argv = ["hbtable", *_serve(socket.socket(fileno=int(sys.argv[1])))]
    runpy.run_module("hbtable", run_name="__main__", alter_sys=True)
