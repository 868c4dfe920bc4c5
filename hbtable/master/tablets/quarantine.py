"""Holds back tablets whose servers die, one after the other, soon after they were given the tablet. Such a tablet would
take every server with it, and all tablets that these serve (bug class 23).

Who is blamed for a death: the tablets that the server was asked to load and had not answered for. If there are none,
all tablets that it was given shortly before are blamed. Blamed tablets are spread evenly when they are given out again
(assignment.py), so that the guilty one and the others part within a few rounds. After `deaths` in a row a tablet is
held back: briefly while others are blamed with it, else each time twice as long, up to a limit. It is never given up. A
tablet that is served for `soon_seconds` is acquitted. An operator's move does not wait (moves.py). METADATA's tablets
are never held back: without them nothing is served, and nothing would be spared.

Only the master's memory has this. A new master acquits all tablets, and holds one back after as many deaths of its own
time.
"""

import logging
import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import final

from hbtable.master.tablets.assignment import describe
from hbtable.model.names import shown
from hbtable.model.tablet import METADATA_TABLE_ID, TabletRecord

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class QuarantineOptions:
    """Options: when a tablet is held back, and for how long."""

    deaths: int = 5
    """In a row. More: more servers die of a bad tablet; fewer: tablets wait that only met with bad luck, as when
    somebody kills servers to see what happens."""
    soon_seconds: float = 60.0
    """From when a server was last asked to load the tablet to when its death is known, which takes a session. Longer:
    deaths that have nothing to do with each other are taken for a row."""
    first_pause_seconds: float = 10.0
    longest_pause_seconds: float = 600.0
    """Longer: servers are spared, and a tablet that is well again waits longer."""


@dataclass(slots=True)
class _Story:
    """The latest events of one tablet."""

    server: str = ""
    given_at: float = 0.0
    answered: bool = True
    dead: list[str] = field(default_factory=list)
    """Servers that died of it, as far as one knows; in a row."""
    held_until: float = 0.0


@final
class Quarantine:
    """Holds a tablet back whose servers died one after the other. `clock` in seconds. Does not switch."""

    def __init__(self, clock: Callable[[], float], options: QuarantineOptions | None = None) -> None:
        self._clock = clock
        self._options = options or QuarantineOptions()
        self._stories: dict[int, _Story] = {}
        self._accused: set[int] = set()
        """Those with deaths, and perhaps more. Each placement asks for them, and nearly all tablets are well."""
        self._blamed: dict[str, frozenset[int]] = {}
        """By dead server."""

    # ---------------------------------------------------------------- what happens

    def given(self, tablet_id: int, server: str) -> None:
        """The server is about to be asked to load the tablet, perhaps once more."""
        story = self._stories.setdefault(tablet_id, _Story())
        story.server, story.given_at, story.answered, story.held_until = server, self._clock(), False, 0.0

    def answered(self, tablet_id: int) -> None:
        """The server, whether or not it could load it."""
        if (story := self._stories.get(tablet_id)) is not None:
            story.answered = True

    def look(
        self, table: bytes, tablets: Iterable[TabletRecord], living: Collection[str], listed_at: float = math.inf
    ) -> None:
        """`tablets` of the table with this name. `listed_at`: when the list of the `living` began to be made; it says
        nothing of a server that has been given the tablet since, for that may be younger than it (bug class 39)."""
        for tablet in tablets:
            story = self._stories.get(tablet.tablet_id)
            # One that left in order has another owner by now, or none: its server may die as it likes.
            if story is None or not story.server or story.server != tablet.owner:
                continue
            if tablet.owner not in living:
                if story.given_at < listed_at:
                    self._died(story, table, tablet)
            elif not self._is_fresh(story):
                del self._stories[tablet.tablet_id]

    def keep_only(self, tablet_ids: Iterable[int]) -> None:
        """Forgets every tablet but these, and servers whose death no tablet is blamed for any more."""
        there = set(tablet_ids)
        self._stories = {tablet_id: story for tablet_id, story in self._stories.items() if tablet_id in there}
        self._accused = {number for number in self._accused if number in self._stories and self._stories[number].dead}
        named = {story.server for story in self._stories.values()}
        self._blamed = {server: blamed for server, blamed in self._blamed.items() if server in named}

    def _died(self, story: _Story, table: bytes, tablet: TabletRecord) -> None:
        now, options = self._clock(), self._options
        blamed = self._blamed.get(tablet.owner)
        if blamed is None:
            blamed = self._blamed[tablet.owner] = self._suspects(tablet.owner)
        story.server = ""
        if tablet.tablet_id in blamed:
            story.dead.append(tablet.owner)
            self._accused.add(tablet.tablet_id)
        elif not self._is_fresh(story):
            story.dead.clear()
        excess = len(story.dead) - options.deaths
        if tablet.tablet_id not in blamed or excess < 0 or tablet.table_id == METADATA_TABLE_ID:
            return
        longest = options.longest_pause_seconds
        if len(blamed) > 1:  # most of them are innocent, perhaps all: what kills the servers may be no tablet
            longest = options.first_pause_seconds
        pause = min(options.first_pause_seconds * 2 ** min(excess, 30), longest)
        story.held_until = now + pause
        log.error(
            "master: %s of table %s, rows from %r to %r, is not handed out for %g s: %d servers in a row died soon "
            "after they were given it, the last ones %s; look into their logs. Moving it to a server by hand tries at "
            "once",
            describe(tablet), shown(table), tablet.range.start, tablet.range.stop, pause, len(story.dead),
            ", ".join(story.dead[-options.deaths :]),
        )  # fmt: skip

    def _suspects(self, server: str) -> frozenset[int]:
        fresh = {number: one for number, one in self._stories.items() if one.server == server and self._is_fresh(one)}
        unanswered = frozenset(number for number, one in fresh.items() if not one.answered)
        return unanswered or frozenset(fresh)

    def _is_fresh(self, story: _Story) -> bool:
        """A load that was never answered does not age: the master may have waited for others meanwhile."""
        return not story.answered or self._clock() - story.given_at <= self._options.soon_seconds

    # ---------------------------------------------------------------- what follows

    def suspects(self) -> frozenset[int]:
        """Tablets to be spread."""
        return frozenset(number for number, story in self._accused_stories() if story.dead)

    def held(self) -> frozenset[int]:
        """Tablets that are not to be handed out now."""
        now = self._clock()
        return frozenset(number for number, story in self._accused_stories() if story.held_until > now)

    def _accused_stories(self) -> list[tuple[int, _Story]]:
        return [(number, self._stories[number]) for number in self._accused if number in self._stories]

    def message(self, tablets: Iterable[TabletRecord]) -> str:
        """About the first of them that is held back, "" for none."""
        held = self.held()
        for tablet in tablets:
            if tablet.tablet_id in held:
                dead = len(self._stories[tablet.tablet_id].dead)
                return f"{describe(tablet)} is held back because {dead} servers in a row died soon after they got it"
        return ""
