"""Looks who else may read or change a data folder, and takes everybody else's rights to it away.

hbtable believes what is in its folder: users, grants, data. One in which somebody else could have put other files is
refused, until somebody has looked: one that everybody may write to, and one of another user. What others could only
read is closed to them without a word from anybody: so earlier versions made their folders. The rights of the owner's
group stay: earlier versions gave them under a umask of 002, which is usual where each user has a group of his own, and
somebody may have meant them, for a backup.

Some file systems keep no rights and no owners, FAT and Windows' folders in Linux for example: what they show is
nobody's doing, cannot be mended, and is a warning.
"""

import logging
import os
import stat
import tempfile
from typing import Final

from hbtable.errors import InvalidConfiguration
from hbtable.fs.paths import UNFINISHED

_LOG: Final = logging.getLogger(__name__)
UNUSED: Final = frozenset(("LOCK", "lost+found", UNFINISHED))
"""Files of a folder that nobody used yet: a new disk's, and the traces of a start that crashed."""
_ROOT: Final = 0


def close_to_others(root: str) -> None:
    """To be called before anything in the folder is believed. InvalidConfiguration: somebody else could have changed
    what is in it, or owns it. OSError."""
    status = os.stat(root)
    mode = stat.S_IMODE(status.st_mode)
    strange = _strangers_doing(root, status)
    if strange and _means_it(root):
        raise InvalidConfiguration(f"the data folder {root} cannot be used: {strange}")
    if not mode & stat.S_IRWXO:
        return
    try:
        os.chmod(root, mode & ~stat.S_IRWXO)
    except OSError as error:
        _LOG.warning(
            "everybody on this machine has a right to %s (mode %04o): %s%s", root, mode, error.strerror,
            ". It will be refused once it holds something" if mode & stat.S_IWOTH else "",
        )  # fmt: skip
        return
    strange = _strangers_doing(root, status)  # what came before it was closed
    if strange and _means_it(root):
        os.chmod(root, mode)
        raise InvalidConfiguration(f"the data folder {root} cannot be used: {strange}")
    if stat.S_IMODE(os.stat(root).st_mode) & stat.S_IRWXO:
        _LOG.warning("everybody on this machine has a right to %s (mode %04o): its file system keeps none", root, mode)
    else:
        _LOG.info("took everybody else's rights to %s away: its mode was %04o", root, mode)


def _strangers_doing(root: str, status: os.stat_result) -> str:
    """The reason not to believe what is in the folder, and what to do; "": there is none."""
    own = os.geteuid()
    if own != _ROOT and status.st_uid not in (own, _ROOT):
        return (
            f"it belongs to user {status.st_uid}, and this process is user {own}: its owner may change everything in "
            f"it. Run hbtable as its owner, or chown {own} it, or choose another folder"
        )
    mode = stat.S_IMODE(status.st_mode)
    if not mode & stat.S_IWOTH or _is_unused(root, own):
        return ""
    return (
        f"everybody on this machine may change what is in it (mode {mode:04o}). Look whether its files are those "
        f"that hbtable wrote, then {_way_out(root, status.st_uid, own)}"
    )


def _is_unused(root: str, own: int) -> bool:
    """Another user may have made LOCK a link to a file elsewhere, which would be written over."""
    names = frozenset(os.listdir(root))
    ours = (os.lstat(f"{root}/{name}").st_uid in (own, _ROOT) for name in names - {"lost+found"})
    return UNUSED.issuperset(names) and all(ours)


def _way_out(root: str, owner: int, own: int) -> str:
    if owner == own or own == _ROOT:
        return f"chmod 700 {root}"
    return (
        f"move them to a new folder, inside it for example, and name that; or, as root, chown {own} {root} and "
        f"chmod 700 {root}"
    )


def _means_it(root: str) -> bool:
    """Whether rights and owners are what somebody set: a new file has ours."""
    try:
        with tempfile.TemporaryFile(dir=root) as probe:
            status = os.fstat(probe.fileno())
    except OSError:
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & stat.S_IRWXO
