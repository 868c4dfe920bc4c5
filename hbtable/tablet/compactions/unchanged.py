"""Checks that the cells of frozen memtables are still those that were acknowledged (paper, section 9).

A byte that changed in memory must not get into an SSTable, where a sound checksum would vouch for it. The log has what
was acknowledged, under checksums of its own. So the minor compaction fails, and the server takes no more writes: its
restart, or on a cluster another server, reads the tablet from the log.
"""

from typing import final

from hbtable.errors import MemoryDamaged
from hbtable.switches import switches
from hbtable.tablet.pacing import Pacer
from hbtable.tablet.state import TabletState
from hbtable.tablet.version import Stack


@final
class UnchangedCheck:
    """Compares the memtables of one tablet with the checksums of what was put into them."""

    __slots__ = ("_found", "_state")

    def __init__(self, state: TabletState) -> None:
        self._state = state
        self._found = ""

    def check_nothing_found(self) -> None:
        """MemoryDamaged: an earlier check found a change. To write the cells once more would only wear the disk."""
        if self._found:
            raise MemoryDamaged(self._found)

    @switches
    def check(self, stack: Stack) -> None:
        """MemoryDamaged: bytes of the stack's frozen memtables changed; this server's log takes nothing any more."""
        environment = self._state.environment
        pacer = Pacer(environment.runtime, environment.options.slice_seconds)
        for memtable in stack.frozen:
            for changed in memtable.changed():
                if changed:
                    self._found = self._message(stack)
                    error = MemoryDamaged(self._found)
                    environment.log.stop_taking(error)  # which says it, too
                    raise error
                pacer.pause()

    def _message(self, stack: Stack) -> str:
        return (
            f"cells of tablet {self._state.tablet_id} of table {self._state.version.layout.table}, locality group "
            f"{stack.key}, changed in memory after they were acknowledged, and are not stored: restart this tablet "
            "server, which reads them from its log, and have this machine's memory tested"
        )
