"""A cluster for one's own program to run against while its servers die and stand still, and calls are lost.

    with FaultyCluster(servers=3, seed=7) as cluster:
        program(cluster.host, cluster.port)             # any client of HBase's Thrift, in any language
        cluster.lose_answer()                           # one fault, when a test wants it
        with cluster.faults(mean_seconds=0.5):          # or by chance, which the seed decides
            program(cluster.host, cluster.port)

The servers are real processes on this machine, and so are their deaths. The seed chooses the faults: a run with the
same one has them again in the same order, with the same time between one and the next. How far the program is by then,
and so which call is lost, differs from run to run.
"""

import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from random import Random
from types import TracebackType
from typing import Any, Final, NamedTuple, final

from hbtable.client.given import at_least_one
from hbtable.errors import WrongValue
from hbtable.model.values import shown
from hbtable.testing.lossy_proxy import LossyProxy
from hbtable.testing.server_pids import server_pids_of

KINDS: Final = ("kill", "pause", "lost request", "lost answer")
_LONGEST_PAUSE_SECONDS: Final = 2.0


class Fault(NamedTuple):
    """A fault that came by chance. All of it is drawn before it comes, so nothing of it depends on what servers do."""

    kind: str
    server: float
    """The place of its server among those that run then, ascending by their processes' numbers: from 0.0 to 1.0."""
    pause_seconds: float
    """The time for which a server stands still, if it is "pause"."""
    then_seconds: float
    """The time until the next fault, from when this one is over."""


@final
class FaultyCluster:
    """`servers` tablet servers, a master, and a port at which all of them answer. Used in a with block, which starts
    and ends it; its data is in a temporary folder."""

    host: Final = "127.0.0.1"

    def __init__(self, servers: int = 3, seed: int = 0) -> None:
        """`servers` from 1 to 16. `seed`: of the faults that come by chance. WrongValue."""
        if at_least_one("'servers'", servers) > 16:
            raise WrongValue(f"'servers' {shown(servers)} has to be a number from 1 to 16")
        self.port = 0
        """A free one, for clients. A client that goes to the servers by the addresses that these announce
        (hbtable.connect(route=True)) gets there past the faults of calls."""
        self._servers = servers
        self._seed = seed
        self._blocks = 0
        self._chance = Random(f"asked for {seed}")
        self.history: list[Fault] = []
        """The faults that faults() brought so far, with kills for which it was too early, which `count` leaves out.
        Those of its n-th block are the same in each cluster of this seed, as far as it came; `then_seconds` are in
        proportion to its `mean_seconds`."""
        self._count = Counter[str]()
        self._answers_by_then = -1
        """The number of answers at the last death by chance; less than any, before the first."""
        self._launcher = 0
        self._proxy: Any = None
        self._ending = ExitStack()

    @property
    def count(self) -> "Counter[str]":
        """The faults that took place so far, by kind."""
        return self._count + Counter(self._proxy.lost)

    def kill_server(self) -> None:
        """Ends one of the servers at once, by SIGKILL. Another process takes its place, and the others its tablets, by
        its log: what was acknowledged is there, usually within a second. Its connections break."""
        self._kill(self._chance.random())

    def _kill(self, server: float) -> None:
        with suppress(ProcessLookupError, IndexError):
            os.kill(self._pid(server), signal.SIGKILL)
            self._count["kill"] += 1

    def pause_server(self, seconds: float = 1.0) -> None:
        """Lets one of the servers stand still. Returns when it goes on. One that stands for ten seconds is ended, and
        replaced."""
        self._pause(self._chance.random(), seconds)

    def _pause(self, server: float, seconds: float) -> None:
        with suppress(ProcessLookupError, IndexError):
            pid = self._pid(server)
            os.kill(pid, signal.SIGSTOP)
            self._count["pause"] += 1
            threading.Event().wait(seconds)
            os.kill(pid, signal.SIGCONT)

    def _pid(self, server: float) -> int:
        """IndexError: none runs now."""
        pids = server_pids_of(self._launcher)
        return pids[int(server * len(pids))]

    def lose_request(self) -> None:
        """The next request does not arrive, so nothing of it is done, and its connection breaks. To its client this
        looks as lose_answer()."""
        self._proxy.lose("lost request")

    def lose_answer(self) -> None:
        """The next answer does not arrive, so its request was carried out, and its connection breaks."""
        self._proxy.lose("lost answer")

    @contextmanager
    def faults(self, mean_seconds: float = 0.5, kinds: Sequence[str] = KINDS) -> Iterator[None]:
        """Faults of these kinds while the with block runs, the first one at once, the others so far apart in the mean.
        No server is killed before an answer has come since the last one was: on a machine where a start takes longer
        than that, servers would die before any could serve. Behind the block nothing new is broken; the tablets of
        servers that died may still be under way. WrongValue."""
        if not kinds or not set(kinds) <= set(KINDS):
            raise WrongValue(f"'kinds' {shown(kinds)} has to be some of {', '.join(map(repr, KINDS))}")
        if not 0.01 <= mean_seconds <= 3600:
            raise WrongValue(f"'mean_seconds' {shown(mean_seconds)} has to be from 0.01 to 3600")
        self._blocks += 1
        chance, ended = Random(f"faults {self._seed} {self._blocks}"), threading.Event()

        def run() -> None:
            for fault in _by_chance(chance, mean_seconds, kinds):
                self._one(fault)
                self.history.append(fault)
                if ended.wait(fault.then_seconds):
                    return

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            self._proxy.lose(None)

    def _one(self, fault: Fault) -> None:
        if fault.kind == "kill":
            if self._proxy.answers > self._answers_by_then:
                self._answers_by_then = self._proxy.answers
                self._kill(fault.server)
        elif fault.kind == "pause":
            self._pause(fault.server, fault.pause_seconds)
        elif fault.kind == "lost request":
            self.lose_request()
        else:
            self.lose_answer()

    def __enter__(self) -> "FaultyCluster":
        """Unavailable: it did not start."""
        from hbtable.launch.servers.started_server import started_server

        # What dies here is a process, and not the machine: a log that the system has is not lost.
        started = self._ending.enter_context(started_server(self._servers, ("log.durability=os",)))
        self._launcher = started.pid
        self._proxy = LossyProxy(started.port)
        self._ending.callback(self._proxy.close)
        self.port = self._proxy.port
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._ending.close()


def _by_chance(chance: Random, mean_seconds: float, kinds: Sequence[str]) -> Iterator[Fault]:
    """Faults without an end, the same ones for the same generator."""
    while True:
        yield Fault(
            chance.choice(kinds),
            chance.random(),
            chance.uniform(0.1, _LONGEST_PAUSE_SECONDS),
            chance.expovariate(1.0) * mean_seconds,
        )
