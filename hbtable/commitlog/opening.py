"""Begins a tablet server's commit log, in the way its file system allows (fs.interface: three kinds)."""

import logging
from collections.abc import Callable
from dataclasses import replace

from hbtable.commitlog.copies import CopyWatch
from hbtable.commitlog.fence_check import FenceCheck
from hbtable.commitlog.group_files.writer import FileGroupLog
from hbtable.commitlog.interface import CommitLog
from hbtable.commitlog.options import LogOptions
from hbtable.commitlog.segments.failover_appender import FailoverAppender
from hbtable.commitlog.segments.segment import log_folder
from hbtable.commitlog.segments.writer import LogWriter
from hbtable.fs.interface import LOCAL, WEBHDFS, CountsCopies, FileSystem
from hbtable.metrics.registry import Registry
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches

logger = logging.getLogger(__name__)


@switches
def open_log(
    runtime: Runtime,
    fs: FileSystem,
    incarnation: str,
    options: LogOptions,
    registry: Registry,
    is_fenced: Callable[[], bool],
    on_lost: Callable[[], None],
    has_peers: bool = False,
) -> CommitLog:
    """The log is there, durably, on return. AlreadyExists, OutOfSpace, StorageFailed, Unavailable,
    LockLost.

    `is_fenced` (fencing.is_fenced) raises when it cannot know. `on_lost` is called once, and must not switch, when
    a cluster's log was fenced or nothing could be confirmed for give_up_seconds: this server must stop, so that others
    take its tablets. A local log that breaks calls nobody: reads go on, and nobody else could serve them; unless there
    are other servers on the same folder (`has_peers`).
    """
    folder = log_folder(incarnation)
    if fs.log_kind == LOCAL:
        return LogWriter(runtime, fs, folder, options, registry, on_broken=on_lost if has_peers else _nobody)
    if options.durability != "sync":
        logger.warning("durability %r is for local disks; on a cluster acknowledged = synced", options.durability)
        options = replace(options, durability="sync")
    fence_check = FenceCheck(runtime, folder, is_fenced, options.give_up_seconds)
    log: FileGroupLog | LogWriter
    if fs.log_kind == WEBHDFS:
        log = FileGroupLog(runtime, fs, folder, options, registry, fence_check, on_lost)
    else:
        log = LogWriter(
            runtime,
            fs,
            folder,
            options,
            registry,
            lambda seconds, ledger: FailoverAppender(runtime, fs, folder, options, seconds, ledger, fence_check),
            on_lost,
        )
    if isinstance(fs, CountsCopies):
        CopyWatch(runtime, fs, log, options.copies_check_seconds, registry).start()
    return log


def _nobody() -> None:
    """Hears of the end of a log whose tablets nobody else could serve."""
