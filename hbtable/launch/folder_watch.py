"""Looks often whether the data folder is still the one that this process locked (fs.data_folder, check_held)."""

import logging
from collections.abc import Callable
from typing import Final

from hbtable.errors import LockLost
from hbtable.fs.data_folder import DataFolder
from hbtable.lockservice.local import LocalLockService
from hbtable.runtime.interface import Runtime, Task

log = logging.getLogger(__name__)

_LOOK_SECONDS: Final = 0.1


def watch_folder(
    runtime: Runtime, folder: DataFolder, lock_service: LocalLockService, on_lost: Callable[[], None]
) -> Task:
    """A task, to be killed before the folder is closed. Once the folder is lost every session is over, so that nothing
    is acknowledged any more, the log says why, and `on_lost` is called."""

    def watch() -> None:
        while True:
            runtime.sleep(_LOOK_SECONDS)
            try:
                folder.check_held()
            except LockLost as error:
                lock_service.end()
                log.error("%s", error)
                on_lost()
                return

    return runtime.spawn(watch, name="data folder watch")
