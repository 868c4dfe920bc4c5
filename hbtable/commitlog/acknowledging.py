"""The last step of a commit: its group is durable, so it is applied, counted, and whoever waits is told.

Both kinds of log end here, in the order of the groups' LSNs.
"""

import logging
from collections.abc import Callable
from typing import final

from hbtable.commitlog.ledger import SegmentLedger
from hbtable.commitlog.metrics import LogMetrics
from hbtable.commitlog.queue import CommitBatch
from hbtable.commitlog.state import LogState

logger = logging.getLogger(__name__)


@final
class Acknowledger:
    """Applies a durable group and wakes those who wait for it. `broke` is told of a commit that is durable and could
    not be applied: memory lacks then what the log has, and nothing may build on it."""

    __slots__ = ("_broke", "_ledger", "_metrics", "_state")

    def __init__(
        self, metrics: LogMetrics, ledger: SegmentLedger, state: LogState, broke: Callable[[BaseException], None]
    ) -> None:
        self._metrics = metrics
        self._ledger = ledger
        self._state = state
        self._broke = broke

    def acknowledge(self, batch: CommitBatch) -> None:
        """Applies a durable group and lets its waiters return. Does not switch: a reader sees all of the group or
        nothing of it, and before any waiter returns."""
        batch.refusals.clear()
        self._ledger.active.update(batch.tablets)
        self._metrics.records.value += batch.count
        self._metrics.bytes.value += batch.size_bytes
        self._metrics.groups.value += 1
        for apply in batch.applies:
            try:
                apply()
            except Exception as error:
                logger.exception("a durable log record could not be applied")
                self._broke(error)
                batch.error = (self._state.failure, self._state.reason)
        batch.done.set()
