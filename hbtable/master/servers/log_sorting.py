"""The log of a dead tablet server, from its death to its sorted runs (paper, section 6: the master sorts logs in
parallel on the tablet servers).

    expire    its lock is taken and its server file deleted: it can never serve again (liveness.py)
    fence     its log comes to an end, whatever a zombie still does (commitlog.fencing)
    parts     each living server sorts one at a time; what a server fails or is slow at, another one does, and the
              master itself what nobody else does
    publish   the list of runs, last

Each step may be done again by this master or the next, and by two at once: all of them come to the same runs.
"""

import logging
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Final, final

from hbtable.commitlog.recovery.fencing import FencingOptions, fence
from hbtable.commitlog.recovery.log_ranges import LogRange, encode_range, plan_ranges
from hbtable.commitlog.recovery.manifest import Manifest
from hbtable.commitlog.recovery.reading import log_segments
from hbtable.commitlog.recovery.salvage import salvage
from hbtable.commitlog.recovery.sorted_runs import SortedRun, list_path, sorted_folder
from hbtable.commitlog.recovery.sorting import publish, sort_loose, sort_range
from hbtable.commitlog.segments.segment import log_folder
from hbtable.errors import Corruption, HbtableError, LockLost, OutOfSpace, Unavailable, UnsupportedFormat
from hbtable.fs.interface import FileSystem
from hbtable.rpc.transport import Transport
from hbtable.runtime.interface import Runtime
from hbtable.runtime.supervision import spawn_counted
from hbtable.switches import switches

log = logging.getLogger(__name__)

_MASTER: Final = ""
"""Stands for the master among those who sort."""


@dataclass(frozen=True, slots=True)
class LogSortingOptions:
    """Options of sorting dead servers' logs."""

    part_bytes: int = 16 << 20
    """Sorted by one server at once; a segment is never divided. Smaller: more servers share the work, more runs for
    each tablet to read."""
    patience_seconds: float = 3.0
    """After this a part that a server still sorts is given to another one as well. Longer: recovery waits longer for a
    server that froze; shorter: work is done twice on a busy cluster."""
    fencing: FencingOptions = field(default_factory=FencingOptions)


@final
class LogSorting:
    """Ends and sorts the log of a dead server. `expire`: False when the server lives after all
    (liveness.expire_server)."""

    def __init__(
        self,
        runtime: Runtime,
        fs: FileSystem,
        transport: Transport,
        expire: Callable[[str], bool],
        options: LogSortingOptions | None = None,
    ) -> None:
        self.runtime = runtime
        self._fs = fs
        self._transport = transport
        self.expire = expire
        self.options = options or LogSortingOptions()
        self.out_of_space: Callable[[], bool] = _never
        """The disk is full: what can be done without is not written (Master.watch_room)."""

    @switches
    def sort(self, epoch: int, incarnation: str, living: Collection[str]) -> None:
        """The log is settled and sorted on return. *Switches* for long. Corruption; Unavailable when the server lives,
        or the file system is in trouble: try again; LockLost: this is not the master any more."""
        folder = log_folder(incarnation)
        if self._fs.exists(list_path(folder)):
            return
        # Before the fence, and not taken from what a list of servers said: a server that came after it is not in it.
        if not self.expire(incarnation):
            raise Unavailable(f"tablet server {incarnation} lives: its log is not to be recovered")
        runtime = self.runtime
        began = runtime.clock_seconds()
        manifest = fence(runtime, self._fs, incarnation, self.options.fencing)
        fenced = runtime.clock_seconds()
        if self.out_of_space():
            log.warning(
                "log %s is not sorted, as the disk is full: its tablets are recovered from it as it is", incarnation
            )
            return
        try:
            segments = (
                [] if manifest.given_up else log_segments(self._fs, folder, self._pause, manifest, runtime=runtime)
            )
            log_ranges = plan_ranges(segments, self.options.part_bytes)
            publish(self._fs, folder, _Round(self, epoch, incarnation, log_ranges, living).run())
        except OutOfSpace as error:
            # Tablets are recovered from the log as it is: slower, as each reads all of it, but that needs no room.
            log.warning("log %s is not sorted: %s", incarnation, error)
            self._remove_runs(folder)
            return
        except Corruption as error:
            self._sort_what_is_left(epoch, incarnation, living, manifest, error)
            return
        log.info(
            "log %s: fenced in %.2f s, %d files in %d parts sorted in %.2f s",
            incarnation, fenced - began, len(segments), len(log_ranges), runtime.clock_seconds() - fenced,
        )  # fmt: skip

    @switches
    def _pause(self) -> None:
        self.runtime.sleep(0)

    @switches
    def _sort_what_is_left(
        self, epoch: int, incarnation: str, living: Collection[str], manifest: Manifest, error: Corruption
    ) -> None:
        """Sorts all that is sound of a damaged log, with the gaps between: a tablet that may miss something of it is
        refused when it is loaded, and all others are served."""
        folder = log_folder(incarnation)
        found = salvage(self._fs, folder, manifest, self._pause)
        log_ranges = plan_ranges(found.stretches, self.options.part_bytes)
        runs = _Round(self, epoch, incarnation, log_ranges, living).run()
        if found.loose:
            runs.append(sort_loose(self.runtime, self._fs, folder, found.loose))
        publish(self._fs, folder, runs, found.gaps)
        log.error("log %s is damaged: %s", incarnation, error)
        for gap in found.gaps:
            log.error("log %s: %s: %s", incarnation, gap.path, gap.reason())
            if gap.hides_the_end:
                log.error("log %s: %s", incarnation, gap.unattributed())
        if not found.gaps:
            log.error("log %s: every record in it could be read all the same", incarnation)

    @switches
    def _remove_runs(self, folder: str) -> None:
        """Deletes the runs of a log whose sorting did not end: they take the room that the rest had not."""
        if not self._fs.exists(list_path(folder)):
            self._fs.delete_folder(sorted_folder(folder))

    @switches
    def sort_range(self, worker: str, epoch: int, incarnation: str, log_range: LogRange) -> SortedRun:
        if worker == _MASTER:
            return sort_range(self.runtime, self._fs, log_folder(incarnation), log_range)
        return self._transport.tablet_admin(worker).sort_log_part(epoch, incarnation, encode_range(log_range))


@final
class _Round:
    """One log's parts on their way through those who sort."""

    def __init__(
        self, sorting: LogSorting, epoch: int, incarnation: str, log_ranges: list[LogRange], living: Collection[str]
    ) -> None:
        self._sorting = sorting
        self._epoch = epoch
        self._incarnation = incarnation
        self._log_ranges = log_ranges
        self._runs: dict[int, SortedRun] = {}
        self._given_at: dict[int, list[float]] = {}
        """By part: when each that sorts it now was asked."""
        self._idle = deque(sorted(living))
        self._asked_at: dict[str, float] = {}
        """By whoever sorts something: since when."""
        self._fatal: Exception | None = None
        self._changed = sorting.runtime.event()

    @switches
    def run(self) -> list[SortedRun]:
        """Has every part sorted. Returns the runs in the order of the parts. What is still under way on return does no
        harm."""
        runtime, straggler_seconds = self._sorting.runtime, self._sorting.options.patience_seconds
        while len(self._runs) < len(self._log_ranges):
            self._changed.clear()
            self._give(runtime.clock_seconds(), straggler_seconds)
            self._changed.wait(straggler_seconds)
            if self._fatal is not None:
                raise self._fatal
        return [self._runs[number] for number in range(len(self._log_ranges))]

    def _give(self, now: float, straggler_seconds: float) -> None:
        missing = [number for number in range(len(self._log_ranges)) if number not in self._runs]
        fresh = [number for number in missing if not self._given_at.get(number)]
        slow = [number for number, given in self._given_at.items() if given and now - given[-1] >= straggler_seconds]
        slow = [number for number in slow if number not in self._runs]
        # Servers that hold something for long may be frozen: nobody waits for them.
        at_work = any(now - asked < straggler_seconds for asked in self._asked_at.values())
        for number in fresh + slow:
            if self._idle:
                worker = self._idle.popleft()
            elif _MASTER not in self._asked_at and (number in slow or not at_work):
                worker = _MASTER
            else:
                return
            self._asked_at[worker] = now
            self._given_at.setdefault(number, []).append(now)
            spawn_counted(self._sorting.runtime, self._sort, worker, number, now, name="sort part")

    @switches
    def _sort(self, worker: str, number: int, now: float) -> None:
        try:
            self._runs[number] = self._sorting.sort_range(
                worker, self._epoch, self._incarnation, self._log_ranges[number]
            )
            if worker != _MASTER:
                self._idle.append(worker)
        except (Corruption, UnsupportedFormat, LockLost) as error:
            self._fatal = error
        except HbtableError as error:
            if worker == _MASTER:
                self._fatal = error
            # A server that failed gets nothing more of this log.
            log.warning("log %s: %s could not sort a part: %s", self._incarnation, worker or "the master", error)
        except Exception as error:
            self._fatal = error
            raise
        finally:
            self._asked_at.pop(worker, None)
            self._given_at[number].remove(now)
            self._changed.set()


def _never() -> bool:
    """Nobody counts the room."""
    return False
