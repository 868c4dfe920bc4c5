"""Opens the place of audit lines: the log, or a file of their own that is written by a thread nobody waits for."""

import logging
import os
from collections.abc import Callable

from hbtable.access.options import AuthOptions
from hbtable.errors import InvalidConfiguration
from hbtable.hbase.audit import AuditTrail
from hbtable.launch.log_lines import LogLines

_LOG = "log"


def open_audit(options: AuthOptions, wall_millis: Callable[[], int]) -> AuditTrail | None:
    """None: nothing is written down. InvalidConfiguration when the file cannot be."""
    if not options.enabled or not options.audit:
        return None
    if options.audit == _LOG:
        return AuditTrail(logging.getLogger("hbtable.audit").info, wall_millis)
    try:
        descriptor = os.open(options.audit, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise InvalidConfiguration(f"auth.audit = {options.audit!r} cannot be written: {error.strerror}") from error
    lines = logging.Logger("hbtable.audit.file", logging.INFO)  # apart from the log, whatever its level
    lines.addHandler(LogLines(descriptor))
    return AuditTrail(lines.info, wall_millis)
