"""The files of a lock service that lives in one process: durable in a file system, or in memory.

Layout of lockservice/files/<name>, numbers big-endian (`<name>` is the path with "." as ".d" and "/" as ".s"):

    4 B  "HBLF"      1 B  format version 1      8 B  file version      4 B  length of the data
    data             4 B  CRC32 of everything before it

lockservice/epochs holds the same with the data: 8 B, the first number that was never given out. Numbers are taken in
blocks, so that taking a lock costs no disk write; what was left of a block at a stop or crash is never used. Where it
was lost, beside files that are there, numbers go on with the clock's milliseconds: nobody takes one each millisecond.
"""

import logging
import re
import struct
from collections.abc import Callable
from typing import Final, Protocol, final

from hbtable.crc32 import crc32
from hbtable.errors import Corruption, FileNotFound, InvalidRequest, LimitExceeded, UnsupportedFormat
from hbtable.fs.interface import FileSystem
from hbtable.lockservice.interface import VersionedFile
from hbtable.switches import switches

log = logging.getLogger(__name__)

FOLDER: Final = "lockservice"
EPOCHS: Final = f"{FOLDER}/epochs"
MAX_DATA_BYTES: Final = 1_000_000

_MAGIC: Final = b"HBLF"
_FORMAT: Final = 1
_HEADER: Final = struct.Struct(">4sBQI")
_CHECKSUM: Final = struct.Struct(">I")
_NUMBER: Final = struct.Struct(">Q")
_FILES: Final = f"{FOLDER}/files"
_MAX_NAME_BYTES: Final = 255
_PATH: Final = re.compile(r"(?:/(?!\.{1,2}(?:/|\Z))[A-Za-z0-9._-]+)+")


class StoredFiles(Protocol):
    """Files by lock service path. One caller at a time may change them."""

    @switches
    def load(self, path: str) -> VersionedFile | None:
        """None when there is no such file."""

    @switches
    def put(self, path: str, file: VersionedFile) -> None:
        """Creates or replaces, durable on return. After an error either state may be there."""

    @switches
    def remove(self, path: str) -> None:
        """FileNotFound. Durable on return."""

    @switches
    def paths(self) -> list[str]:
        """All paths, ascending. May switch."""


class FileStore(StoredFiles, Protocol):
    """The same, and numbers that are never given out twice."""

    @switches
    def reserve_numbers(self, count: int) -> int:
        """The first of `count` numbers that nobody ever got before, durably."""


@final
class MemoryFiles:
    """Survives what its owner simulates as a restart."""

    def __init__(self) -> None:
        self._files: dict[str, VersionedFile] = {}
        self._next_number = 1

    def load(self, path: str) -> VersionedFile | None:
        return self._files.get(path)

    def put(self, path: str, file: VersionedFile) -> None:
        self._files[path] = file

    def remove(self, path: str) -> None:
        del self._files[path]

    def paths(self) -> list[str]:
        return sorted(self._files)

    def reserve_numbers(self, count: int) -> int:
        first = self._next_number
        self._next_number += count
        return first


@final
class DurableFiles:
    """Keeps each file in one file of a file system, replaced atomically."""

    def __init__(self, fs: FileSystem, wall_millis: Callable[[], int] = lambda: 1) -> None:
        self._fs = fs
        self._wall_millis = wall_millis

    @switches
    def load(self, path: str) -> VersionedFile | None:
        return self._load(_file_of(path))

    @switches
    def _load(self, file_path: str) -> VersionedFile | None:
        try:
            stored = self._fs.read_file(file_path)
        except FileNotFound:
            return None
        return _decode(file_path, stored)

    @switches
    def put(self, path: str, file: VersionedFile) -> None:
        self._fs.write_file(_file_of(path), _encode(file))

    @switches
    def remove(self, path: str) -> None:
        self._fs.delete(_file_of(path))

    @switches
    def paths(self) -> list[str]:
        return sorted(_path_of(status.path) for status in self._fs.list_files(_FILES))

    @switches
    def reserve_numbers(self, count: int) -> int:
        first, version = self.next_number() or (self._first_number(), 0)
        # Before the first number is used: a crash after that must not give it out a second time.
        self._fs.write_file(EPOCHS, _encode(VersionedFile(_NUMBER.pack(first + count), version + 1)))
        return first

    @switches
    def set_aside(self, path: str) -> str:
        """Moves the file of this path, or EPOCHS for "", aside: it is as if it had never been. Returns its place now.
        Durable. *Switches.*"""
        stored = _file_of(path) if path else EPOCHS
        kept = f"{FOLDER}/damaged/{stored.rpartition('/')[2]}-{self._wall_millis()}"
        self._fs.rename(stored, kept)
        return kept

    @switches
    def _first_number(self) -> int:
        if not self._fs.list_files(_FILES):
            return 1
        first = self._wall_millis()
        log.error("%s was not there, beside files that are: it was lost; numbers of locks go on at %d", EPOCHS, first)
        return first

    @switches
    def next_number(self) -> tuple[int, int] | None:
        """(the first number that was never given out, the file's version); None when none ever was. Corruption."""
        file = self._load(EPOCHS)
        if file is None:
            return None
        if len(file.data) != _NUMBER.size:
            raise Corruption(EPOCHS, 0, f"a number of {_NUMBER.size} bytes is wanted, {len(file.data)} are there")
        return _NUMBER.unpack(file.data)[0], file.version


def stored_path(path: str) -> str:
    """The place of this lock service path's file."""
    return _file_of(path)


def path_of_stored(name: str) -> str:
    """The lock service path of a file that is called like one of stored_path(), in whatever folder."""
    return _path_of(f"{_FILES}/{name.rpartition('/')[2]}")


def stored_number(number: int, version: int) -> bytes:
    """The content of EPOCHS: `number` is the first that was never given out."""
    return _encode(VersionedFile(_NUMBER.pack(number), version))


def _encode(file: VersionedFile) -> bytes:
    body = _HEADER.pack(_MAGIC, _FORMAT, file.version, len(file.data)) + file.data
    return body + _CHECKSUM.pack(crc32(body))


def _decode(path: str, stored: bytes) -> VersionedFile:
    if len(stored) < _HEADER.size + _CHECKSUM.size:
        raise Corruption(path, len(stored), "it ends before a lock service file could")
    magic, format_version, version, length = _HEADER.unpack_from(stored)
    if magic != _MAGIC:
        raise Corruption(path, 0, "it does not begin like a lock service file")
    if crc32(stored[: -_CHECKSUM.size]) != _CHECKSUM.unpack(stored[-_CHECKSUM.size :])[0]:
        raise Corruption(path, 0, "its checksum does not match its bytes")
    if format_version > _FORMAT:
        raise UnsupportedFormat(
            f"{path} has format {format_version}, this hbtable knows up to {_FORMAT}: use a newer one"
        )
    data = stored[_HEADER.size : -_CHECKSUM.size]
    if length != len(data):
        raise Corruption(path, _HEADER.size, f"its length is given as {length}, {len(data)} bytes are there")
    return VersionedFile(data, version)


def _file_of(path: str) -> str:
    return f"{_FILES}/{_escaped(path)}"


def _escaped(path: str) -> str:
    return path[1:].replace(".", ".d").replace("/", ".s")


def _path_of(file_path: str) -> str:
    name = file_path[len(_FILES) + 1 :]
    return "/" + name.replace(".s", "/").replace(".d", ".")


def check_data(path: str, data: bytes) -> None:
    """LimitExceeded above 1 MB: what a real lock service refuses, the small one must refuse too."""
    if len(data) > MAX_DATA_BYTES:
        raise LimitExceeded(f"{path} would have {len(data)} bytes; the lock service holds up to {MAX_DATA_BYTES}")


def check_path(path: str) -> None:
    """InvalidRequest when `path` is malformed, or longer than a file name on disk may be once it is escaped."""
    if _PATH.fullmatch(path) is None:
        raise InvalidRequest(f"{path!r} is no lock service path: parts of [A-Za-z0-9._-], each after a /")
    if len(_escaped(path)) > _MAX_NAME_BYTES:
        raise InvalidRequest(
            f"the lock service path {path} is too long: its escaped form has over {_MAX_NAME_BYTES} bytes"
        )
