"""The tablets that a server serves, and what changed of them last: a master asks every second, and of thousands of
tablets as a rule nothing did."""

from collections.abc import Iterator
from itertools import takewhile
from typing import Any, Final, final

from hbtable.model.status import LeftTablet, ServedChanges, ServedTablet
from hbtable.tablet.tablet import Tablet

_KEPT: Final = 1000
"""Changes of tablets that are gone, and of those that are served, at least."""


@final
class ServedTablets(dict[int, Tablet]):
    """The tablets of this server by id. Nothing here switches, and reading costs what reading a dict does."""

    def __init__(self) -> None:
        super().__init__()
        self._number = 0
        """Of the last change."""
        self._changed: dict[int, int] = {}
        """By tablet, the number of its last change, ascending."""
        self._left: dict[int, LeftTablet] = {}
        """Those of them that are gone."""
        self._forgotten = 0
        """The number up to which changes may be missing there."""

    def __setitem__(self, tablet_id: int, tablet: Tablet) -> None:
        super().__setitem__(tablet_id, tablet)
        self._left.pop(tablet_id, None)
        self.changed(tablet_id)

    def __delitem__(self, tablet_id: int) -> None:
        self._leaves(tablet_id)
        super().__delitem__(tablet_id)

    def pop(self, tablet_id: int, *default: Any) -> Any:
        if tablet_id in self:
            self._leaves(tablet_id)
        return super().pop(tablet_id, *default)

    def clear(self) -> None:
        super().clear()
        self._number += 1
        self._forgotten = self._number
        self._changed.clear()
        self._left.clear()

    def _leaves(self, tablet_id: int) -> None:
        tablet = self[tablet_id]
        record = tablet.record
        if record.tablet_id == tablet_id:  # else it was split: its row is one of its children's
            self._left[tablet_id] = LeftTablet(record.table_id, tablet_id, record.range.stop, tablet.schema.name)
        self.changed(tablet_id)

    def changed(self, tablet_id: int) -> None:
        """Whether it is served, or its schema."""
        self._number += 1
        self._changed.pop(tablet_id, None)
        self._changed[tablet_id] = self._number
        while len(self._changed) > 2 * max(len(self), _KEPT):
            oldest = next(iter(self._changed))
            self._forgotten = self._changed.pop(oldest)
            self._left.pop(oldest, None)

    def is_whole(self, since: int) -> bool:
        """Whether changes_since() tells of everything that is served."""
        return not self._forgotten <= since <= self._number or since <= 0

    def changes_since(self, since: int, before: dict[Tablet, ServedTablet]) -> ServedChanges:
        """The changes after the one of this number; 0: everything. `before`: what was told of tablets that were looked
        at before; it holds unless their schema is another one now."""
        whole = self.is_whole(since)
        gone = [] if whole else [tablet_id for tablet_id, _ in self._after(since) if tablet_id not in self]
        left = [self._left[tablet_id] for tablet_id in gone if tablet_id in self._left]
        served = [_told(tablet, before) for tablet in self.to_tell(since)]
        return ServedChanges(self._number, whole, served, gone, left or ())

    def to_tell(self, since: int) -> list[Tablet]:
        """The served ones of which changes_since() would tell now."""
        if self.is_whole(since):
            return list(self.values())
        return [self[tablet_id] for tablet_id, _ in self._after(since) if tablet_id in self]

    def _after(self, since: int) -> Iterator[tuple[int, int]]:
        return takewhile(lambda change: change[1] > since, reversed(self._changed.items()))


def _told(tablet: Tablet, before: dict[Tablet, ServedTablet]) -> ServedTablet:
    told = before.get(tablet)
    return told if told is not None and told.schema_version == tablet.schema.version else served_tablet(tablet)


def served_tablet(tablet: Tablet) -> ServedTablet:
    """The counts and the version of its schema, as of now."""
    record = tablet.record
    return ServedTablet(
        record.table_id, record.tablet_id, tablet.schema.version, tablet.sstable_bytes(), *tablet.requests()
    )
