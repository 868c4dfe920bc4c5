"""Opens the place of audit lines: the log, or a file of their own that is written by a thread nobody waits for."""

import errno
import logging
import os
import stat
from collections.abc import Callable
from typing import Final

from hbtable.access.options import AuthOptions
from hbtable.errors import InvalidConfiguration
from hbtable.hbase.audit import AuditTrail, lost_line
from hbtable.launch.log_lines import LogLines, log_handlers
from hbtable.runtime.private_files import check_place

_LOG: Final = logging.getLogger(__name__)
_TO_THE_LOG: Final = "log"
_NAME: Final = "hbtable.audit"
"""The logger of its lines in the log."""


def open_audit(options: AuthOptions, wall_millis: Callable[[], int]) -> AuditTrail | None:
    """None: nothing is written down. InvalidConfiguration when the file cannot be."""
    if not options.enabled or not options.audit:
        return None
    if options.audit == _TO_THE_LOG:
        return AuditTrail(logging.getLogger(_NAME).info, wall_millis, _problem_of_log, _lost_by_log)
    descriptor = _open(options.audit)
    lines = LogLines(descriptor, told=lambda lost, why: lost_line(wall_millis(), lost, why).encode())
    logger = logging.Logger("hbtable.audit.file", logging.INFO)  # apart from the log, whatever its level
    logger.addHandler(lines)
    said = ""

    def write(line: str) -> None:
        nonlocal said
        logger.info("%s", line)
        if (why := lines.problem()) != said:
            said = why
            if why:
                _LOG.error(
                    "the audit does not reach %r: %s (the first 5,000 lines are kept meanwhile)", options.audit, why
                )

    return AuditTrail(write, wall_millis, lines.problem, lambda: lines.dropped)


def _problem_of_log() -> str:
    return next(filter(None, (lines.problem() for lines in log_handlers())), "")


def _lost_by_log() -> int:
    return sum(lines.dropped_of[_NAME] for lines in log_handlers())


def _open(path: str) -> int:
    """InvalidConfiguration where others could lead the lines elsewhere, or add their own."""
    descriptor = -1
    try:
        check_place(path, None, f"auth.audit = {path!r}")
        # A pipe that nobody reads would keep the start waiting for ever.
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
        _close_to_others(descriptor, path)
    except (OSError, InvalidConfiguration) as error:
        if descriptor >= 0:
            os.close(descriptor)
        if isinstance(error, InvalidConfiguration):
            raise
        why = "nobody reads this pipe" if error.errno == errno.ENXIO else error.strerror
        raise InvalidConfiguration(f"auth.audit = {path!r} cannot be written: {why}") from error
    return descriptor


def _close_to_others(descriptor: int, path: str) -> None:
    """A file that was there before. Its group may go on reading, as whoever collects logs does. InvalidConfiguration,
    OSError."""
    status = os.fstat(descriptor)
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISCHR(status.st_mode):  # a terminal, or /dev/null
        return
    check_place(path, status, f"auth.audit = {path!r}")
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise InvalidConfiguration(
            f"auth.audit = {path!r} may be changed by others (mode {mode:04o}), who could have written lines of their "
            "own: look at it, then chmod 640 it, or name another file"
        )
    if mode & stat.S_IRWXO:
        os.fchmod(descriptor, mode & ~stat.S_IRWXO)
        _LOG.info("took everybody else's right to read %s away: its mode was %04o", path, mode)
