"""Runs tests on a machine that stands still now and then: does one of them take it for a fault of the program?

Every process that the command starts, servers in sessions of their own included, stops at the same moment and goes on
some seconds later, as on a machine that others use as well. What a test stopped by itself stays stopped.

    python -m tests.campaigns.standing_still [--seconds 5] [--every 10] [--seed N] -- pytest tests/integration

Exits as the command does. A test that fails here and not without it takes for granted that something is done in time.
Sessions of a lock service end when all stands still for longer than they last: keep --seconds below that.
"""

import argparse
import ctypes
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

_PR_SET_CHILD_SUBREAPER: Final = 36


def adopt_orphans() -> None:
    """From now on this process is the parent of what its descendants leave behind (prctl(2))."""
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def descendants(pid: int) -> Iterator[int]:
    """Those that live now."""
    for task in _listed(Path(f"/proc/{pid}/task")):
        with suppress(OSError):
            for child in (task / "children").read_text().split():
                yield int(child)
                yield from descendants(int(child))


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:  # it has just ended
        return []


def stop_all(pid: int) -> list[int]:
    """Every descendant that runs stops; which."""
    stopped: list[int] = []
    while running := [one for one in descendants(pid) if one not in stopped and _runs(one)]:
        for one in running:  # and look again: one of them may have started another meanwhile
            with suppress(ProcessLookupError):
                os.kill(one, signal.SIGSTOP)
            stopped.append(one)
    return stopped


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "TtZX"
    except OSError:
        return False


def go_on(pids: Sequence[int]) -> None:
    for one in pids:
        with suppress(ProcessLookupError):
            os.kill(one, signal.SIGCONT)


def run(command: Sequence[str], seconds: float, every_seconds: float, chance: random.Random) -> tuple[int, int]:
    """The command's exit code, and how often all stood still."""
    adopt_orphans()
    process = subprocess.Popen(command)
    try:
        return _until_it_ends(process, seconds, every_seconds, chance)
    except BaseException:
        process.terminate()
        raise


def _until_it_ends(
    process: "subprocess.Popen[bytes]", seconds: float, every_seconds: float, chance: random.Random
) -> tuple[int, int]:
    times = 0
    while True:
        with suppress(subprocess.TimeoutExpired):
            return process.wait(chance.uniform(0, 2 * every_seconds)), times
        stopped = stop_all(os.getpid())
        try:
            time.sleep(seconds)
        finally:
            go_on(stopped)
        times += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0, help="for which all stands still")
    parser.add_argument("--every", type=float, default=10.0, help="seconds between two times, on average")
    parser.add_argument("--seed", type=int, default=0, help="0: chosen now and printed")
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    seed = arguments.seed or random.randrange(1 << 30)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # nobody stays stopped
    code, times = run(arguments.command, arguments.seconds, arguments.every, random.Random(seed))
    print(f"all stood still {times} times for {arguments.seconds:g} s; exit code {code}; seed {seed}")
    sys.exit(code)


if __name__ == "__main__":
    main()
