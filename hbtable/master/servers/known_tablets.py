"""The tablets of one server as the master knows them: its answers tell what changed, and are applied here."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final, final

from hbtable.errors import HbtableError, UnsupportedFormat
from hbtable.master.servers.tablet_loads import TabletLoads
from hbtable.model.status import EVERY_TABLE, LeftTablet, ServedChanges, ServedTablet
from hbtable.model.tablet import METADATA_TABLE_ID
from hbtable.rpc.services import TabletAdmin
from hbtable.switches import switches

_WHOLE_SECONDS: Final = 60.0
"""After which everything is asked for again: how large tablets are is told with their other changes only."""
_SEEN_AT_ONCE: Final = 1024


@final
class KnownTablets:
    """The tablets of one living server. The attributes are as of its last answer."""

    def __init__(
        self,
        loads: TabletLoads | None = None,
        server: str = "",
        left: Callable[[str, Sequence[LeftTablet]], None] = lambda server, tablets: None,
        missed: Callable[[str], None] = lambda server: None,
    ) -> None:
        """`loads` is told what the server counted, and `left` what it does not serve any more. `missed` is called
        instead where tablets may have left of which it does not tell. They must not switch."""
        self._left = left
        self._missed = missed
        self._loads = loads or TabletLoads()
        self._server = server
        self.tablet_ids: frozenset[int] = frozenset()
        self.sstable_bytes = 0
        self.user_tablets = 0
        """Of them, those that are not METADATA's."""
        self.oldest_schemas: dict[int, int] = {}
        """By table."""
        self._tablets: dict[int, ServedTablet] = {}
        self._versions: dict[int, Counter[int]] = {}
        """By table: of each version of its schema, how many tablets use it."""
        self._number = 0
        """Of the server's last change that is known."""
        self._heard: int | None = None
        """The number of the change up to which it is known what left. Less than `_number` after an answer with
        everything that is served, which does not tell that. None: the server has not answered yet."""
        self._first_failed = False
        """A question failed that began before the first answer: whoever asked went on without what that tells."""
        self._whole_at = -math.inf
        self._tells_changes = True

    @switches
    def ask(self, server: TabletAdmin, table_id: int, now: float, pause: Callable[[], object] = lambda: None) -> None:
        """Asks the server. What is known of this table, at least, is as of the call. Errors of the call. `pause` lets
        other tasks run, where thousands of tablets changed."""
        first = self._whole_at == -math.inf
        try:
            self._ask(server, table_id, now, pause)
        except HbtableError:
            self._first_failed |= first
            raise
        if self._first_failed:
            self._first_failed = False
            self._missed(self._server)

    @switches
    def _ask(self, server: TabletAdmin, table_id: int, now: float, pause: Callable[[], object]) -> None:
        if self._tells_changes:
            since = (self._heard or 0) if now - self._whole_at < _WHOLE_SECONDS else 0
            try:
                self._apply(since, server.served_changes(since), now, pause)
                if not since and self._heard and self._heard < self._number:
                    since = self._heard
                    self._apply(since, server.served_changes(since), now, pause)
                return
            except UnsupportedFormat:
                self._tells_changes = False  # of an older release
        table_id = table_id if self._whole_at > -math.inf else EVERY_TABLE
        found = server.tablets(table_id)
        self._whole_at = now
        kept = [one for one in self._tablets.values() if table_id not in (EVERY_TABLE, one.table_id)]
        told = [
            ServedTablet(
                one.record.table_id,
                one.record.tablet_id,
                one.schema_version,
                one.sstable_bytes,
                one.reads,
                one.writes,
            )
            for one in found
        ]
        self._loads.saw(self._server, told, now)
        tables = {one.table_id for one in told}  # some answer with every table
        self._hold([*(one for one in kept if one.table_id not in tables), *told])

    @switches
    def _apply(
        self, since: int, changes: ServedChanges, now: float, pause: Callable[[], object] = lambda: None
    ) -> None:
        """`since` is what was asked for."""
        served = changes.served
        for first in range(0, len(served), _SEEN_AT_ONCE):
            if len(served) > _SEEN_AT_ONCE:
                pause()
            if changes.number < self._number:
                break
            self._loads.saw(self._server, served[first : first + _SEEN_AT_ONCE], now)
        self._hear(since, changes)
        if changes.number < self._number:
            return  # a later question was answered first, or meanwhile, and told of all this
        if changes.whole:
            self._whole_at = now
            self._hold(changes.served)
        elif changes.number > self._number and (changes.served or changes.gone):
            self._leave(changes.gone)
            self._leave([one.tablet_id for one in changes.served])
            self._come(changes.served)
        self._number = changes.number

    def _hear(self, since: int, changes: ServedChanges) -> None:
        """Passes on what left, once: of questions that began with the same number, the first one's answer counts."""
        if not self._heard:  # whoever asks first looks at all tablets
            if self._heard == 0 and changes.number > len(changes.served):
                self._missed(self._server)  # one came, and may have left, after an answer that nothing is served
            self._heard = changes.number
        elif since == self._heard:
            self._heard = changes.number
            if not changes.whole:
                self._left(self._server, changes.left)
            else:  # so many changed that the server has forgotten some
                self._missed(self._server)

    def _hold(self, tablets: list[ServedTablet]) -> None:
        for counted in (self._tablets, self._versions, self.oldest_schemas):
            counted.clear()
        self.sstable_bytes = self.user_tablets = 0
        self._come(tablets)

    def _leave(self, tablet_ids: list[int]) -> None:
        left = [self._tablets.pop(tablet_id) for tablet_id in tablet_ids if tablet_id in self._tablets]
        self._count(left, -1)

    def _come(self, tablets: list[ServedTablet]) -> None:
        self._tablets.update([(one.tablet_id, one) for one in tablets])
        self._count(tablets, 1)
        self.tablet_ids = frozenset(self._tablets)

    def _count(self, tablets: list[ServedTablet], by: int) -> None:
        """All at once: of thousands each step costs."""
        self.sstable_bytes += by * sum([one.sstable_bytes for one in tablets])
        self.user_tablets += by * sum([one.table_id != METADATA_TABLE_ID for one in tablets])
        for (table_id, version), number in Counter([(one.table_id, one.schema_version) for one in tablets]).items():
            versions = self._versions.setdefault(table_id, Counter())
            versions[version] += by * number
            if not versions[version]:
                del versions[version]
            if versions:
                self.oldest_schemas[table_id] = min(versions)
            else:
                del self._versions[table_id], self.oldest_schemas[table_id]
