"""Refuses files with secrets that others may read or change, and files that say who comes in and others may change."""

import os
import stat

from hbtable.errors import InvalidConfiguration


def check_private(status: os.stat_result, what: str) -> None:
    """InvalidConfiguration unless its owner alone may read and change it. `what`: the file, for the message."""
    if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise InvalidConfiguration(
            f"{what}, may be read or changed by others (mode {stat.S_IMODE(status.st_mode):04o}): chmod 600 it"
        )


def check_unchangeable(status: os.stat_result, what: str) -> None:
    """InvalidConfiguration where everybody may change it, or another user whose file it is. Its group is trusted, which
    is the user's own where a umask of 002 is usual. Root may use everybody's, as data folders. `what`: the file, for
    the message."""
    user = os.geteuid()
    if status.st_uid not in (0, user) and user != 0:
        raise InvalidConfiguration(
            f"{what}, belongs to another user (number {status.st_uid}), who may change it: chown it"
        )
    if status.st_mode & stat.S_IWOTH:
        raise InvalidConfiguration(
            f"{what}, may be changed by everybody (mode {stat.S_IMODE(status.st_mode):04o}): chmod o-w it"
        )
