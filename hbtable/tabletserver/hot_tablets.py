"""Finds tablets whose requests take too much of their server's processor, and the row at which a split halves them.

A tablet is hot while its part of the processor is at least `hot_split_share`, with `hot_split_requests` a second: the
time that this process takes, shared out by the work that requests made for each tablet (tablet/heat.py). When it was
hot for `hot_split_seconds` the rows that were sampled meanwhile say where to split it. The halves are two tablets of
half the load, and the master's balancer gives one of them to another server.

It ends, whatever the load is:

  * half of a load that is just too much is not too much, so there are fewer hot splits than that load has parts
  * each side has a quarter of the load at least, all the time: one hot row is never split off, nor is what moves on, as
    ascending rows do. A tablet without such a row is looked at again ten minutes later
  * a tablet that is younger than five minutes is left alone: before the balancer has moved one of the halves, both are
    as much for this server as the whole was
  * neighbours with many requests are not merged again (master/tablets/normalizing.py)
"""

import logging
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, final

from hbtable.metrics.registry import Registry
from hbtable.model.names import shown
from hbtable.model.schema import TableSchema
from hbtable.model.tablet import METADATA_TABLE_ID, TabletRecord
from hbtable.runtime.interface import Runtime
from hbtable.runtime.slices import in_slices
from hbtable.switches import switches
from hbtable.tablet.splitting import halving_row
from hbtable.tablet.tablet import Tablet
from hbtable.tabletserver.maintenance_plan import MaintenanceOptions, Split

log = logging.getLogger(__name__)

_LOOKS: Final = 6
"""Within `hot_split_seconds`. More: a shorter pause of the load counts as its end."""
_YOUNG_MILLIS: Final = 300_000
_REST_SECONDS: Final = 600.0


class _Seen(NamedTuple):
    """A tablet at the last look."""

    tablet: Tablet
    work: int
    requests: int


class _Hot(NamedTuple):
    """A tablet that is hot, whose rows are sampled. `since`: clock_seconds()."""

    tablet: Tablet
    since: float


class _Wanted(NamedTuple):
    """A split that is to be made of this tablet, at this time at the latest: what was measured is old then."""

    tablet: Tablet
    split: Split
    until: float


@final
class HotTablets:
    """Of one server. `note` tells the tablet's history why it is not split (tablet_event.NOT_SPLIT)."""

    def __init__(
        self,
        runtime: Runtime,
        tablets: Mapping[int, Tablet],
        wall_millis: Callable[[], int],
        note: Callable[[TabletRecord, str], None],
        registry: Registry,
        options: MaintenanceOptions,
    ) -> None:
        self._runtime = runtime
        self._tablets = tablets
        self._wall_millis = wall_millis
        self._note = note
        self._options = options
        self._splits = registry.counter("hbtable_hot_splits_total", "Tablets split because of their load.")
        self._looked_at = runtime.clock_seconds()
        self._processor = runtime.processor_seconds()
        self._seen: dict[int, _Seen] = {}
        self._hot: dict[int, _Hot] = {}
        hot = "Tablets whose requests take more of the processor than maintenance.hot_split_share."
        registry.gauge("hbtable_hot_tablets", hot, lambda: float(len(self._hot)))
        self._rest_until: dict[int, float] = {}
        self._wanted: dict[int, _Wanted] = {}
        """Splits that were not made yet: a switch may keep them away, or there is no room."""

    @switches
    def decisions(self) -> list[Split]:
        """Splits that are to be made, as long as they still may. *Switches* among many tablets."""
        options, now = self._options, self._runtime.clock_seconds()
        seconds = now - self._looked_at
        if options.hot_split_share and seconds >= options.hot_split_seconds / _LOOKS:
            self._look(now, seconds)
        self._wanted = {tablet_id: one for tablet_id, one in self._wanted.items() if self._is_wanted(tablet_id, one)}
        return [one.split for one in self._wanted.values()]

    def _is_wanted(self, tablet_id: int, one: _Wanted) -> bool:
        tablet = one.tablet
        is_served = self._tablets.get(tablet_id) is tablet
        return is_served and self._runtime.clock_seconds() < one.until and _may_be_cut(tablet)

    def tried(self, tablet_id: int, was_split: bool) -> None:
        """A split that was decided on was made, or turned out to be impossible."""
        self._splits.value += was_split
        self._wanted.pop(tablet_id, None)
        if not was_split:
            self._rest_until[tablet_id] = self._runtime.clock_seconds() + _REST_SECONDS

    @switches
    def _look(self, now: float, seconds: float) -> None:
        processor = self._runtime.processor_seconds()
        busy, self._processor, self._looked_at = (processor - self._processor) / seconds, processor, now
        before, self._seen = self._seen, {}
        worked: dict[int, int] = {}
        for tablet_id, tablet in in_slices(self._runtime, list(self._tablets.items())):
            work, requests = tablet.heat.work, sum(tablet.requests())
            self._seen[tablet_id] = _Seen(tablet, work, requests)
            last = before.get(tablet_id)
            if last is not None and last.tablet is tablet and work > last.work:
                worked[tablet_id] = work - last.work
        total = sum(worked.values())
        for tablet_id in self._hot.keys() - worked.keys():
            self._cool(tablet_id)
        for tablet_id, work in worked.items():
            rate = (self._seen[tablet_id].requests - before[tablet_id].requests) / seconds
            self._judge(tablet_id, busy * work / total, rate, work / seconds, now)

    def _judge(self, tablet_id: int, share: float, rate: float, work: float, now: float) -> None:
        """`share`: of the processor. `rate` and `work`: in a second."""
        options, tablet = self._options, self._seen[tablet_id].tablet
        if share < options.hot_split_share or rate < options.hot_split_requests or not self._may_split(tablet, now):
            self._cool(tablet_id)
            return
        known = self._hot.get(tablet_id)
        if known is None or known.tablet is not tablet:
            self._hot[tablet_id] = _Hot(tablet, now)
            tablet.heat.begin(work * options.hot_split_seconds)
        elif now - known.since >= options.hot_split_seconds:
            what = f"its requests, {rate:.0f} in a second, need {share:.2f} of the processor's time"
            self._split(tablet, f"{what} and did so for {now - known.since:.0f} s", now)

    def _split(self, tablet: Tablet, why: str, now: float) -> None:
        record = tablet.record
        rows = self._cool(record.tablet_id)
        row = halving_row(rows, record.range)
        if row is not None:
            split = Split(record.tablet_id, why, row)
            self._wanted[record.tablet_id] = _Wanted(tablet, split, now + self._options.hot_split_seconds)
            return
        self._rest_until[record.tablet_id] = now + _REST_SECONDS
        why = f"{why}; no row halves them: most are about one row, or they move on through the rows"
        log.info("tablet %d of table %s is not split: %s", record.tablet_id, shown(tablet.schema.name), why)
        self._note(record, why)

    def _cool(self, tablet_id: int) -> list[bytes]:
        known = self._hot.pop(tablet_id, None)
        return known.tablet.heat.end() if known is not None else []

    def _may_split(self, tablet: Tablet, now: float) -> bool:
        record = tablet.record
        if record.table_id == METADATA_TABLE_ID or record.tablet_id in self._wanted:
            return False
        if self._wall_millis() - record.created_millis < _YOUNG_MILLIS:
            return False
        self._rest_until = {one: until for one, until in self._rest_until.items() if until > now}
        return record.tablet_id not in self._rest_until and _may_be_cut(tablet)


def _may_be_cut(tablet: Tablet) -> bool:
    return not tablet.damaged and _splits(tablet.schema)


def _splits(schema: TableSchema) -> bool:
    """Unless its table says otherwise, as HBase's tables may."""
    return dict(schema.attributes).get("SPLIT_ENABLED", "true").lower() != "false"
