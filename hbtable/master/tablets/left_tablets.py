"""Places tablets that servers gave up though this master did not ask for it (bug class 38).

The master before it may have: a server goes on with an unload when the master dies that asked for it. The next one
looks at all tablets when it starts, and finds the tablet still served; once it is given up, its rows would wait for the
next look. So servers tell which tablets left them, and where METADATA has these (tabletserver/served_tablets.py). Of
those that came to no other server, and that this master did not ask for itself (own_unloads.py), or whose answer seems
to be lost, the rows are read: a few at a time, and not more often than once in a second. As a rule there are none, also
where tablets are split, or thousands of them dropped.

What has no owner is placed as any tablet that was given up late (late_unloads.py).
"""

import logging
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, final

from hbtable.errors import HbtableError, LockLost
from hbtable.master.servers.server_reports import AskServers, ReportCollector
from hbtable.master.tablets.placement import Placement
from hbtable.metadata.catalog import Catalog
from hbtable.model.status import LeftTablet
from hbtable.model.tablet import METADATA_TABLE_ID, ROOT_TABLET_ID
from hbtable.runtime.interface import Runtime, Task
from hbtable.runtime.supervision import supervise
from hbtable.switches import switches

log = logging.getLogger(__name__)

_PERIOD_SECONDS: Final = 1.0
"""Between two looks. Longer: rows wait longer for a server; shorter: more questions to METADATA."""
_AT_ONCE: Final = 100
"""Rows of one look. More: METADATA has more to do at a time; fewer: where many are given up, the last wait longer."""
_FAILURES_AT_ONCE: Final = 4
"""Rows of one look that cannot be read; each takes MasterOptions.metadata_patience_seconds."""
_LOOKS: Final = 2
"""The number of times that a tablet is looked at whose row cannot be read, or names a server that does not have it.
More: a tablet whose server failed to change the row waits longer; fewer: looks at everything where servers are only
slow to do so."""
_MOST: Final = 10_000
"""That wait to be looked at. Beyond that a look at everything takes less time."""


class _Left(NamedTuple):
    """A tablet that left."""

    tablet: LeftTablet
    server: str
    looks: int = 0
    """At its row, so far."""
    is_late: bool = False
    """The master had it given up, the answer had not come at the last look, and nobody waited for it."""


@final
class LeftTablets:
    """Looks at the rows of tablets that left, in a task of its own: a look at all tablets may take minutes. `collector`
    knows what servers answered last, and `reports` asks them. `look_at_everything` is Master.request_cycle."""

    def __init__(
        self,
        runtime: Runtime,
        catalog: Catalog,
        placement: Placement,
        collector: ReportCollector,
        reports: AskServers,
        look_at_everything: Callable[[], None],
    ) -> None:
        self._runtime = runtime
        self._catalog = catalog
        self._placement = placement
        self._own = placement.own_unloads
        self._collector = collector
        self._reports = reports
        self._look_at_everything = look_at_everything
        self._waiting: dict[int, _Left] = {}
        """By tablet."""
        self._wake = runtime.event()
        self._stopping = False
        self._task: Task | None = None
        collector.on_left = self.saw
        collector.on_missed = look_at_everything

    def saw(self, server: str, tablets: Sequence[LeftTablet]) -> None:
        """These left the server. Does not switch."""
        for tablet in tablets:
            if not self._own.take(tablet.tablet_id):
                self._waiting[tablet.tablet_id] = _Left(tablet, server)
        if len(self._waiting) > _MOST:
            self._waiting.clear()
            self._look_at_everything()

    def start(self) -> None:
        """Idempotent."""
        if self._task is None:
            self._task = supervise(self._runtime, self._run, name="tablets that left")

    @switches
    def stop(self) -> None:
        """Idempotent."""
        self._stopping = True
        self._wake.set()
        if self._task is not None:
            self._task.join()
            self._task = None

    @switches
    def _run(self) -> None:
        while not self._stopping:
            try:
                if self._runtime.clock_seconds() - self._collector.collected_at > _PERIOD_SECONDS:
                    self._reports()  # the master's cycle is long at something else
                self.look()
            except LockLost:
                return  # the master's own task says so
            except HbtableError as error:
                log.debug("what left its server is looked at later: %s", error)
            self._wake.wait(_PERIOD_SECONDS)

    @switches
    def look(self) -> None:
        """At those that came first, after METADATA's: their rows tell where the rows of all others are. LockLost."""
        asked = failed = 0
        for left in sorted(self._waiting.values(), key=_of_metadata):
            tablet_id = left.tablet.tablet_id
            if asked == _AT_ONCE or failed == _FAILURES_AT_ONCE:
                return
            if self._waiting.get(tablet_id) is not left:
                continue  # it left again while another row was read, or a look at everything was asked for
            if self._own.take(tablet_id) or self._collector.has(tablet_id):
                self._waiting.pop(tablet_id, None)
            elif self._is_due(left):
                asked += 1
                failed += not self._look_at(left)

    @switches
    def _look_at(self, left: _Left) -> bool:
        """Whether its row could be read."""
        tablet, tablet_id = left.tablet, left.tablet.tablet_id
        try:
            current = self._catalog.read_tablet(tablet.table_id, tablet.stop_row)
        except LockLost:
            raise
        except HbtableError as error:
            log.debug("tablet %d, which left %s, is looked at later: %s", tablet_id, left.server, error)
            if self._waiting.get(tablet_id) is left:
                self._look_again(left)
            return False
        if self._waiting.get(tablet_id) is not left or not self._is_due(left):
            return True  # it left again meanwhile, or is asked for: later
        del self._waiting[tablet_id]
        if current is None or current.tablet_id != tablet_id:
            return True  # it was split, merged or dropped
        if current.is_merging():
            self._look_at_everything()
        elif not current.owner:
            log.info("master: tablet %d was given up by %s, and no master waits for it", tablet_id, left.server)
            self._placement.slow_loads.follow(lambda: self._placement.given_up_late(current, tablet.table))
        elif not self._collector.has(tablet_id):
            # Its server says so before METADATA does, or failed to say it there; or a master died that gave it to
            # another one, which was perhaps never asked to load it.
            self._look_again(left)
        return True

    def _is_due(self, left: _Left) -> bool:
        """False while whoever had it given up may see to it. A server tells what left before it answers who asked. That
        an answer is lost shows in this: nobody waits for it, and it has not come by the next look. Does not switch."""
        tablet_id = left.tablet.tablet_id
        if not self._own.is_under_way(tablet_id):
            return True
        if not self._placement.slow_loads.is_left(tablet_id, (left.server,)):
            return False
        if not left.is_late:
            self._waiting[tablet_id] = left._replace(is_late=True)
        return left.is_late

    def _look_again(self, left: _Left) -> None:
        """Behind the others, or at everything. Does not switch."""
        self._waiting.pop(left.tablet.tablet_id, None)
        if self._own.is_under_way(left.tablet.tablet_id):
            self._waiting[left.tablet.tablet_id] = left  # a look at everything passes over it
        elif left.looks + 1 < _LOOKS:
            self._waiting[left.tablet.tablet_id] = left._replace(looks=left.looks + 1)
        else:
            self._look_at_everything()


def _of_metadata(left: _Left) -> int:
    """The root tablet, METADATA's other tablets, all others."""
    return 0 if left.tablet.tablet_id == ROOT_TABLET_ID else 1 if left.tablet.table_id == METADATA_TABLE_ID else 2
