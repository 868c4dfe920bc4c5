"""Chooses what a compaction keeps of a family that keeps its deleted cells (HBase's KEEP_DELETED_CELLS).

What markers mask goes as everything else does: when it is in excess or too old; it is counted as versions. What a read
without an upper time bound sees never goes for that: a put that nothing masks is in excess only when enough others that
nothing masks are newer (HBase loses it). A marker goes where all that it masks is gone for sure:
  * behind puts in excess of its column. A family's stays: it masks other columns, too (HBase loses it)
  * when every put is newer
  * when it is older than the time to live, and no version outlives that
With `until_ttl` markers older than the time to live are as in other families: they delete.
"""

from typing import final

from hbtable.merge.markers import Markers
from hbtable.merge.rules import FamilyRules
from hbtable.model.mutation import DELETE_FAMILY_VERSION


@final
class Covers:
    """The puts kept so far of one column, by how long they live."""

    __slots__ = ("_expiries", "forever")

    def __init__(self) -> None:
        self.forever = 0
        self._expiries: list[int] = []

    def add_mortal(self, expiry_millis: int) -> None:
        self._expiries.append(expiry_millis)

    def outlive(self, expiry_millis: int, enough: int) -> bool:
        """Whether at least `enough` of them live as long as `expiry_millis`."""
        if self.forever + len(self._expiries) < enough:
            return False
        return self.forever + sum(expiry >= expiry_millis for expiry in self._expiries) >= enough


@final
class KeptDeleted:
    """The puts and markers met of one row and family. `earliest_put`: no put of the compaction has an earlier time."""

    __slots__ = ("_earliest_put", "_in_excess", "_markers", "_now_millis", "_rule", "_shown")

    def __init__(self, rule: FamilyRules, now_millis: int, earliest_put: int) -> None:
        self._rule = rule
        self._now_millis = now_millis
        self._earliest_put = earliest_put
        self._markers = Markers(rule.new_version_behavior)
        self._shown = Covers()
        """The puts of the column that nothing masks."""
        self._in_excess = False

    def end_column(self) -> None:
        self._markers.end_column()
        self._shown = Covers()
        self._in_excess = False

    def deletes(self, timestamp: int) -> bool:
        """Whether a marker of this time does: what it masks goes, as in other families."""
        return self._rule.until_ttl and self._is_old(timestamp)

    def is_idle(self, kind: int, timestamp: int, sequence: int) -> bool:
        """Takes a marker that deletes nothing. Whether it masks nothing that stays, if every older file is read."""
        self._markers.add(kind, timestamp, sequence)
        if timestamp < self._earliest_put or (self._in_excess and kind > DELETE_FAMILY_VERSION):
            return True
        return not self._rule.min_versions and self._is_old(timestamp)

    def is_needed(self, timestamp: int, sequence: int, expiry: int, enough: int, drop_markers: bool) -> bool:
        """Whether a put that is in excess stays all the same: it is none among those that nothing masks."""
        if expiry < 0 or not drop_markers:
            self._in_excess = True
        if self._markers.hides(timestamp, sequence) or self._shown.forever >= enough:
            return False
        return not (drop_markers and expiry >= 0 and self._shown.outlive(expiry, enough))

    def keep(self, timestamp: int, sequence: int, expiry: int) -> None:
        """Takes a put that stays."""
        if self._markers.hides(timestamp, sequence):
            return
        if expiry < 0:
            self._shown.forever += 1
        else:
            self._shown.add_mortal(expiry)

    def _is_old(self, timestamp: int) -> bool:
        return bool(self._rule.ttl_millis) and self._now_millis - timestamp > self._rule.ttl_millis
