"""Deletes files that a log, durably, no longer counts on."""

import logging
from collections.abc import Iterable

from hbtable.errors import FileNotFound, HbtableError
from hbtable.fs.interface import FileSystem
from hbtable.switches import switches

logger = logging.getLogger(__name__)


@switches
def delete_oldest_first(fs: FileSystem, paths: Iterable[str]) -> None:
    """Deletes the files in the order given, oldest first: a gap would look like a loss (bug class 4). To be called only
    when the log itself says that recovery begins behind them: if one were gone before, a crash would make it a lost
    one."""
    for path in paths:
        try:
            fs.delete(path)
        except FileNotFound:
            pass
        except HbtableError as error:  # recovery ignores it; it goes with the whole folder
            logger.warning("%s, no longer needed, could not be deleted: %s", path, error)
