"""Which DataNodes answer nothing at all. HDFS goes on sending uploads to a frozen node for half a minute to ten
minutes.

Each node is asked over its HTTP port. A DataNode serves all connections with a few threads, and a thread that waits for
a broken pipeline keeps all of its connections waiting (netty; measured on 3.4.2: two threads a processor). So several
connections ask at a time, and one answer is enough.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Final, final

from hbtable.errors import Stalled, Unavailable
from hbtable.fs.blocking_calls import BlockingCalls
from hbtable.fs.webhdfs.datanodes import LiveNode
from hbtable.fs.webhdfs.requests import Http, NoAnswer, NotSent, WebHdfsRequest
from hbtable.runtime.interface import Event, Runtime
from hbtable.runtime.parallel import run_all
from hbtable.switches import switches

_TARGET: Final = "/webhdfs/v1/?op=GETSTATUS"
"""Not for DataNodes: they refuse it at once, which is an answer."""
_ASKED_AT_ONCE: Final = 4
_ANSWER_SECONDS: Final = 0.4
_ROUNDS: Final = 4
"""A busy one, or one that is asked the first time, takes longer."""
_FRESH_SECONDS: Final = 1.0
_FRESH_SUSPICION_SECONDS: Final = 0.2
"""Shorter than the log waits between two tries, or its tries all go to where the first one hangs."""
_UNHEARD_SECONDS: Final = 6.0
"""Without a heartbeat: a sound node's are at most 3 s apart."""
_MOST_NODES: Final = 16
"""Of so many it is rare that a file's few copies meet the one that is silent."""


@final
class SilentNodes:
    """Remembers which DataNodes do not answer. `living` gives the DataNodes that count as such, by HTTP address. Asks
    only when it is asked."""

    def __init__(
        self, runtime: Runtime, calls: BlockingCalls, http: Http, living: Callable[[], Mapping[str, LiveNode]]
    ) -> None:
        self._runtime = runtime
        self._calls = calls
        self._http = http
        self._living = living
        self._asked_at = float("-inf")
        self._asking: Event | None = None
        self.known: frozenset[str] = frozenset()
        """As of the last time, less than half of all. Empty as well when there are too many nodes."""
        self.unsure = False
        """Half of all or more did not answer, and their heartbeats do not tell yet which are frozen."""
        self._answered: frozenset[str] = frozenset()

    @switches
    def look(self) -> frozenset[str]:
        """*Switches* while no node is known to be silent. `known`, about a second old at most."""
        fresh_seconds = _FRESH_SECONDS if self.known else _FRESH_SUSPICION_SECONDS
        if self._asking is None and self._runtime.clock_seconds() - self._asked_at >= fresh_seconds:
            self._asking = self._runtime.event()
            self._runtime.spawn(self._renew, self._asking, name="webhdfs-silent")
        if self._asking is not None and not self.known:
            self._asking.wait()
        return self.known

    def answered(self, nodes: Collection[str]) -> bool:
        """The last time all of these did: they are neither silent nor gone."""
        return self._answered.issuperset(nodes)

    @switches
    def _renew(self, asking: Event) -> None:
        try:
            self.known = self._ask()
        finally:
            self._asked_at = self._runtime.clock_seconds()
            self._asking = None
            asking.set()

    @switches
    def _ask(self) -> frozenset[str]:
        nodes = self._living()
        self._answered, self.unsure = frozenset(), False
        if len(nodes) > _MOST_NODES:
            return frozenset()
        silent = frozenset(nodes)
        for _ in range(_ROUNDS):
            silent = self._without_answer(sorted(silent))
            self._answered = frozenset(nodes) - silent
            if 2 * len(silent) < len(nodes):
                return silent
        # This machine may be the one that is slow, or every thread of a sound node waits for the frozen one.
        unheard = frozenset(node for node in silent if nodes[node].unheard_seconds >= _UNHEARD_SECONDS)
        if 0 < 2 * len(unheard) < len(nodes):
            return unheard
        self.unsure = True
        return self.known & nodes.keys()

    @switches
    def _without_answer(self, nodes: list[str]) -> frozenset[str]:
        jobs = [lambda number=number: self._answers(nodes[number], number) for number in range(len(nodes))]
        answers = run_all(self._runtime, _ASKED_AT_ONCE * len(jobs), _ASKED_AT_ONCE * jobs, "webhdfs-silent")
        return frozenset(node for number, node in enumerate(nodes) if True not in answers[number :: len(nodes)])

    @switches
    def _answers(self, node: str, number: int) -> bool:
        request = WebHdfsRequest("GET", node, _TARGET, seconds=_ANSWER_SECONDS)
        try:
            self._calls.call(f"webhdfs-silent-{number}", 2 * _ANSWER_SECONDS, self._http, request)
        except (NotSent, NoAnswer, Stalled, Unavailable):
            return False
        return True
