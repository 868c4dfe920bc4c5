"""Refuses files with secrets that others may read or change."""

import os
import stat

from hbtable.errors import InvalidConfiguration


def check_private(status: os.stat_result, what: str) -> None:
    """InvalidConfiguration unless its owner alone may read and change it. `what`: the file, for the message."""
    if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise InvalidConfiguration(
            f"{what}, may be read or changed by others (mode {stat.S_IMODE(status.st_mode):04o}): chmod 600 it"
        )
