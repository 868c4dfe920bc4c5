"""The load that each tablet is, from what servers count: requests in a second, over the last minutes.

A server counts from when it opened the tablet, and tells it with everything else once in a minute (known_tablets.py).
What a tablet was on one server it is taken to be on the next one, until that has counted for a while.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple, final

from hbtable.master.tablets.server_load import TabletLoad
from hbtable.model.status import ServedTablet

_SHORTEST_SECONDS: Final = 20.0
"""Between two counts. Shorter: a moment counts as much as a minute."""
_FORGET_SECONDS: Final = 60.0


class _Count(NamedTuple):
    """A server's count of one tablet's requests."""

    server: str
    at: float
    reads: int
    writes: int


@final
class TabletLoads:
    """Does not switch."""

    def __init__(self) -> None:
        self.loads: dict[int, TabletLoad] = {}
        """By tablet."""
        self._counts: dict[int, _Count] = {}
        self._silent: set[str] = set()
        """Servers of releases that do not count."""
        self._forgot_at = 0.0

    def saw(self, server: str, tablets: Iterable[ServedTablet], now: float) -> None:
        """Takes the counts that the server told at this time."""
        for one in tablets:
            if one.reads < 0:
                self._silent.add(server)
                continue
            self._silent.discard(server)
            reads, writes, _ = before = self.loads.get(one.tablet_id, TabletLoad(0.0, 0.0, 0))
            last, count = self._counts.get(one.tablet_id), _Count(server, now, one.reads, one.writes)
            if last is None or last.server != server or one.reads < last.reads or one.writes < last.writes:
                self._counts[one.tablet_id] = count
            elif now - last.at >= _SHORTEST_SECONDS:
                seconds = now - last.at
                self._counts[one.tablet_id] = count
                reads, writes = (one.reads - last.reads) / seconds, (one.writes - last.writes) / seconds
                if before.reads or before.writes:
                    reads, writes = (reads + before.reads) / 2, (writes + before.writes) / 2
            self.loads[one.tablet_id] = TabletLoad(reads, writes, one.sstable_bytes)

    def measured(self, servers: Iterable[str]) -> Mapping[int, TabletLoad]:
        """The loads by tablet. None while one of these servers does not count: it would seem to have nothing to do, and
        be given what others are busy with."""
        return self.loads if self._silent.isdisjoint(servers) else {}

    def keep_only(self, tablet_ids: Iterable[Iterable[int]], now: float) -> None:
        """Forgets every tablet but these, now and then."""
        if now - self._forgot_at < _FORGET_SECONDS:
            return
        self._forgot_at = now
        served = set[int]().union(*tablet_ids)
        for tablet_id in self.loads.keys() - served:
            del self.loads[tablet_id], self._counts[tablet_id]
