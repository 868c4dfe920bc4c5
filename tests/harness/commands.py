"""The `hbtable` command as a stranger runs it: a process of its own, judged by what it prints and how it exits."""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Final

from tests.harness.waiting import SOON_SECONDS

LONG_SECONDS: Final = 4 * SOON_SECONDS
"""For what ends by itself: a start takes a second here, and many where a machine is slow and busy."""
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def run(*arguments: str, env: Mapping[str, str] | None = None, cwd: str = ROOT) -> "subprocess.CompletedProcess[str]":
    """Runs to its end, in some minutes at most."""
    command = [sys.executable, "-m", "hbtable", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=LONG_SECONDS, env=environment(env), cwd=cwd, check=False
    )


def run_python(program: str, cwd: str) -> "subprocess.CompletedProcess[str]":
    """A user's program, in a file, in an interpreter of its own that does not see this checkout's tests."""
    path = os.path.join(cwd, "program.py")
    with open(path, "w") as file:
        file.write(program)
    command = [sys.executable, "-W", "error", path]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=LONG_SECONDS, env=environment(None), cwd=cwd, check=False
    )


def environment(extra: Mapping[str, str] | None) -> dict[str, str]:
    """Without the configuration of whoever runs the tests; hbtable can be imported from anywhere."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HBTABLE_")}
    return {**kept, "PYTHONPATH": ROOT, "PYTHONUNBUFFERED": "1", **(extra or {})}


def run_example(name: str, *arguments: str) -> str:
    """What examples/NAME/NAME.py prints, with warnings as errors. AssertionError: it failed."""
    command = [sys.executable, "-W", "error", os.path.join(ROOT, "examples", name, f"{name}.py"), *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=LONG_SECONDS, env=environment(None), cwd=ROOT, check=False
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return done.stdout


class Running:
    """A command that stays: `banner` is what it printed up to the line that ends with `last`."""

    def __init__(self, *arguments: str, last: str = "everything acknowledged stays.") -> None:
        self._arguments: Sequence[str] = arguments
        self._last = last
        self.banner = ""
        self.seconds = 0.0

    def __enter__(self) -> "Running":
        begin = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "hbtable", *self._arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(None),
            cwd=ROOT,
        )
        try:
            self.banner = self._read_banner(begin + LONG_SECONDS)
        except BaseException:
            self.process.kill()
            self.process.communicate()
            raise
        self.seconds = time.monotonic() - begin
        return self

    def _read_banner(self, deadline: float) -> str:
        """A few lines: they fit into the pipe, and so do the log's lines into the other one."""
        assert self.process.stdout is not None
        out = b""
        while not out.decode("utf-8", "replace").rstrip().endswith(self._last):
            ready, _, _ = select.select([self.process.stdout], [], [], max(0.0, deadline - time.monotonic()))
            piece = os.read(self.process.stdout.fileno(), 65536) if ready else b""
            if not piece:
                self.process.kill()
                _, errors = self.process.communicate()
                raise AssertionError(f"no banner: {out!r}\n{errors.decode()[-4000:]}")
            out += piece
        return out.decode()

    def stop(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """(exit code, the log)."""
        self.process.send_signal(number)
        return self.wait()

    def wait(self) -> tuple[int, str]:
        _, errors = self.process.communicate(timeout=LONG_SECONDS)
        return self.process.returncode, errors.decode()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()
