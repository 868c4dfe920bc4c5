"""The folder in which a job is kept, so that one that was broken off goes on.

A file is a line of its kind, job and versions, then pickles of some values each, behind its length and the checksum of
all up to it, and at the end a length of nothing with the same checksum. So what a loss of power or a bad disk left of
a file is known from a whole one. They are programs of this version of Python and of hbtable, and for these alone.
"""

import os
import pickle
import struct
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, final
from uuid import uuid4

from hbtable import __version__
from hbtable.crc32 import crc32
from hbtable.errors import Corruption, InvalidRequest
from hbtable.fs.disk import sync_descriptor, sync_folder
from hbtable.runtime.private_files import check_place

JOB_FILE: Final = "job"
"""Says which job the folder holds; it is there before its tasks' files are."""
BEGUN: Final = ".begun-"
"""Begins the names of files that are being written, which readers of a folder leave out."""
_PICKLED_AT_ONCE: Final = 1000
_VERSIONS: Final = f"hbtable {__version__} and Python {sys.version_info.major}.{sys.version_info.minor}"
_FRAME: Final = struct.Struct(">QI")


@final
class WorkFolder:
    """The progress of a job, as files: each comes whole, by renaming. Pickles are programs, so nobody else may write
    here."""

    def __init__(self, path: Path, job: str = "") -> None:
        """Made if it is not there. `job`: whose files are looked at; another one's are as if they were not there.
        InvalidRequest: others can write to it, or put another one into its place."""
        path = path.absolute()
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.stat()
        if not _is_ours(found):
            raise InvalidRequest(
                f"others than this user can write to the folder {path}, and what lies there is run: give another "
                "'work' folder, an empty one"
            )
        check_place(str(path), found, f"the 'work' folder {path}, of which files are run")
        self.path = path
        self._head = f"hbtable job 2 {job}, of {_VERSIONS}\n".encode()

    def of_job(self, job: str) -> "WorkFolder":
        return WorkFolder(self.path, job)

    def has(self, name: str) -> bool:
        """Whole or not, and whosever it is."""
        return (self.path / name).exists()

    def is_whole(self, name: str) -> bool:
        """Whether it is there, of this job, and has all that was kept. It is read for that."""
        try:
            for _ in self._pickles(name):
                pass
        except (FileNotFoundError, Corruption):
            return False
        return True

    def keep(self, name: str, values: Iterable[Any]) -> None:
        """Nobody sees half of it, also when two tasks keep the same; durable on return. What is there already is
        replaced."""
        part = self.path / f"{BEGUN}{uuid4().hex}"
        try:
            with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(self._head)
                checksum = crc32(self._head)
                for some in _lists(values):
                    data = pickle.dumps(some)
                    checksum = crc32(data, checksum)
                    file.write(_FRAME.pack(len(data), checksum))
                    file.write(data)
                file.write(_FRAME.pack(0, checksum))
                file.flush()
                sync_descriptor(file.fileno())  # else a loss of power may leave the name and none of the values
            part.rename(self.path / name)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
        sync_folder(str(self.path))

    def remove(self, name: str) -> None:
        """Nothing, if it is not there; durable on return."""
        (self.path / name).unlink(missing_ok=True)
        sync_folder(str(self.path))

    def kept(self, name: str) -> Iterator[Any]:
        """In the order in which they were kept. Corruption: it is not whole. InvalidRequest: it is somebody else's, put
        there before the folder was closed."""
        for data in self._pickles(name):
            yield from pickle.loads(data)  # noqa: S301  (nobody else writes here)

    def _pickles(self, name: str) -> Iterator[bytes]:
        path = self.path / name
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
            if not _is_ours(os.fstat(file.fileno())):
                raise InvalidRequest(
                    f"{path} is another user's, or others can write to it, and it would be run: give another 'work' "
                    "folder, an empty one"
                )
            if file.read(len(self._head)) != self._head:
                raise _damaged(path, 0, f"it begins as no file of this job, by {_VERSIONS}")
            checksum = crc32(self._head)
            while True:
                at = file.tell()
                frame = file.read(_FRAME.size)
                if len(frame) < _FRAME.size:
                    raise _damaged(path, at, "it has no end")
                size, expected = _FRAME.unpack(frame)
                data = file.read(min(size, os.fstat(file.fileno()).st_size))
                checksum = crc32(data, checksum)
                if len(data) < size or checksum != expected:
                    raise _damaged(path, at, "its checksum is another one")
                if not size:
                    break
                yield data
            if file.read(1):
                raise _damaged(path, at, "it goes on behind its end")


def _is_ours(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid() and not status.st_mode & 0o022


def _damaged(path: Path, at: int, reason: str) -> Corruption:
    return Corruption(str(path), at, f"{reason}; give an empty 'work' folder, in which the job begins anew")


def _lists(values: Iterable[Any]) -> Iterator[list[Any]]:
    """At least one, if of nothing."""
    some: list[Any] = []
    for value in values:
        some.append(value)
        if len(some) == _PICKLED_AT_ONCE:
            yield some
            some = []
    yield some
