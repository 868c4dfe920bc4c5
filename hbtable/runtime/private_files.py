"""Refuses files with secrets that others may read or change, and files that say who comes in where others may change
them or put their own into their place.

That is what sshd asks of authorized_keys (StrictModes): the file and every folder on the way to it are root's or the
user's that runs hbtable, and nobody else may write there. Two things differ. Groups are trusted on the way, as that of
the data folder is; and a sticky folder (/tmp) may be everybody's, because nobody renames another one's files there, as
may one that is mounted read-only.

Root may use everybody's, as it may open everybody's data folder, where nobody but root or a folder's owner can have put
it: a container's root is given files of a user outside.
"""

import os
import stat
from typing import Final

from hbtable.errors import InvalidConfiguration

_MOST_LINKS: Final = 40
"""As Linux follows."""


def check_private(path: str, status: os.stat_result, what: str) -> None:
    """InvalidConfiguration unless its owner alone may read and change it, and nobody else's file may come into its
    place. `status`: the opened file's. `what`: the file, for the message. OSError."""
    if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise InvalidConfiguration(
            f"{what}, may be read or changed by others (mode {stat.S_IMODE(status.st_mode):04o}): chmod 600 it"
        )
    check_place(path, status, what)


def check_unchangeable(path: str, status: os.stat_result, what: str) -> None:
    """InvalidConfiguration where everybody may change it, or another user whose file it is, or one who may put his own
    into its place. Its group is trusted, which is the user's own where a umask of 002 is usual. As check_private()."""
    if status.st_mode & stat.S_IWOTH:
        raise InvalidConfiguration(
            f"{what}, may be changed by everybody (mode {stat.S_IMODE(status.st_mode):04o}): chmod o-w it"
        )
    check_place(path, status, what)


def check_place(path: str, status: os.stat_result | None, what: str) -> None:
    """InvalidConfiguration where another user owns it, or may put his own into its place. `status` None: there may be
    no such file. OSError."""
    way = _Way(what)
    folder = way.walk(path)
    if status is not None and not way.is_trusted(status.st_uid, folder):
        raise InvalidConfiguration(
            f"{what}, belongs to another user (number {status.st_uid}), who may change it: chown it"
        )


class _Way:
    """The folders and links on the way to a file."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._links = 0
        self._user = os.geteuid()
        self.trusted = {0, self._user, os.stat("/").st_uid}
        """Users. In a container whose root is another user outside, root's folders look like nobody's, as / does."""

    def is_trusted(self, owner: int, folder: os.stat_result) -> bool:
        """Whether a file or a folder of `owner` in this folder is. Root's process trusts whom root let have it."""
        return owner in self.trusted or (self._user == 0 and not folder.st_mode & (stat.S_IWGRP | stat.S_IWOTH))

    def walk(self, path: str) -> os.stat_result:
        """The folder in which the file is, or would be. InvalidConfiguration: somebody else may change where `path`
        leads to."""
        done, above = "/", os.stat("/")
        parts = _parts(os.path.join(os.getcwd(), path))
        while parts:
            part = parts.pop()
            here = os.path.join(done, part)
            if part == "..":
                done, above = os.path.dirname(done), os.stat(os.path.dirname(done))
                continue
            try:
                status = os.lstat(here)
            except (FileNotFoundError, NotADirectoryError):
                break
            if stat.S_ISLNK(status.st_mode):
                self._check_link(here, status)
                target = os.readlink(here)
                if os.path.isabs(target):
                    done, above = "/", os.stat("/")
                parts += _parts(target)
            elif parts:
                self._check_folder(here, status, above)
                done, above = here, status
        return above

    def _check_link(self, path: str, status: os.stat_result) -> None:
        self._links += 1
        if self._links > _MOST_LINKS:
            raise InvalidConfiguration(f"{self._what}, is behind too many symbolic links")
        if status.st_uid not in self.trusted:
            raise InvalidConfiguration(
                f"{self._what}, is behind a symbolic link of another user (number {status.st_uid}), who may let it "
                f"lead elsewhere: {path}. Name the file itself"
            )

    def _check_folder(self, path: str, status: os.stat_result, above: os.stat_result) -> None:
        if status.st_mode & stat.S_IWOTH and not status.st_mode & stat.S_ISVTX and not _is_read_only(path):
            raise InvalidConfiguration(
                f"{self._what}, lies in a folder in which everybody may put another file into its place: {path} (mode "
                f"{stat.S_IMODE(status.st_mode):04o}). chmod o-w it"
            )
        if not self.is_trusted(status.st_uid, above):
            raise InvalidConfiguration(
                f"{self._what}, lies in a folder of another user (number {status.st_uid}), who may put another file "
                f"into its place: {path}. chown it, or name a file elsewhere"
            )
        self.trusted.add(status.st_uid)


def _is_read_only(folder: str) -> bool:
    """Whether it is mounted so, as a ConfigMap of Kubernetes is, whose folders are 0777."""
    return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)


def _parts(path: str) -> list[str]:
    """The last one first."""
    return [part for part in reversed(path.split("/")) if part not in ("", ".")]
