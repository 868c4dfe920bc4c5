"""The manifest: which files a fenced log consists of, and how long each is (docs/faults.md: fencing).

<log folder>/manifest, published once by whichever fencer is first, never changed:

    "BtLogMan" (8)  version (2)  kind (1: 0 local, 1 hdfs, 2 webhdfs)  reserved (1)  files (4)
    incarnation bytes (2)  incarnation, then per file, ascending: name bytes (2)  name  length bytes (8);
    crc32 of all before (4)

Big-endian; names are relative to the folder. A length is what the fencer saw once the marker stood: all that was
acknowledged is within it. What a file grows to later was never acknowledged, and is not read.

A log of kind local has no manifest: nobody else writes in this machine's data folder, so its listing stays as it is.
"""

import struct
from typing import Final, NamedTuple

from hbtable.commitlog.segments.segment import incarnation_of
from hbtable.crc32 import crc32
from hbtable.errors import Corruption, FileNotFound, Unavailable, UnsupportedFormat
from hbtable.fs.interface import HDFS, LOCAL, WEBHDFS, FileSystem
from hbtable.switches import switches

MAGIC: Final = b"BtLogMan"
VERSION: Final = 1
NAME: Final = "manifest"
_KINDS: Final = (LOCAL, HDFS, WEBHDFS)

_HEAD: Final = struct.Struct(">8sHBBIH")
_NAME: Final = struct.Struct(">H")
_LENGTH: Final = struct.Struct(">Q")
_CHECKSUM: Final = struct.Struct(">I")


class LogFile(NamedTuple):
    """One file of a log. `name` is relative to the log's folder."""

    name: str
    length_bytes: int


class Manifest(NamedTuple):
    """All that recovery reads of a log. `files` ascending by name."""

    incarnation: str
    log_kind: str
    files: tuple[LogFile, ...]
    given_up: bool = False
    """Not stored here but in the fencing marker (fencing.py). A log without files that was not given up is damage."""


def manifest_path(folder: str) -> str:
    return f"{folder}/{NAME}"


@switches
def list_log(fs: FileSystem, folder: str) -> Manifest:
    """The log's files as they are now. Settled only when nobody writes any more. An error while listing raises: a part
    of a log is never taken for all of it (bug class 5)."""
    files = []
    for status in fs.list_files(folder):
        name = status.path[len(folder) + 1 :]
        if "/" not in name and not name.startswith(NAME):
            files.append(LogFile(name, status.length_bytes))
    return Manifest(incarnation_of(folder), fs.log_kind, tuple(files))


@switches
def published(fs: FileSystem, folder: str) -> Manifest | None:
    """The manifest, None when no fencer got so far. May switch. Corruption, UnsupportedFormat."""
    try:
        stored = fs.read_file(manifest_path(folder))
    except FileNotFound:
        return None
    return decode_manifest(stored, folder)


@switches
def settled(fs: FileSystem, folder: str) -> Manifest:
    """The list of files that recovery may read. May switch. Unavailable: the log is not fenced; its writer may still
    acknowledge."""
    if fs.log_kind == LOCAL:
        return list_log(fs, folder)
    manifest = published(fs, folder)
    if manifest is None:
        raise Unavailable(f"{folder} is not fenced yet: nobody can say where it ends")
    return manifest


def encode_manifest(manifest: Manifest) -> bytes:
    name = manifest.incarnation.encode()
    parts = [_HEAD.pack(MAGIC, VERSION, _KINDS.index(manifest.log_kind), 0, len(manifest.files), len(name)), name]
    for file in manifest.files:
        encoded = file.name.encode()
        parts += (_NAME.pack(len(encoded)), encoded, _LENGTH.pack(file.length_bytes))
    body = b"".join(parts)
    return body + _CHECKSUM.pack(crc32(body))


def decode_manifest(buffer: bytes, folder: str) -> Manifest:
    """Corruption, also when it is another log's; UnsupportedFormat."""
    path = manifest_path(folder)
    body = buffer[:-4]
    if len(body) < _HEAD.size or _CHECKSUM.pack(crc32(body)) != buffer[-4:]:
        raise Corruption(path, 0, "the manifest fails its checksum")
    magic, version, kind, reserved, count, name_bytes = _HEAD.unpack_from(body)
    if magic != MAGIC:
        raise Corruption(path, 0, "not a manifest of a log")
    if version > VERSION:
        raise UnsupportedFormat(f"{path} is of format {version}; this hbtable reads up to {VERSION}")
    position = _HEAD.size + name_bytes
    incarnation = body[_HEAD.size : position].decode()
    if kind >= len(_KINDS) or reserved:
        raise UnsupportedFormat.unknown(path, "kind of log", (kind, reserved), f"0 to {len(_KINDS) - 1}, then 0")
    if incarnation != incarnation_of(folder):
        raise Corruption(path, _HEAD.size, f"the manifest of {incarnation}, not of this log")
    files = []
    for _ in range(count):
        start = position + _NAME.size
        position = start + int.from_bytes(body[position:start], "big") + _LENGTH.size
        if position > len(body):
            raise Corruption(path, start, f"the manifest says {count} files and ends before")
        name = body[start : position - _LENGTH.size].decode()
        files.append(LogFile(name, int.from_bytes(body[position - _LENGTH.size : position], "big")))
    if position != len(body):
        raise Corruption(path, position, f"the manifest goes on after its {count} files")
    return Manifest(incarnation, _KINDS[kind], tuple(files))
