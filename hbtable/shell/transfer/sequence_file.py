"""Hadoop's SequenceFile, version 6, as a sequence of keys and values: not compressed, by the record, or by the block.

    "SEQ", 6, names of the classes of key and value, is it compressed, by the block, the codec's name where it is,
    a number of pairs of texts, and 16 bytes of its own: the file's mark
    record    length of key and value, length of the key, both; the value may be compressed
    block     -1, the mark, how many records, and four buffers, each compressed behind its length: lengths of keys,
              keys, lengths of values, values

Lengths are 4 bytes, but in a block and of texts as WritableUtils writes them. -1 and the mark stand between records
now and then: behind damage, reading goes on there. Records have no checksum; Hadoop keeps those of a file in
.NAME.crc beside it, for each 512 bytes.
"""

import bz2
import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Final, NamedTuple, final

from hbtable.encoding.varint import decode as varint
from hbtable.shell.errors import ArgumentError
from hbtable.sstable.compression import SNAPPY, decompress

_BEGINS: Final = b"SEQ\x06"
_MARK_BYTES: Final = 16
_ESCAPE: Final = b"\xff\xff\xff\xff"
_PIECE: Final = 1 << 20
_LARGEST: Final = 1 << 30
"""Of one buffer, unpacked: Hadoop's blocks are of a megabyte, and a row that is larger is one record."""
_CODECS: Final = "org.apache.hadoop.io.compress."


class SequenceRecord(NamedTuple):
    """A key and its value, and the byte of the file where the record begins, or its block where it is of one."""

    offset: int
    key: bytes
    value: bytes


class DamagedStretch(NamedTuple):
    """The bytes of the file that could not be read, from `offset` to `behind`, and why."""

    offset: int
    behind: int
    reason: str


class _Damage(Exception):
    """Something in the record or block that is read."""


def _inflated(data: bytes) -> bytes:
    unpacker = zlib.decompressobj()
    return _whole(unpacker.decompress(data, _LARGEST), unpacker.eof)


def _unzipped(data: bytes) -> bytes:
    unpacker = bz2.BZ2Decompressor()
    return _whole(unpacker.decompress(data, _LARGEST), unpacker.eof)


def _gunzipped(data: bytes) -> bytes:
    unpacker = zlib.decompressobj(zlib.MAX_WBITS + 16)
    return _whole(unpacker.decompress(data, _LARGEST), unpacker.eof)


def _unsnapped(data: bytes) -> bytes:
    """Chunks of Snappy behind their length, until so many bytes are there as the length before them says; and again."""
    found = bytearray()
    at = 0
    while at < len(data):
        wanted = len(found) + int.from_bytes(data[at : at + 4], "big")
        at += 4
        while len(found) < wanted <= _LARGEST:
            chunk = data[at + 4 : at + 4 + int.from_bytes(data[at : at + 4], "big")]
            try:
                if not 0 < varint(chunk, 0)[0] <= wanted - len(found):  # so large is what comes of it
                    break
                found += decompress(SNAPPY, chunk)
            except (ValueError, IndexError) as error:
                raise _Damage(f"Snappy cannot read {len(chunk)} bytes: {error}") from None
            at += 4 + len(chunk)
        if len(found) != wanted:
            raise _Damage(f"{len(found)} bytes are unpacked where {wanted} belong")
    return bytes(found)


def _whole(unpacked: bytes, is_whole: bool) -> bytes:
    if not is_whole:
        raise _Damage(f"compressed bytes that end too early, or are more than {_LARGEST >> 20} MiB")
    return unpacked


_UNPACK: Final[dict[str, Callable[[bytes], bytes]]] = {
    f"{_CODECS}DefaultCodec": _inflated,
    f"{_CODECS}DeflateCodec": _inflated,
    f"{_CODECS}GzipCodec": _gunzipped,
    f"{_CODECS}BZip2Codec": _unzipped,
    f"{_CODECS}SnappyCodec": _unsnapped,
}


@final
class SequenceFile:
    """One file, open for reading. ArgumentError: it is none, or of another version, or of an unknown codec."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: IO[bytes] = path.open("rb")
        self._at = 0
        self._size = os.fstat(self._file.fileno()).st_size
        try:
            self._read_header()
        except BaseException:
            self._file.close()
            raise

    def close(self) -> None:
        self._file.close()

    def _read_header(self) -> None:
        try:
            begins = self._read(4)
            if begins[:3] != _BEGINS[:3]:
                raise ArgumentError(
                    f"{self.path} is no SequenceFile: it begins with {begins!r} and not with {_BEGINS[:3]!r}"
                )
            if begins != _BEGINS:
                raise ArgumentError(
                    f"{self.path} is a SequenceFile of version {begins[3]}, and this reads {_BEGINS[3]} alone"
                )
            self.key_class, self.value_class = self._text(), self._text()
            is_compressed, self._in_blocks = self._read(1) != b"\0", self._read(1) != b"\0"
            codec = self._text() if is_compressed else ""
            for _ in range(2 * self._number()):
                self._text()
            self._mark = self._read(_MARK_BYTES)
        except _Damage as damage:
            raise ArgumentError(
                f"{self.path} is damaged in its beginning, at byte {self._at}: {damage}; fetch it again"
            ) from None
        if is_compressed and codec not in _UNPACK:
            raise ArgumentError(
                f"{self.path} is compressed by {codec}, and this reads {', '.join(_UNPACK)} alone: export with -D "
                f"mapreduce.output.fileoutputformat.compress.codec={next(iter(_UNPACK))}"
            )
        self._unpack = _UNPACK.get(codec)

    def records(self) -> Iterator[SequenceRecord | DamagedStretch]:
        """All of the file, in its order. Called once."""
        while self._at < self._size:
            begins = self._at
            try:
                yield from self._block(begins) if self._in_blocks else self._record(begins)
            except (_Damage, OSError, zlib.error) as damage:  # OSError: bz2's
                if isinstance(damage, OSError) and damage.errno is not None:
                    raise
                self._to_the_next_mark(begins)
                yield DamagedStretch(begins, self._at, str(damage))

    def _record(self, begins: int) -> list[SequenceRecord]:
        length = self._number()
        if length == -1:
            self._check_mark()
            return []
        key_length = self._number()
        if not 0 <= key_length <= length:
            raise _Damage(f"a key of {key_length} bytes in a record of {length}")
        body = self._read(length)
        value = body[key_length:]
        return [SequenceRecord(begins, body[:key_length], value if self._unpack is None else self._unpack(value))]

    def _block(self, begins: int) -> list[SequenceRecord]:
        """Whole or not at all."""
        if self._number() != -1:
            raise _Damage("no block begins there")
        self._check_mark()
        count = self._short_number()
        unpack = self._unpack or bytes
        key_lengths, keys, value_lengths, values = [unpack(self._read(self._short_number())) for _ in range(4)]
        pieces = zip(_pieces(key_lengths, keys, count), _pieces(value_lengths, values, count), strict=True)
        return [SequenceRecord(begins, key, value) for key, value in pieces]

    def _check_mark(self) -> None:
        if self._read(_MARK_BYTES) != self._mark:
            raise _Damage("the file's mark is another one there")

    def _to_the_next_mark(self, begins: int) -> None:
        """Behind `begins`, or to the end of the file."""
        wanted = _ESCAPE + self._mark
        at = begins + 1
        self._file.seek(at)
        held = b""
        while piece := self._file.read(_PIECE):
            found = (held + piece).find(wanted)
            if found >= 0:
                self._at = at - len(held) + found
                self._file.seek(self._at)
                return
            at += len(piece)
            held = (held + piece)[-len(wanted) + 1 :]
        self._at = self._size

    def _read(self, size: int) -> bytes:
        if not 0 <= size <= self._size - self._at:
            raise _Damage(
                f"{size:,} bytes belong at byte {self._at:,}, and the file has {self._size - self._at:,} from there on"
            )
        data = self._file.read(size)
        self._at += len(data)
        if len(data) < size:
            raise _Damage("the file became shorter")
        return data

    def _number(self) -> int:
        return int.from_bytes(self._read(4), "big", signed=True)

    def _short_number(self) -> int:
        first = self._read(1)
        return _short(first + self._read(_bytes_of(first[0]) - 1), 0)[0]

    def _text(self) -> str:
        return self._read(self._short_number()).decode("utf-8", "replace")


def _bytes_of(first: int) -> int:
    """The length of a number that begins so."""
    if first < 0x80 or first >= 0x90:
        return 1
    return 0x91 - first if first >= 0x88 else 0x89 - first


def _short(data: bytes, at: int) -> tuple[int, int]:
    """A number as WritableUtils writes it, and where it ends. _Damage."""
    first = data[at] if at < len(data) else 0x80
    end = at + _bytes_of(first)
    if end > len(data):
        raise _Damage("numbers of a block end too early")
    if end == at + 1:
        return (first if first < 0x80 else first - 0x100), end
    number = int.from_bytes(data[at + 1 : end], "big")
    return (~number if first < 0x88 else number), end


def _pieces(lengths: bytes, data: bytes, count: int) -> Iterator[bytes]:
    at = begins = 0
    for _ in range(count):
        length, at = _short(lengths, at)
        if not 0 <= length <= len(data) - begins:
            raise _Damage(f"a piece of {length} bytes in a block that has {len(data) - begins} left")
        yield data[begins : begins + length]
        begins += length
    if at != len(lengths) or begins != len(data):
        raise _Damage("a block holds more than its records")


def check_checksums(path: Path) -> None:
    """By Hadoop's own of the file, where they lie beside it. ArgumentError."""
    kept = path.with_name(f".{path.name}.crc")
    if not kept.exists():
        return
    sums = kept.read_bytes()
    width = int.from_bytes(sums[4:8], "big")
    if sums[:4] != b"crc\0" or width == 0:
        raise ArgumentError(f"{kept} holds no checksums of {path}: fetch both again, or remove it to import unchecked")
    at, place = 0, 8
    with path.open("rb") as file:
        while piece := file.read(width):
            if sums[place : place + 4] != zlib.crc32(piece).to_bytes(4, "big"):
                raise ArgumentError(
                    f"{path} is damaged between byte {at:,} and {at + len(piece):,}: its checksum in {kept.name} is "
                    "another one; fetch it again, or remove that file to import unchecked"
                )
            at, place = at + len(piece), place + 4
    if place != len(sums):
        raise ArgumentError(
            f"{path} ends at byte {at:,}, and {kept.name} has checksums of more: fetch it again, or remove that file "
            "to import unchecked"
        )
