"""The wait of the next group for commits that are on their way to it (paper, section 6: group commit).

A client commits again as soon as it has heard that its last commit is durable. Of three such clients the first to come
would begin a sync, and the other two would wait for that one and then for their own: two syncs for three commits. A
wait that is shorter than a sync has all three in one.

Nobody waits for more commits than there were a moment ago, so a client that is alone never does; nor for longer than a
sync takes, so a client that went away costs the others one sync, once. A wait that took so long was in vain: some
groups go without one then, and after the next such wait twice as many. Clients that think for longer than a sync, or
that get no processor, are hardly waited for.
"""

from typing import Final, final

from hbtable.commitlog.queue import CommitBatch, CommitQueue
from hbtable.commitlog.state import LogState
from hbtable.metrics.registry import Histogram
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches

_ENOUGH: Final = 8
"""So many commits share the cost of a sync well enough; with more of them the hub has better things to do than to
wait: it decodes some while others are synced."""
_LONGEST_SECONDS: Final = 0.005
_SHORTEST_SECONDS: Final = 0.0001
"""Of a sync for which a wait is worth it: a commit takes a third of that before it is in the queue."""
_MOST_IN_VAIN: Final = 63
"""So many groups go without a wait at most before there is another one."""


@final
class GroupGathering:
    """Of a log whose commits wait for a sync. `sync_seconds`: the histogram in which the log counts its syncs.
    `takes_alone`: whether a commit that nobody else waits with is written by its own task."""

    __slots__ = (
        "_expected", "_hurried", "_in_vain", "_queue", "_runtime", "_seconds", "_state", "_sync_seconds",
        "_takes_alone", "_total", "alone",
    )  # fmt: skip

    def __init__(
        self, runtime: Runtime, queue: CommitQueue, state: LogState, sync_seconds: Histogram, takes_alone: bool
    ) -> None:
        self._runtime = runtime
        self._queue = queue
        self._takes_alone = takes_alone
        self._state = state
        self._sync_seconds = sync_seconds
        self._total = sync_seconds.total
        self._seconds = 0.0
        """Of a sync: the mean of the last ones, of which the newest weighs most."""
        self._expected = 1
        self._hurried = 0
        """So many groups still go without a wait."""
        self._in_vain = 0
        """So many went without one after the last wait that was in vain; 0 when the last one was not."""
        self.alone = takes_alone
        """The last group was of one commit: to gather the next one would be to wait for nobody."""

    @switches
    def next_batch(self) -> CommitBatch | None:
        """*Switches.* Takes the oldest batch of the queue, which must be there, once it holds as many commits as are
        expected, or a sync's time is over. None when the log broke meanwhile, and who waited was told."""
        waiting, wanted = self._queue.batches, min(self._expected, _ENOUGH)
        if len(waiting) == 1 and len(waiting[0].applies) < wanted and self._seconds >= _SHORTEST_SECONDS:
            if self._hurried:
                self._hurried -= 1
            elif not self._state.closing:
                self._await(wanted)
        return self._queue.take() if waiting else None

    @switches
    def _await(self, commits: int) -> None:
        limit_seconds = min(self._seconds, _LONGEST_SECONDS)
        began = self._runtime.clock_seconds()
        self._queue.await_commits(commits, limit_seconds)
        # By the clock: where others have the processor, a wait takes long even for those who come.
        paid = self._runtime.clock_seconds() - began < limit_seconds
        self._hurried = self._in_vain = 0 if paid else min(2 * self._in_vain + 1, _MOST_IN_VAIN)

    def acknowledged(self, batch: CommitBatch) -> None:
        """The sync of `batch` is over. Those that were in it are expected again, with those that wait already."""
        count, waiting = len(batch.applies), self._queue.batches
        self.alone = self._takes_alone and count == 1
        self._expected = count + (len(waiting[0].applies) if waiting else 0)
        total = self._sync_seconds.total
        self._seconds += (total - self._total - self._seconds) / 8
        self._total = total
