"""Empties logs that records still name, and that hold nothing which these records need: for starts on a full disk.

A start that dies before anything is flushed leaves a log with nothing in it but the changes of METADATA's rows. Once
METADATA is flushed nobody needs these, but the rows of all tablets that were given to that server name its log, so that
it is no garbage yet. To wait until the rows have changed would take more room than there may be.

An emptied log is one that was sorted, and has no runs (commitlog.recovery.sorted_runs): whoever recovers from it reads
the list, and finds nothing. The list is there before any file goes. A crash on the way leaves files that nobody reads,
a prefix of the log.
"""

import logging
from collections.abc import Callable, Collection
from typing import Final

from hbtable.commitlog.recovery.reading import read_log
from hbtable.commitlog.recovery.recovered_edits import sorted_gaps, sorted_runs
from hbtable.commitlog.recovery.sorting import publish
from hbtable.commitlog.segments.segment import log_folder
from hbtable.errors import FileNotFound, HbtableError
from hbtable.fs.interface import FileSystem
from hbtable.master.files.garbage import MetadataScan
from hbtable.model.tablet import NO_LOG
from hbtable.switches import switches

log = logging.getLogger(__name__)

_RECORDS_BETWEEN_PAUSES: Final = 1000


@switches
def empty_needless_logs(
    fs: FileSystem,
    tablets: MetadataScan,
    expire: Callable[[str], bool],
    living: Collection[str],
    pause: Callable[[], None],
) -> set[str]:
    """The incarnations of named logs in which nothing is needed; they are empty on return. On a local disk alone, where
    no server but the `living` can write. Nobody may change records meanwhile. A log with damage stays as it is.
    `expire`: False when its server lives after all. *Switches* for long."""
    named: dict[str, dict[int, int]] = {}
    for record in tablets.everyone():
        for ref in record.logs:
            first_needed = named.setdefault(ref.incarnation, {})
            first_needed[record.tablet_id] = min(ref.first_needed, first_needed.get(record.tablet_id, ref.first_needed))
    empty = set[str]()
    for incarnation in sorted(named.keys() - set(living) - {NO_LOG}):
        try:
            if expire(incarnation) and _emptied(fs, log_folder(incarnation), named[incarnation], pause):
                empty.add(incarnation)
        except HbtableError as error:
            log.warning("log %s stays as it is: %s", incarnation, error)
    return empty


@switches
def _emptied(fs: FileSystem, folder: str, first_needed: dict[int, int], pause: Callable[[], None]) -> bool:
    runs = sorted_runs(fs, folder)
    if runs or (runs is not None and sorted_gaps(fs, folder)):
        return False
    if runs is None:
        for number, record in enumerate(read_log(fs, folder)):
            if record.sequence >= first_needed.get(record.tablet_id, record.sequence + 1):
                return False
            if not number % _RECORDS_BETWEEN_PAUSES:
                pause()
        publish(fs, folder, [])
    # The newest first: what is left of the log after a crash ends early, and has no hole. Nothing says any more up to
    # where it went, once the high-water mark is gone.
    paths = [status.path for status in fs.list_files(folder)]
    for path in sorted((path for path in paths if path.count("/") == folder.count("/") + 1), key=_is_segment):
        _delete(fs, path)
    return True


def _is_segment(path: str) -> tuple[bool, int]:
    """Sorts what is no segment before the segments, and these from the newest to the oldest."""
    name, _, kind = path.rpartition("/")[2].partition(".")
    return (kind == "log", -int(name) if kind == "log" else 0)


@switches
def _delete(fs: FileSystem, path: str) -> None:
    try:
        fs.delete(path)
    except FileNotFound:
        pass
