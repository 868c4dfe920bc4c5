"""The syncs of one open file, in threads.

The kernel tells of a failed write-back once, and a later sync of the same file reports success for bytes that are lost
(bug class 24). A task that is killed while it waits for its sync hears nothing of a failure. So the failure is kept by
the thread that met it, and a sync begins only when those before it have ended: none is believed after a failed one.
"""

import errno
from typing import final

from hbtable.fs import disk
from hbtable.runtime.threads.native_threads import allocate_lock


@final
class DescriptorSyncs:
    """`failed` is set for good by the first sync that fails, whoever waits for it."""

    __slots__ = ("_descriptor", "_one_at_a_time", "failed")

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._one_at_a_time = allocate_lock()
        self.failed = False

    def sync_descriptor(self) -> None:
        """Syncs the file, in a thread. OSError."""
        with self._one_at_a_time:
            if self.failed:
                raise OSError(errno.EIO, "an earlier sync of the file failed")
            try:
                disk.sync_descriptor(self._descriptor)
            except BaseException:
                self.failed = True
                raise
