"""The `hbtable` command in a fork of a process that has imported the program already.

Two thirds of what a short command costs is Python's start and its imports. Tests that are about what a command does
with a folder or a server, and not about its start, take this one; what they see of it is the same: what it prints, how
it exits. Each process of the tests has one such server, which ends with it. It has no thread, no event loop, and no
file but the command's own.
"""

import atexit
import contextlib
import gc
import importlib
import json
import logging
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

from hbtable.hbase.codec.interface import ThriftInterface
from hbtable.shell.connection import interface
from tests.harness.commands import LONG_SECONDS, ROOT, environment
from tests.harness.waiting import SOON_SECONDS

_LARGEST_MESSAGE: Final = 1 << 17
_PIPE_BYTES: Final = 1 << 16
"""What a pipe holds for whoever reads later."""
_NUMBER: Final = 12
"""Bytes of a number in a report."""
_PACKAGES: Final = ("hbtable.launch", "hbtable.shell", "hbtable.repair")
_OF_A_START: Final = ("encodings.idna", "gevent.pool", "gevent.resolver.thread", "gevent.threadpool", "pprint")
"""What else a server imports until it serves."""


def run_warm(
    *arguments: str, given: str = "", env: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """As `run` of tests/harness/commands.py. `given`: what it may read from its stdin, a pipe. `env`: all of its
    environment; without it, that of the tests."""
    variables = environment(None) if env is None else env
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors, _pipe_of(given) as stdin:
        running = WarmProcess(arguments, variables, out.fileno(), errors.fileno(), stdin)
        try:
            code = running.wait(LONG_SECONDS)
        except subprocess.TimeoutExpired:
            running.kill()
            raise
        out.seek(0)
        errors.seek(0)
        return subprocess.CompletedProcess(
            ["hbtable", *arguments], code, out.read().decode("utf-8"), errors.read().decode("utf-8")
        )


@contextlib.contextmanager
def _pipe_of(given: str) -> Iterator[int]:
    content = given.encode()
    assert len(content) <= _PIPE_BYTES, "nobody reads yet"
    reading, writing = os.pipe()
    os.write(writing, content)
    os.close(writing)
    try:
        yield reading
    finally:
        os.close(reading)


class WarmProcess:
    """What tests use of subprocess.Popen. The working directory is the checkout; its stdin is empty, unless there is
    one."""

    def __init__(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        out: int,
        errors: int,
        stdin: int | None = None,
    ) -> None:
        self.returncode: int | None = None
        reading, report = os.pipe()
        with open(os.devnull, "rb") as nothing:
            _server().begin(
                {"arguments": arguments, "environment": dict(environment)},
                [nothing.fileno() if stdin is None else stdin, out, errors, report],
            )
        os.close(report)
        self._report = os.fdopen(reading, "rb", buffering=0)  # closed when the process has ended
        self.pid = int(self._report.read(_NUMBER))
        """Of the command."""

    def poll(self) -> int | None:
        return self._ended(0.0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._ended(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0)
        return code

    def _ended(self, seconds: float | None) -> int | None:
        if self.returncode is None and select.select([self._report], [], [], seconds)[0]:
            self.returncode = int(self._report.read(_NUMBER))
            self._report.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):  # it has ended since
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


@cache
def _server() -> "_Server":
    return _Server()


class _Server:
    """The process that forks, as its client sees it."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.harness.warm_commands", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env=environment(None),
                cwd=ROOT,
            )
        atexit.register(self._end)

    def _end(self) -> None:
        """It ends by itself when nobody can ask it any more. A run must not wait for one that does not."""
        self._socket.close()
        try:
            self._process.wait(SOON_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def begin(self, command: Mapping[str, object], files: list[int]) -> None:
        """`files`: its stdin, stdout and stderr, and where its number and then its exit code are written."""
        socket.send_fds(self._socket, [json.dumps(command).encode()], files)


def _import_the_program() -> None:
    for name in _PACKAGES:
        package: Any = importlib.import_module(name)
        for module in pkgutil.walk_packages(package.__path__, f"{name}."):
            importlib.import_module(module.name)
    for name in _OF_A_START:
        importlib.import_module(name)
    _read_the_interfaces()
    assert threading.active_count() == 1, "a fork has one thread"
    gc.freeze()


def _read_the_interfaces() -> None:
    """Half of what the start of a server takes otherwise. thriftpy2 keeps by name what it read."""
    ThriftInterface()
    for name in ("hbase", "admin", "hbase2"):
        interface(name)


def _serve(connection: socket.socket) -> list[str]:
    """Returns in each command's process, with its arguments. Exits when nobody is there that would ask."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that wait
    while True:
        message, files, _, _ = socket.recv_fds(connection, _LARGEST_MESSAGE, 4)
        if not message:
            sys.exit(0)
        if not os.fork():
            connection.close()
            return _begin(json.loads(message), *files)
        for file in files:
            os.close(file)


def _begin(command: dict[str, Any], stdin: int, stdout: int, stderr: int, report: int) -> list[str]:
    """One process waits for the command's, in which this returns: that of all others has no time to."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    forked = os.fork()
    if forked:
        os.write(report, b"%*d" % (_NUMBER, forked))
        for file in (stdin, stdout, stderr):
            os.close(file)
        _, status = os.waitpid(forked, 0)
        os.write(report, b"%*d" % (_NUMBER, os.waitstatus_to_exitcode(status)))
        os._exit(0)
    os.close(report)
    for number, file in enumerate((stdin, stdout, stderr)):
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(command["environment"])
    time.tzset()
    return list(command["arguments"])


def _run() -> None:
    """The command, in its process. Python would tear down each module at the end, and so copy all pages of its parent:
    two thirds of what a short command takes. What else it does at an end is done."""
    try:
        runpy.run_module("hbtable", run_name="__main__", alter_sys=True)
        code: object = 0
    except SystemExit as end:
        code = end.code
    if not isinstance(code, int | None):
        sys.exit(code)  # a text, which Python prints
    threading._shutdown()  # waits for threads, as Python's end does
    atexit._run_exitfuncs()
    logging.shutdown()
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        sys.exit(code)  # Python says so in its way
    os._exit((code or 0) & 0xFF)


if __name__ == "__main__":
    _import_the_program()
    sys.argv = ["hbtable", *_serve(socket.socket(fileno=int(sys.argv[1])))]
    _run()
