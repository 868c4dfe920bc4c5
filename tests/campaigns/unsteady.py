"""Runs tests whose threads and processes are held up at random: does one of them take that for a fault of the program?

Again and again some threads of what the command started stand still, for 10 ms to 2.6 s: one of them, a whole process,
all but one process, or each by chance; or they are slow, for four times as long. So a test goes on before the server
that it asked, a server before its test, and a thread of either before its others. All of it has one processor, for
which something else asks, too.

    python -m tests.campaigns.unsteady [--seed N] [--share 0.3] [--cores 1] [--beside 1] -- pytest tests/integration

Exits as the command does. A test that fails here alone takes for granted that something is done by then, or in time;
run it again, some times: threads make no schedule twice, whatever the seed. Sessions of a lock service outlast what is
held up here; with CI=true those of the tests are three times as long.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from tests.campaigns.standing_still import adopt_orphans, descendants
from tests.harness.held_threads import HeldThreads

_SHORTEST_SECONDS: Final = 0.01
_DOUBLINGS: Final = 8
"""Each length is as likely as the double of it: some tests fail when a thread is late for seconds, others only when it
is late at one moment, which short delays meet more often."""
_SLOW_FOR: Final = 4
"""Times as long as they would be held up, some threads are slow instead, and others quicker than they."""
_REST_SECONDS: Final = 0.02


def choose(threads_of: dict[int, list[int]], chance: random.Random) -> list[int]:
    """The threads to hold up next, of these processes'."""
    pids = sorted(threads_of)
    kind, one = chance.random(), chance.choice(pids)
    if kind < 0.4:
        return [one if chance.random() < 0.3 else chance.choice(threads_of[one])]
    if kind < 0.7:
        return threads_of[one]
    if kind < 0.8:
        return [thread for pid in pids if pid != one for thread in threads_of[pid]]
    return [thread for pid in pids for thread in threads_of[pid] if chance.random() < 0.3]


def threads_of(pids: Iterable[int]) -> dict[int, list[int]]:
    """Of those processes that live now."""
    found = {}
    for pid in pids:
        try:
            found[pid] = sorted(int(name) for name in os.listdir(f"/proc/{pid}/task"))
        except OSError:  # it has just ended
            continue
    return {pid: threads for pid, threads in found.items() if threads}


class Delays:
    """Holds up what one command started, until the command ends."""

    def __init__(self, command: Sequence[str], share: float, cores: int, chance: random.Random) -> None:
        """`share`: of the time in which something is held up. `cores`: how many processors all of it has."""
        self.times = 0
        self._rest = (1 - share) / share
        self._chance = chance
        self._apart = set(descendants(os.getpid()))
        self._process = subprocess.Popen(command)
        os.sched_setaffinity(self._process.pid, first_processors(cores))

    def run(self) -> int:
        """The command's exit code."""
        try:
            while self._process.poll() is None:
                seconds = _SHORTEST_SECONDS * 2 ** self._chance.uniform(0, _DOUBLINGS)
                time.sleep(_REST_SECONDS + self._chance.uniform(0, 2) * self._rest * seconds)
                self._reap()
                self._hold(seconds)
        except BaseException:
            self._process.terminate()
            raise
        return self._process.returncode

    def _hold(self, seconds: float) -> None:
        running = threads_of(pid for pid in descendants(os.getpid()) if pid not in self._apart)
        if not running:
            return
        chosen = choose(running, self._chance)
        if self._chance.random() < 0.5:
            slow_down(chosen, _SLOW_FOR * seconds)
        else:
            with HeldThreads(chosen):
                time.sleep(seconds)
        self.times += 1

    def _reap(self) -> None:
        """Waits for processes that the command's left behind and that have ended, as the first process of a system."""
        while ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            if ended.si_pid == self._process.pid:
                return
            os.waitpid(ended.si_pid, 0)


def slow_down(threads: Sequence[int], seconds: float) -> None:
    """For so long they have a processor for some milliseconds at a time, and then for twenty nothing."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with HeldThreads(threads):
            time.sleep(0.02)
        time.sleep(0.003)


def first_processors(cores: int) -> list[int]:
    """Of those that this process may use."""
    return sorted(os.sched_getaffinity(0))[:cores]


@contextmanager
def busy(count: int, cores: int) -> Iterator[None]:
    """So many processes compute on these processors meanwhile."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        for loop in loops:
            os.sched_setaffinity(loop.pid, first_processors(cores))
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0, help="0: chosen now and printed")
    parser.add_argument("--share", type=float, default=0.3, help="of the time in which something is held up")
    parser.add_argument("--cores", type=int, default=1, help="how many processors the command has")
    parser.add_argument("--beside", type=int, default=1, help="how many processes compute on these meanwhile")
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    seed = arguments.seed or random.randrange(1, 1 << 30)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # the loops beside end with it
    adopt_orphans()
    with busy(arguments.beside, arguments.cores):
        delays = Delays(arguments.command, arguments.share, arguments.cores, random.Random(seed))
        code = delays.run()
    print(f"held up {delays.times} times; exit code {code}; seed {seed}")
    sys.exit(code)


if __name__ == "__main__":
    main()
