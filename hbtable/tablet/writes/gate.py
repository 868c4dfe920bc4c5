"""Keeps writers waiting while they have to (paper, section 6: speeding up tablet recovery).

    frozen    the second minor compaction of an unload or split is running: wait, the end is near
    memory    all memtables together are over the server's limit, or over half of it and the write is a large one, so
              that whoever sends those leaves room for the others: wait for a flush
    files     a locality group has too many SSTables: wait for a compaction, or reads would drown
    held      a write of very many cells is being built, in turns with other tasks, or a range of rows is deleted: none
              may come between
    closed    this tablet is not served here any more: StaleLocation at once

METADATA's writers wait only while frozen: every flush that frees memory ends with a write to METADATA, so making that
write wait for memory would be a deadlock.
"""

from typing import final

from hbtable.errors import StaleLocation, Unavailable
from hbtable.runtime.interface import Event, Runtime
from hbtable.switches import switches
from hbtable.tablet.shared import SharedState


@final
class Gate:
    """Stops writers while there is no room for their writes. `shut` is the only thing the hot path looks at, beside the
    shared memory count."""

    __slots__ = (
        "_changed",
        "_closed",
        "_frozen",
        "_held",
        "_runtime",
        "_shared",
        "_stalled",
        "_wait_seconds",
        "exempt",
        "merge_failure",
        "shut",
    )

    def __init__(self, runtime: Runtime, shared: SharedState, exempt: bool, wait_seconds: float) -> None:
        self._runtime = runtime
        self._shared = shared
        self._wait_seconds = wait_seconds
        self.exempt = exempt
        """METADATA."""
        self.merge_failure = ""
        """The reason why the tablet's last merging or major compaction failed, unless it was cancelled; "" when it did
        not."""
        self.shut = False
        self._closed = ""
        self._frozen = False
        self._held = False
        self._stalled = 0
        self._changed: Event = runtime.event()

    def freeze(self) -> None:
        self._frozen = True
        self._note_change()

    def thaw(self) -> None:
        self._frozen = False
        self._note_change()

    def hold(self) -> None:
        """Keeps every other writer out until let_go(). To be called by a writer that was admitted, without a switch
        since."""
        assert not self._held
        self._held = True
        self._note_change()

    def let_go(self) -> None:
        """Does not switch."""
        self._held = False
        self._note_change()

    @property
    def stops_for_long(self) -> bool:
        """Shut, and not only by a writer that holds it."""
        return bool(self._closed or self._frozen or self._stalled)

    @property
    def stops_now(self) -> bool:
        """Whether admit() would switch or raise."""
        shared = self._shared
        return self.shut or (not self.exempt and shared.memtable_bytes > shared.memtable_limit_bytes)

    @property
    def stops_holder(self) -> bool:
        """Whether the holder's write may not go to the log any more: the tablet is about to leave, or has left."""
        return bool(self._closed or self._frozen)

    def stall(self, files: int) -> None:
        """`files`: how many SSTables are too many; 0 when all is well."""
        if files != self._stalled and not self.exempt:
            self._stalled = files
            self._note_change()

    def close(self, reason: str) -> None:
        """Shuts the gate for good. Waiting writers get StaleLocation."""
        self._closed = reason
        self._note_change()

    def check_served(self) -> None:
        """StaleLocation when closed: for reads."""
        if self._closed:
            raise StaleLocation(self._closed)

    @property
    def closed(self) -> str:
        return self._closed

    def deadline(self) -> float:
        """The time at which a writer that begins to wait now gives up."""
        return self._runtime.clock_seconds() + self._wait_seconds

    @switches
    def admit(self, large: bool = False, deadline: float | None = None) -> None:
        """*Switches* while writers have to wait; without a switch since the last look on return. `large`: the write is
        of very many cells or bytes. `deadline`: that of before, of a writer that comes again. Unavailable after it,
        StaleLocation when closed: nothing was applied."""
        self.check_served()
        deadline = self.deadline() if deadline is None else deadline
        counted = False
        while True:
            reason, waker = self._reason(large)
            if not reason:
                return
            if not counted:
                counted = True
                self._shared.stalls.value += 1
            left = deadline - self._runtime.clock_seconds()
            if left <= 0:
                raise Unavailable(f"{reason}; nothing was applied, try again")
            self._shared.attention()
            waker.wait(left)
            self.check_served()

    def stops(self, large: bool = False) -> bool:
        """Whether admit() would switch or raise, now."""
        return bool(self._closed or self._reason(large)[0])

    def _reason(self, large: bool) -> tuple[str, Event]:
        """The reason why writers wait, "" when they need not; and the event to wait for."""
        if self._frozen:
            self._changed.clear()
            return "the tablet is being unloaded or split", self._changed
        if self._held:
            self._changed.clear()
            return "another write of the tablet, of very many cells or a range of rows, is prepared", self._changed
        if self._stalled:
            self._changed.clear()
            waits = f"a locality group has {self._stalled} SSTables and waits for a compaction"
            return f"{waits}{self.why_no_merge()}", self._changed
        shared = self._shared
        limit = shared.large_limit_bytes if large else shared.memtable_limit_bytes
        if not self.exempt and shared.memtable_bytes > limit:
            shared.memory_freed.clear()
            waits = f"memtables hold {shared.memtable_bytes} bytes, more than {limit}, and wait for a flush"
            return f"{waits}{_why(shared.out_of_space, shared.flush_failure)}", shared.memory_freed
        return "", self._changed

    def why_no_merge(self) -> str:
        """The reason why no merging compaction of this tablet comes, to be put behind what waits; "": none is known."""
        return _why(self._shared.no_compactions(), self.merge_failure)

    def _note_change(self) -> None:
        self.shut = bool(self._closed or self._frozen or self._held or self._stalled)
        self._changed.set()


def _why(forbidden: str, failed: str) -> str:
    if forbidden:
        return f"; {forbidden}"
    return f"; the last one failed: {failed}" if failed else ""
