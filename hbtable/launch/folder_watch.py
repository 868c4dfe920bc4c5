"""Looks often whether the data folder is still the one that this process locked, with the files that it wrote
(fs.data_folder)."""

import logging
from collections.abc import Callable
from typing import Final, Protocol, final

from hbtable.errors import LockLost
from hbtable.lockservice.local import LocalLockService
from hbtable.runtime.interface import Runtime
from hbtable.runtime.supervision import supervise
from hbtable.switches import switches

log = logging.getLogger(__name__)

_LOOK_SECONDS: Final = 0.1


class HeldFolder(Protocol):
    """A DataFolder, or what stands for one."""

    @property
    def root(self) -> str: ...

    def check_held(self) -> None: ...

    def check_files(self) -> None: ...


@final
class FolderWatch:
    """Checks the data folder from the start to end(), which comes before the folder is closed.
    Once the folder is lost every session is over, so that nothing is acknowledged any more, the log says why, and
    `on_lost` is told."""

    def __init__(
        self,
        runtime: Runtime,
        folder: HeldFolder,
        lock_service: LocalLockService,
        on_lost: Callable[[LockLost], None],
    ) -> None:
        self._runtime = runtime
        self._folder = folder
        self._lock_service = lock_service
        self._on_lost = on_lost
        self._lost = False
        self._task = supervise(runtime, self._watch, name="data folder watch")

    def look(self) -> None:
        """Does not switch. Whoever has seen a failure looks at once: the folder's loss may be the cause."""
        if self._lost:
            return
        try:
            self._folder.check_held()
            self._folder.check_files()
        except LockLost as error:
            self._lost = True
            self._lock_service.end()
            log.error("%s", error)
            self._on_lost(error)

    @switches
    def end(self) -> None:
        """*Switches.*"""
        self._task.kill()

    @switches
    def _watch(self) -> None:
        while not self._lost:
            self._runtime.sleep(_LOOK_SECONDS)
            self.look()
