"""Gives up the tablets of a server that stops, beside others that stop at the same moment (paper, section 5.2).

Each level's unload writes to the level above: users' tablets to METADATA's others, those to the root tablet. When a
whole cluster stops, the server with METADATA is often done first, and the others could not give up theirs any more:
their logs would have to be recovered at the next start. So a server keeps METADATA's tablets until the others that
stop are done with the levels below; while it waits it serves METADATA.

Users' tablets it leaves to the master first, which takes them one by one to other servers (master.tablets.handovers).
With a master that takes none, because it is at work on something else, or of an older release, it gives a few up, and
the next few when METADATA says who has those: the others are served meanwhile. Were it to give all up, with thousands
the last would wait for minutes. It does so where there is no master, or no other server that takes tablets, or they
stay without one.
"""

import logging
from collections.abc import Callable
from typing import Final, final

from hbtable.errors import HbtableError, Unavailable
from hbtable.model.tablet import METADATA_LEVEL, ROOT_LEVEL, USER_LEVEL, TabletRecord, level
from hbtable.runtime.interface import Runtime
from hbtable.runtime.parallel import run_all
from hbtable.switches import switches
from hbtable.tabletserver.membership import Membership
from hbtable.tabletserver.online_tablets import OnlineTablets

log = logging.getLogger(__name__)

_STEPS: Final = (USER_LEVEL, METADATA_LEVEL, ROOT_LEVEL)
_GRACE_SECONDS: Final = 1.0
"""Before the first look: servers that are stopped together need a moment to say so."""
_LOOK_SECONDS: Final = 0.1
_OTHERS_SECONDS: Final = 1.0
"""Between two looks at the other servers, each of which has a file in the lock service."""
_RELIEF_SECONDS: Final = 10.0
"""With a master that takes no tablet. Longer: a stop takes longer where the master is of an older release; shorter:
rows wait for the master's rounds, because it was not waited for: under load, with thousands of tablets, the round in
which it begins to take them took nine seconds."""
_AHEAD: Final = 16
"""Tablets that this server gives up by itself, before it is known who has them. More: their rows wait longer for a
master that places some at a time; fewer: a stop takes longer, with a round of the master for so many."""
_NEXT_OWNER_SECONDS: Final = 0.3
"""Between two looks at the rows of those."""
_TOLD_SECONDS: Final = 0.1
"""Between two words to the master that tablets were given up. Longer: their rows wait longer for their next server;
shorter: with thousands of tablets the master looks at all of them more often."""


@final
class Draining:
    """Gives up the tablets of a server that stops. drain() once, after the master was told to give no more tablets
    (Membership.drain)."""

    def __init__(
        self,
        runtime: Runtime,
        membership: Membership,
        online_tablets: OnlineTablets,
        parallel: int,
        wait_seconds: float,
        note_events: Callable[[], None] = lambda: None,
    ) -> None:
        """`parallel`: tablets unloaded at a time. `wait_seconds`: how long METADATA is kept for others at most, and how
        long loads and splits that are under way are waited for. `note_events`: while METADATA can still be written."""
        self._runtime = runtime
        self._membership = membership
        self._online_tablets = online_tablets
        self._parallel = parallel
        self._wait_seconds = wait_seconds
        self._note_events = note_events
        self._told_seconds = 0.0

    @switches
    def drain(self) -> None:
        """Everything is flushed and unloaded on return. Unavailable with the first reason when a tablet could not be.
        *Switches.*"""
        self._await_master()
        for step in range(len(_STEPS)):
            if step and self._tablets(step):
                try:
                    self._await_others(step)
                except HbtableError as error:
                    log.warning("METADATA is given up before it is known whether others stop too: %s", error)
            self._give_up(step)
            if not step:
                self._note_events()
            self._say(step + 1)

    @switches
    def _await_master(self) -> None:
        """While it takes users' tablets away, and there is somebody to whom it can give them."""
        clock = self._runtime.clock_seconds
        left, since, looked = len(self._tablets(0)), clock(), -_OTHERS_SECONDS
        while left:
            if clock() - looked >= _OTHERS_SECONDS:
                looked = clock()
                if not self._is_relieved():
                    return
            self._runtime.sleep(_LOOK_SECONDS)
            before, left = left, len(self._tablets(0))
            if left != before:
                since = clock()
            relief = min(_RELIEF_SECONDS, self._wait_seconds)
            if clock() - since < (self._wait_seconds if self._online_tablets.is_changing() else relief):
                continue
            log.info("the master takes no tablets of this server, which stops: it gives some of %d up by itself", left)
            if not self._give_some_up():
                return
            left = len(self._tablets(0))  # the next ones follow at once, unless the master takes some by then

    @switches
    def _give_some_up(self) -> bool:
        """Whether all of them have their next owners."""
        tablets = [self._online_tablets.tablets.get(number) for number in self._tablets(0)[:_AHEAD]]
        waiting = [tablet.record for tablet in tablets if tablet is not None]
        jobs = [lambda number=record.tablet_id: self._unload(number, 0) for record in waiting]
        if any(isinstance(one, HbtableError) for one in run_all(self._runtime, self._parallel, jobs, "unload")):
            return False  # which is told when all are given up
        self._say(0)
        deadline = self._runtime.clock_seconds() + self._wait_seconds
        while waiting and self._is_relieved() and self._runtime.clock_seconds() < deadline:
            self._runtime.sleep(_NEXT_OWNER_SECONDS)
            waiting = [record for record in waiting if not self._has_next_owner(record)]
        return not waiting

    @switches
    def _has_next_owner(self, record: TabletRecord) -> bool:
        try:
            return self._online_tablets.has_next_owner(record)
        except HbtableError as error:
            log.info("it is not known who has tablet %d, which was given up: %s", record.tablet_id, error)
            return False

    @switches
    def _is_relieved(self) -> bool:
        try:
            others = self._membership.others().values()
            takes = any(not (file.draining or file.decommissioned) for file in others)
            return takes and self._membership.master_lives()
        except HbtableError as error:
            log.info("it is not known whether others take the tablets of this server, which stops: %s", error)
            return False

    @switches
    def _give_up(self, step: int) -> None:
        """All of its level, and what came late to one below: a master that had not heard yet gave this server a tablet,
        or one was being split. What comes later than that is refused: it could not be given up any more."""
        deadline = self._runtime.clock_seconds() + self._wait_seconds
        while True:
            while self._online_tablets.is_changing() and self._runtime.clock_seconds() < deadline:
                self._runtime.sleep(_LOOK_SECONDS)
            levels = ((at, self._tablets(at)) for at in range(step + 1))
            at, numbers = next((found for found in levels if found[1]), (step, []))
            if not numbers:
                return
            self._online_tablets.take_none_below(_STEPS[at])
            jobs = [lambda number=number: self._unload(number, step) for number in numbers]
            for outcome in run_all(self._runtime, self._parallel, jobs, "unload"):
                if isinstance(outcome, HbtableError):
                    raise Unavailable(f"a tablet could not be unloaded: {outcome}") from outcome

    @switches
    def _unload(self, number: int, step: int) -> None:
        """And the master hears of it: its next owner need not wait until all of them are given up."""
        self._online_tablets.unload(number, "its server stops")
        now = self._runtime.clock_seconds()
        if now - self._told_seconds >= _TOLD_SECONDS:
            self._told_seconds = now
            self._say(step)  # nothing new in it: the change wakes the master

    def _tablets(self, step: int) -> list[int]:
        tablets = self._online_tablets.tablets
        return [number for number, tablet in tablets.items() if level(tablet.record) == _STEPS[step]]

    @switches
    def _await_others(self, step: int) -> None:
        """Until nobody who stops too is at an earlier step; and without a master nobody at all, for then METADATA
        would be nowhere."""
        if not self._membership.others():
            return
        deadline = self._runtime.clock_seconds() + self._wait_seconds
        self._runtime.sleep(min(_GRACE_SECONDS, self._wait_seconds))
        while behind := self._behind(step):
            if self._runtime.clock_seconds() >= deadline:
                names = ", ".join(sorted(behind))
                log.warning("METADATA was kept for %g s, and is given up before %s is done", self._wait_seconds, names)
                return
            self._runtime.sleep(_LOOK_SECONDS)

    @switches
    def _behind(self, step: int) -> list[str]:
        others = self._membership.others()
        orphaned = not self._membership.master_lives()
        return [name for name, file in others.items() if file.drained < step and (file.draining or orphaned)]

    @switches
    def _say(self, drained: int) -> None:
        try:
            self._membership.say_drained(drained)
        except HbtableError as error:  # others wait as long as they may, and it was drained all the same
            log.warning("the others cannot be told that this server gave its tablets up: %s", error)
