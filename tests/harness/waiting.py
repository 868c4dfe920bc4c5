"""Waits and limits for tests on a machine that others use as well, which may stand still for seconds, and what becomes
of processes that are to end or to halt."""

import os
import re
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

SOON_SECONDS: Final = 60.0
"""For what need only come at all: a machine that others use as well may stand still for seconds."""
_PAUSE_SECONDS: Final = 0.05
_STOOD_STILL: Final = re.compile(r" WARNING hbtable\.runtime\.hub_lag: the hub stood still for ")


def in_time(seconds: float) -> float:
    """A limit of the issue's, for a test that measures. In CI, whose machine is shared, three times as much: there it
    is the order of magnitude that counts."""
    return 3 * seconds if os.environ.get("CI", "").lower() == "true" else seconds


class RunningTime:
    """Seconds since it was made, without those in which this process stood still: it was stopped, or its machine was,
    and then those it waits for stood still as well. Only pauses are looked at: each may last longer by what it asked
    for and a fifth of a second, which a busy machine takes."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], object] = time.sleep):
        self._clock = clock
        self._sleep = sleep
        self._began = clock()

    def pause(self, seconds: float) -> None:
        before = self._clock()
        self._sleep(seconds)
        late = self._clock() - before - 2 * seconds - 0.2
        self._began += max(0.0, late)

    def seconds(self) -> float:
        return self._clock() - self._began


def eventually(holds: Callable[[], bool], seconds: float, what: str) -> None:
    """Asks every 50 ms until it holds; AssertionError naming `what` when it does not in time. Time in which this
    process stood still does not count, and the last time that it asks is after the end of that time."""
    running = RunningTime()
    last = False
    while not holds():
        if last:
            raise AssertionError(f"not within {seconds} s: {what}")
        running.pause(_PAUSE_SECONDS)
        last = running.seconds() > seconds


def of_the_program(lines: Iterable[str]) -> list[str]:
    """These lines of a role's log without those that say that its machine stood still for a second."""
    return [line for line in lines if not _STOOD_STILL.search(line)]


def freeze(pid: int) -> None:
    """SIGSTOP; on return none of its threads runs any more, which kill(2) does not wait for."""
    os.kill(pid, signal.SIGSTOP)
    eventually(lambda: all(state in "TtZX" for state in _threads(pid)), SOON_SECONDS, f"a halt of process {pid}")


def runs(pid: int) -> bool:
    """A process that nobody has waited for yet (Z) has ended, but one that is killed shows Z (proc_pid_stat(5)) while
    threads of it are still on their way out, and until the last of them is, its ports take connections."""
    try:
        return _state(f"/proc/{pid}/stat") not in "ZX" or len(os.listdir(f"/proc/{pid}/task")) > 1
    except (FileNotFoundError, ProcessLookupError):
        return False


def _threads(pid: int) -> Iterator[str]:
    """The state of each."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        with suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
            yield _state(f"/proc/{pid}/task/{thread}/stat")


def _state(path: str) -> str:
    return Path(path).read_text().rpartition(")")[2].split()[0]
