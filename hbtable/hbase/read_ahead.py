"""Read-ahead of one connection: after a large answer of a scanner the next one is made while the client digests this.

It is made by the connection's own task, before the next call is read, so that nothing else of the client goes on
meanwhile. It is kept for one call, and given out only if that is the expected one and would be answered the same way
then: no write, no split and no revoked right is passed over. Everything else drops it.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, final

from hbtable.errors import HbtableError
from hbtable.hbase.codec.interface import GROWTH, ThriftMethod
from hbtable.hbase.codec.large_answers import LargeAnswer
from hbtable.runtime.memory_budget import SMALL_BYTES, MemoryBudget, MemoryReservation
from hbtable.switches import switches

_LOG: Final = logging.getLogger(__name__)
_LARGEST_BYTES: Final = 2 << 20
"""After a larger answer none is made: the client waits for its bytes, and not for the server."""
Answer = bytes | LargeAnswer
Reply = Callable[[ThriftMethod, int, Any], Answer]


class _Made(NamedTuple):
    """A call that may come, and its answer. `take`: see scanner_calls.PageAhead."""

    method: ThriftMethod
    sequence: int
    values: Sequence[object]
    answer: Answer
    take: Callable[[], bool]


@final
class ReadAhead:
    """The answer that one connection has ready, if any."""

    __slots__ = ("_budget", "_kept", "made")

    def __init__(self, budget: MemoryBudget) -> None:
        self._budget = budget
        self._kept: MemoryReservation | None = None
        self.made: _Made | None = None

    def drop(self) -> None:
        self.made = None
        if self._kept is not None:
            self._budget.let_go(self._kept)
            self._kept = None

    @switches
    def take(self, method: ThriftMethod, sequence: int, values: Sequence[object]) -> Answer | None:
        """The answer to this call. None: it has to be carried out. Nothing is ready afterwards."""
        made = self.made
        self.drop()
        if made is None or made.method is not method or made.sequence != sequence or made.values != values:
            return None
        return made.answer if made.take() else None

    @switches
    def make(
        self, method: ThriftMethod, sequence: int, values: Sequence[object], reply: Reply, sent_bytes: int
    ) -> None:
        """Has the answer to the call that is expected after this one, whose answer had so many bytes."""
        if method.look_ahead is None or not SMALL_BYTES < sent_bytes <= _LARGEST_BYTES:
            return
        make_page = method.look_ahead(sent_bytes, *values)
        if make_page is None:
            return
        self._kept = self._budget.keep(GROWTH * sent_bytes, self.drop)
        if self._kept is None:
            return
        expected = sequence + 1 if sequence else 0  # some clients count their calls, others send 0 with each
        page = answer = None
        try:
            page = make_page()
            if page is not None:
                answer = reply(method, expected, page.answer)
        except HbtableError:
            pass  # the call will tell
        except Exception:  # noqa: BLE001 - the answer before it was sent, and the call may never come
            _LOG.exception("the answer to a %s that may come failed in an unforeseen way", method.name)
        self.drop()
        if page is None or answer is None:
            return
        self._kept = self._budget.keep(len(answer), self.drop)
        if self._kept is not None:
            self.made = _Made(method, expected, values, answer, page.take)
