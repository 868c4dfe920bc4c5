"""A server process for tests that are about what it answers: its start costs a third of what Python's own does."""

import os
import subprocess
from typing import IO, Any

from tests.harness.server import ServerProcess
from tests.harness.warm_commands import WarmProcess


class WarmServer(ServerProcess):
    """A fork of a process that has imported the program (tests/harness/warm_commands.py). What measures memory or a
    start, or is about the environment of a process, takes ServerProcess itself."""

    def _begin(self, command: list[str], errors: IO[str]) -> "subprocess.Popen[str]":
        reading, writing = os.pipe()
        process: Any = WarmProcess(command[3:], os.environ, writing, errors.fileno())
        os.close(writing)
        process.stdout = os.fdopen(reading)
        return process
