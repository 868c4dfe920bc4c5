"""`hbtable start --servers N` as a child process over a temporary folder: to measure it or test programs. The machine's
configuration files are not for it, and it ends with its parent. Where that is killed the folder stays until the next
one is made."""

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from hbtable.errors import Unavailable
from hbtable.runtime.processes.temporary_folder import temporary_folder

_STOP_SECONDS: Final = 60


class StartedServer(NamedTuple):
    """The launcher of server processes; it serves on 127.0.0.1."""

    port: int
    pid: int


@contextmanager
def started_server(count: int, defines: Sequence[str] = ()) -> Iterator[StartedServer]:
    """So many server processes behind a free port, until the with block or this process ends. `defines`:
    SECTION.KEY=VALUE. Variables configure it, too. Unavailable: it did not start."""
    with temporary_folder("hbtable-own-") as (folder, descriptor), Path(folder, "errors").open("w+") as errors:
        configuration = Path(folder, "hbtable.toml")
        configuration.touch()
        command = [sys.executable, "-m", "hbtable.launch.servers.held_launcher", "start"]
        command += ["--config", str(configuration), "--data", str(Path(folder, "data"))]
        command += ["--host", "127.0.0.1", "--port", "0"]
        command += ["--servers", str(count), *(word for define in defines for word in ("-D", define))]
        process = subprocess.Popen(  # noqa: S603 -- this very program
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, pass_fds=(descriptor,)
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            found = next((port for line in process.stdout if (port := re.search(r"127\.0\.0\.1:(\d+)", line))), None)
            if found is None:
                errors.seek(0)
                raise Unavailable(f"the server of {count} processes did not start: {errors.read()[-1000:]}")
            yield StartedServer(int(found[1]), process.pid)
        finally:
            process.terminate()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            process.stdin.close()
            process.stdout.close()
