"""The end of a segment on HDFS that the log has left: it is closed, and sealed if that did not complete it.

A file that nobody completes stays open for as long as this process lives. HDFS makes no further copy of its blocks, so
one whose pipeline lost a DataNode has a copy too few, for good; and whoever fences the log has to seal each of them,
which takes 11 s where a DataNode is dead.
"""

import logging
from typing import Final

from hbtable.errors import FileNotFound, HbtableError
from hbtable.fs.interface import AppendFile, FileSystem
from hbtable.runtime.interface import Runtime, Task
from hbtable.switches import switches

logger = logging.getLogger(__name__)

_TRIES: Final = 20
"""One takes up to HdfsNativeOptions.seal_seconds, so this is some 20 minutes without the NameNode."""
_PAUSE_SECONDS: Final = 1.0


@switches
def end_segment(runtime: Runtime, fs: FileSystem, file: AppendFile, writing: Task | None) -> None:
    """Completes or seals a file that was left. It is run beside the commits, for it may take as long as what made them
    leave the file. `writing`: the task that may still be in a call of the file."""
    if writing is not None:
        writing.join()
    try:
        file.close()
    except HbtableError as error:
        logger.info("%s, left by the log, could not be closed: %s", file.path, error)
    seal_segment(runtime, fs, file.path)


@switches
def seal_segment(runtime: Runtime, fs: FileSystem, path: str) -> None:
    """The file is complete on return, or gone; a warning says so when it could not be done. What a sync covered stays
    (FileSystem.seal), and what more the file may hold is cut off by the header of the segment that came after it."""
    for left in reversed(range(_TRIES)):
        try:
            fs.seal(path)
            return
        except FileNotFound:
            return  # nobody needed it any more, or it was never made
        except HbtableError as error:
            if not left:
                logger.warning("%s, left by the log, stays open, perhaps with a copy too few: %s", path, error)
                return
        runtime.sleep(_PAUSE_SECONDS)
