"""A real hbtable server process for tests: started by the command line, killed or stopped like an operator would."""

import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO

import happybase

from tests.harness.free_ports import free_ports


class ServerProcess:
    """`hbtable start` on a free loopback port over `folder`. Start again after a kill: same folder, same port."""

    def __init__(
        self, folder: Path, defines: Sequence[str] = (), port: int = 0, program: Sequence[str] = ("hbtable",)
    ) -> None:
        """`program`: a module and its first arguments, which stand for `hbtable`."""
        self.folder = folder
        self.program = program
        self.arguments: list[str] = []
        """Further ones of `start`."""
        self.defines = list(defines)
        self.port = port
        self.process: subprocess.Popen[str] | None = None
        self.start_seconds = 0.0
        self.errors = folder.parent / f"{folder.name}.stderr"

    def start(self) -> "ServerProcess":
        # None of those that outgoing connections get: one of these could take it while the server is down.
        self.port = self.port or free_ports(1)
        command = [sys.executable, "-m", *self.program, "start", "--data", str(self.folder), "--port", str(self.port)]
        for define in self.defines:
            command += ["-D", define]
        command += self.arguments
        begin = time.monotonic()
        with self.errors.open("a") as errors:
            self.process = self._begin(command, errors)
        assert self.process.stdout is not None
        lines = []
        for line in self.process.stdout:
            lines.append(line)
            if found := re.search(r"127\.0\.0\.1:(\d+)", line):
                self.port = int(found.group(1))
                self.start_seconds = time.monotonic() - begin
                return self
        raise AssertionError(f"the server did not start: {''.join(lines)}\n{self.errors.read_text()[-4000:]}")

    def _begin(self, command: list[str], errors: IO[str]) -> "subprocess.Popen[str]":
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)

    def connect(self, **options: object) -> happybase.Connection:
        return happybase.Connection("127.0.0.1", self.port, timeout=60000, **options)

    def kill(self) -> None:
        """kill -9."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()
        self._close_output()

    def stop(self, timeout_seconds: float = 60) -> int:
        """SIGTERM; the exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout_seconds)
        self._close_output()
        return code

    def _close_output(self) -> None:
        if self.process is not None and self.process.stdout is not None:
            self.process.stdout.close()

    def rss_bytes(self) -> int:
        return self._memory("VmRSS")

    def peak_bytes(self) -> int:
        """The largest RSS so far."""
        return self._memory("VmHWM")

    def forget_peak(self) -> None:
        """peak_bytes() is of what comes after this."""
        assert self.process is not None
        Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")

    def _memory(self, name: str) -> int:
        assert self.process is not None
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1]) * 1024
        raise AssertionError(f"no {name}")

    def __enter__(self) -> "ServerProcess":
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.process is not None and self.process.poll() is None:
            self.kill()
        self._close_output()
