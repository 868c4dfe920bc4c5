"""Chooses which neighbouring tablets of a table should be merged, and which tablets split, so that they are about as
large as each other (paper, section 5.2: the master merges; HBase's SimpleRegionNormalizer has the rules). Pure.

    merge   a run of neighbours that together are not larger than the table's average tablet; one that holds nothing
            goes along with any neighbour
    split   one that is more than twice the average; only in tables that say NORMALIZATION_ENABLED => true

    NORMALIZATION_ENABLED      which tablets may be merged              what counts as nothing
    false                      none                                     -
    not said                   those that were written to               no byte
    true                       every one, as in HBase                   less than 1 MiB, as in HBase

Where a table says nothing, a tablet that was never written to stays: somebody made it for rows to come. A merge makes a
tablet of half the size at most at which it would be split again, unless the rest of it holds nothing; and none of
tablets with many requests, which would be split again for their load (tabletserver/hot_tablets.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Final, NamedTuple, final

from hbtable.master.tablets.ownership import first_unflushed
from hbtable.master.tablets.server_load import TabletLoad
from hbtable.model.schema import TableSchema
from hbtable.model.tablet import TabletRecord

_MIB: Final = 1 << 20
_MOST: Final = 100
"""Tablets that become one at once, as in HBase."""
_DEFAULT_SPLIT_BYTES: Final = 256 << 20
_DEFAULT_BUSY_REQUESTS: Final = 200.0


@dataclass(frozen=True, slots=True)
class NormalizerOptions:
    """Options: when the master merges small and emptied neighbours."""

    period_seconds: float = 300.0
    """Time between two looks at the sizes of all tablets. Longer: less reading of METADATA, and what was emptied is
    merged later. 0: only when it is asked for (`normalize` of the shell)."""
    min_age_seconds: float = 3 * 86400.0
    """The age at which a tablet may be merged. Shorter: tablets that a table was made with, or that were split, may be
    merged before they had the time to fill."""
    emptied_age_seconds: float = 3600.0
    """The same for one that was written to and holds nothing any more: its rows expired, or were deleted. Shorter: a
    table that is emptied and filled again and again merges and splits more often."""
    min_tablets: int = 3
    """A table of fewer tablets is left as it is."""
    split_bytes: int | None = None
    """MaintenanceOptions.split_bytes; None: its default."""
    busy_requests: float | None = None
    """MaintenanceOptions.hot_split_requests; None: its default. Infinite: no tablet splits because of its load."""


class PlannedMerge(NamedTuple):
    """Make one of these neighbours, ascending, two at least."""

    tablets: tuple[TabletRecord, ...]
    why: str


class PlannedSplit(NamedTuple):
    """Split it in the middle."""

    tablet: TabletRecord
    why: str


Plan = PlannedMerge | PlannedSplit


def may_have_plans(schema: TableSchema, tablets: Sequence[TabletRecord], options: NormalizerOptions, now: int) -> bool:
    """Whether plans() could say anything, whatever their sizes: asking servers for these costs more."""
    rules = _Rules.of(schema)
    if rules.splits or not rules.merges:
        return rules.splits
    ripe = [rules.takes(tablet) and _age_seconds(tablet, now) >= _least_age(options) for tablet in tablets]
    return len(tablets) >= options.min_tablets and any(one and other for one, other in pairwise(ripe))


def plans(
    schema: TableSchema,
    tablets: Sequence[TabletRecord],
    sizes: Mapping[int, int],
    options: NormalizerOptions,
    now: int,
    merges_on: bool = True,
    loads: Mapping[int, TabletLoad] = MappingProxyType({}),
) -> list[Plan]:
    """`tablets`: all of the table, ascending. `sizes`: bytes by tablet id; one without a size stays as it is.
    `merges_on`: tablets may be merged at all. `now`: wall clock, milliseconds. `loads`: as far as they are known."""
    rules = _Rules.of(schema)
    if not tablets:
        return []
    counted = {tablet_id: size if size >= rules.least_bytes else 0 for tablet_id, size in sizes.items()}
    average = rules.average(sum(counted.values()), len(tablets))
    found: list[Plan] = []
    if rules.splits:
        found.extend(_splits(tablets, counted, average))
    if merges_on and rules.merges and len(tablets) >= options.min_tablets:
        split_bytes = schema.split_bytes or options.split_bytes or _DEFAULT_SPLIT_BYTES
        runs = _Runs(rules, counted, min(average, split_bytes / 2), options, now, loads)
        found.extend(runs.merges(tablets, average))
    return found


@final
class _Rules(NamedTuple):
    """The wishes of a table's schema."""

    merges: bool
    splits: bool
    unwritten: bool
    """Tablets that never held anything are merged as well."""
    least_bytes: int
    """A size below counts as nothing."""
    target_bytes: int
    target_count: int

    @staticmethod
    def of(schema: TableSchema) -> "_Rules":
        said = dict(schema.attributes)
        normalized = said.get("NORMALIZATION_ENABLED", "").lower()
        wanted = normalized == "true"
        allowed = wanted or not normalized
        return _Rules(
            allowed and said.get("MERGE_ENABLED", "true").lower() == "true",
            wanted and said.get("SPLIT_ENABLED", "true").lower() == "true",
            wanted,
            _MIB if wanted else 1,
            _number(said.get("NORMALIZER_TARGET_REGION_SIZE_MB", "")) * _MIB,
            _number(said.get("NORMALIZER_TARGET_REGION_COUNT", "")),
        )

    def average(self, total: int, tablets: int) -> float:
        """The size that a tablet of this table should have."""
        return self.target_bytes or total / (self.target_count or tablets)

    def takes(self, tablet: TabletRecord) -> bool:
        """Whether it may be merged, whatever its age and size."""
        whole = not tablet.is_merging() and tablet.left is None and not tablet.withheld_millis
        return whole and (self.unwritten or _was_written(tablet))


@final
class _Runs:
    """Finds runs of neighbours to merge."""

    def __init__(
        self,
        rules: _Rules,
        sizes: Mapping[int, int],
        most_bytes: float,
        options: NormalizerOptions,
        now: int,
        loads: Mapping[int, TabletLoad],
    ) -> None:
        self._rules = rules
        self._sizes = sizes
        self._most_bytes = most_bytes
        self._options = options
        self._now = now
        self._loads = loads
        busy = options.busy_requests
        self._most_requests = _DEFAULT_BUSY_REQUESTS if busy is None else busy

    def merges(self, tablets: Sequence[TabletRecord], average: float) -> list[Plan]:
        """The merges of the table's tablets. As many tablets stay as its target says."""
        found: list[Plan] = []
        spare = len(tablets) - max(1, self._rules.target_count)
        for run in self._runs(tablets):
            part = run[: max(0, spare) + 1]
            if len(part) > 1:
                spare -= len(part) - 1
                found.append(PlannedMerge(tuple(part), self._why(part, average)))
        return found

    def _runs(self, tablets: Sequence[TabletRecord]) -> list[list[TabletRecord]]:
        runs: list[list[TabletRecord]] = []
        run: list[TabletRecord] = []
        held, requests = 0, 0.0
        for tablet in tablets:
            fits = self._is_ripe(tablet)
            size, load = self._sizes.get(tablet.tablet_id, 0), self._requests(tablet)
            joins = (
                bool(run)
                and fits
                and len(run) < _MOST
                and run[-1].range.stop == tablet.range.start
                and (not size or not held or held + size <= self._most_bytes)
                and (not load or requests + load < self._most_requests)
            )
            if not joins:
                run, held, requests = [], 0, 0.0
                runs.append(run)
            if fits:
                run.append(tablet)
                held += size
                requests += load
        return runs

    def _requests(self, tablet: TabletRecord) -> float:
        """In a second."""
        load = self._loads.get(tablet.tablet_id)
        return load.reads + load.writes if load is not None else 0.0

    def _is_ripe(self, tablet: TabletRecord) -> bool:
        size = self._sizes.get(tablet.tablet_id)
        if size is None or not self._rules.takes(tablet):
            return False
        emptied = not size and _was_written(tablet)
        least = _least_age(self._options) if emptied else self._options.min_age_seconds
        return _age_seconds(tablet, self._now) >= least

    def _why(self, run: Sequence[TabletRecord], average: float) -> str:
        held = sum(self._sizes[tablet.tablet_id] for tablet in run)
        what = f"hold {held} bytes together" if held else "hold nothing"
        return f"{len(run)} neighbours {what}, and a tablet of this table is to have {average:.0f} bytes"


def _splits(tablets: Sequence[TabletRecord], sizes: Mapping[int, int], average: float) -> list[Plan]:
    found: list[Plan] = []
    for tablet in tablets:
        size = sizes.get(tablet.tablet_id, 0)
        # Halves of less would count as nothing, and be merged again.
        if size > 2 * average and size >= 2 * _MIB and not tablet.is_merging() and tablet.left is None:
            found.append(
                PlannedSplit(tablet, f"it holds {size} bytes, and a tablet of this table is to have {average:.0f}")
            )
    return found


def _was_written(tablet: TabletRecord) -> bool:
    """Whether anything of it was ever flushed; its rows may be gone since."""
    return bool(tablet.files) or first_unflushed(tablet) > 1


def _age_seconds(tablet: TabletRecord, now: int) -> float:
    return (now - tablet.created_millis) / 1000


def _least_age(options: NormalizerOptions) -> float:
    return min(options.min_age_seconds, options.emptied_age_seconds)


def _number(text: str) -> int:
    """0 for anything but a whole number."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0
