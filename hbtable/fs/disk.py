"""Calls of the operating system for local.py, mostly in threads: plain blocking functions over absolute paths.

They raise OSError; local.py knows the paths users see and translates. None touches the runtime.
"""

import fcntl
import os
import shutil
import stat
from collections.abc import Iterator
from typing import Final

from hbtable.fs.interface import FileStatus
from hbtable.fs.paths import UNFINISHED

_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
_FULL_SYNC: Final[int | None] = getattr(fcntl, "F_FULLFSYNC", None)


def sync_descriptor(descriptor: int) -> None:
    """The file's content and length are on the medium on return."""
    if _FULL_SYNC is not None:
        fcntl.fcntl(descriptor, _FULL_SYNC)  # macOS: fsync leaves the bytes in the drive's cache
    else:
        os.fdatasync(descriptor)


def append(descriptor: int, data: bytes) -> None:
    """All of `data` is in the operating system's hands on return."""
    written = os.write(descriptor, data)
    if written != len(data):
        # A short write is how a disk says that it is nearly full; the next one says it outright.
        rest = memoryview(data)[written:]
        while rest:
            rest = rest[os.write(descriptor, rest) :]


def sync_folder(folder: str) -> None:
    """The names in `folder` are on the medium on return."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder_of(path: str, *others: str) -> None:
    """Syncs the folder of each path, in the order given, each folder once."""
    for folder in dict.fromkeys(os.path.dirname(each) for each in (path, *others)):
        sync_folder(folder)


def make_folders(root: str, folder: str, mode: int = 0o777) -> None:
    """Makes `folder` and those above it, down from `root`, with `mode` less the umask; each new name is durable on
    return."""
    if os.path.isdir(folder):
        return
    parent = os.path.dirname(folder)
    if folder != root:
        make_folders(root, parent, mode)
    try:
        os.mkdir(folder, mode)
    except FileExistsError:
        if not os.path.isdir(folder):
            raise
    # Without it a crash could lose the folder, with every synced file in it.
    sync_folder(parent)


def create(root: str, path: str, private: bool = False) -> int:
    """A descriptor of a new file open for appending. FileExistsError. The name is not yet durable. `private`: for its
    owner alone, as the folders that are made for it."""
    mode = 0o600 if private else 0o644
    try:
        return os.open(path, _CREATE, mode)
    except FileNotFoundError:
        make_folders(root, os.path.dirname(path), 0o700 if private else 0o777)
        return os.open(path, _CREATE, mode)


def replace(root: str, temporary: str, path: str, data: bytes, private: bool = False) -> None:
    """`path` holds `data`, durably, or what it held before. `private`: as in create()."""
    descriptor = create(root, temporary, private)
    try:
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            # Before the rename: a crash after it must not find the new name with an empty file behind it.
            sync_descriptor(descriptor)
        finally:
            os.close(descriptor)
        make_folders(root, os.path.dirname(path), 0o700 if private else 0o777)
        os.rename(temporary, path)
    except OSError:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise
    sync_folder_of(path)


def rename(root: str, source: str, target: str) -> None:
    """FileNotFoundError, FileExistsError. The change is not yet durable."""
    if not os.path.isfile(source):
        raise FileNotFoundError(source)
    if os.path.exists(target):
        raise FileExistsError(target)
    make_folders(root, os.path.dirname(target))
    os.rename(source, target)


def delete(path: str) -> None:
    """FileNotFoundError. Durable on return."""
    os.unlink(path)
    sync_folder_of(path)


def delete_folder(folder: str) -> None:
    """Durable on return; nothing happens when there is no such folder."""
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        if os.path.isdir(folder):
            raise
    parent = os.path.dirname(folder)
    if os.path.isdir(parent):
        sync_folder(parent)


def read_all(descriptor: int, offset: int, size: int) -> bytes:
    """`size` bytes, or fewer when the file ends before."""
    pieces: list[bytes] = []
    while size:
        piece = os.pread(descriptor, size, offset)
        if not piece:
            break
        pieces.append(piece)
        offset += len(piece)
        size -= len(piece)
    return b"".join(pieces)


def status(absolute: str, path: str) -> FileStatus:
    """FileNotFoundError also for a folder."""
    result = os.stat(absolute)
    if stat.S_ISDIR(result.st_mode):
        raise FileNotFoundError(2, "is a folder", absolute)
    return FileStatus(path, result.st_size, result.st_mtime_ns // 1_000_000)


def list_files(root: str, folder: str) -> list[FileStatus]:
    """Everything below `folder` but unfinished files, ascending by path relative to `root`."""
    return sorted(_files_below(folder, len(root) + 1))


def _files_below(folder: str, skip: int) -> Iterator[FileStatus]:
    try:
        entries = list(os.scandir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return  # deleted between the listing of the folder above and now
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if entry.path[skip:] != UNFINISHED:
                yield from _files_below(entry.path, skip)
            continue
        try:
            yield status(entry.path, entry.path[skip:])
        except FileNotFoundError:
            continue  # deleted since


def reserve(root: str, path: str, length_bytes: int) -> None:
    """As fs.interface.DiskSpace.reserve."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        before = os.fstat(descriptor).st_size
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(descriptor, 0, length_bytes)
            else:  # macOS
                for start in range(before, length_bytes, 1 << 20):
                    os.pwrite(descriptor, bytes(min(1 << 20, length_bytes - start)), start)
        except OSError:
            os.ftruncate(descriptor, before)
            raise
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    sync_folder(root)


def shrink(path: str, length_bytes: int) -> None:
    """As fs.interface.DiskSpace.shrink."""
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        os.ftruncate(descriptor, length_bytes)
        os.fsync(descriptor)  # some file systems have the space only then
    finally:
        os.close(descriptor)
