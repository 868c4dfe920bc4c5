"""How long the shell takes to start, beside `python3 -c pass`, in turns and in one run (medians, milliseconds).

    python -m tests.bench.bench_start [--rounds 15]

`first prompt`: `hbtable shell` in a terminal of its own, from the start of the process to the prompt on the screen.
`get`: the whole of `hbtable get TABLE ROW` against a running server.
"""

import argparse
import os
import pty
import select
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.harness.server import ServerProcess


def whole(*words: str) -> Callable[[], float]:
    """Seconds of a process from start to end."""

    def run() -> float:
        begin = time.perf_counter()
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return time.perf_counter() - begin

    return run


def first_prompt(*words: str) -> Callable[[], float]:
    """Seconds until the prompt is there; the process is ended then."""

    def run() -> float:
        begin = time.perf_counter()
        child, terminal = pty.fork()
        if child == 0:
            os.environ["TERM"] = "xterm"
            os.execvp(words[0], words)
        seen = b""
        # The prompt's library asks the terminal where the cursor is; one that does not answer would be waited for.
        answered = False
        while b"hbase:001" not in seen:
            readable, _, _ = select.select([terminal], [], [], 20)
            assert readable, seen
            seen += os.read(terminal, 65536)
            if b"\x1b[6n" in seen and not answered:
                os.write(terminal, b"\x1b[1;1R")
                answered = True
        seconds = time.perf_counter() - begin
        os.kill(child, 9)
        os.waitpid(child, 0)
        os.close(terminal)
        return seconds

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    hbtable = str(Path(sys.executable).with_name("hbtable"))
    with tempfile.TemporaryDirectory() as folder, ServerProcess(Path(folder) / "data") as server:
        url = f"127.0.0.1:{server.port}"
        script = "create 't', 'f'\nput 't', 'r', 'f:a', 'v'\n"
        subprocess.run([hbtable, "shell", "-n", "--url", url], input=script, text=True, check=True, capture_output=True)
        measures = {
            "python3 -c pass": whole(sys.executable, "-c", "pass"),
            "hbtable get": whole(hbtable, "get", "--url", url, "t", "r"),
            "hbtable shell -n, version": whole(hbtable, "shell", "-n", "--url", url, "-e", "version"),
            "first prompt": first_prompt(hbtable, "shell", "--url", url),
        }
        found: dict[str, list[float]] = {name: [] for name in measures}
        for _ in range(rounds):
            for name, measure in measures.items():
                found[name].append(measure() * 1000)
    for name, times in found.items():
        print(f"{name:28} {statistics.median(times):6.0f} ms  (best {min(times):.0f}, worst {max(times):.0f})")


if __name__ == "__main__":
    main()
