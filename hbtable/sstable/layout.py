r"""The layout of an SSTable file: sealed parts, then a footer (paper, section 4; LevelDB's table format).

    data block 0 .. n-1 | filter | index | properties | footer         no gaps, nothing before block 0

Part (sealed), every one of the above but the footer:

    stored bytes                    compressed or not
    compression      1              sstable.compression
    checksum         4              CRC32 of (stored bytes, compression, offset of the part in the file as 8 bytes)

The offset under the checksum catches reads that the disk answers from another place of the file. The checksum is kept
a second time by whoever refers to the part (the index for blocks, the footer for the other three, METADATA for the
footer): a well-formed part of another file, or of an earlier life of this one, is found out on its first read.

Footer, 64 bytes:

    3 x (offset 8, sealed length 4, checksum 4)        filter, index, properties
    footer length 2, format version 2, checksum 4      CRC32 of the footer's bytes before it
    magic 8

All numbers are big-endian. The last 16 bytes keep their meaning in every later version, so that an old reader can tell
a newer file (UnsupportedFormat) from a damaged one (Corruption).
"""

import struct
from typing import Final, NamedTuple

from hbtable.crc32 import crc32
from hbtable.errors import Corruption, UnsupportedFormat
from hbtable.sstable.compression import NONE, decompress

MAGIC: Final = b"hbSSTab\n"
FORMAT_VERSION: Final = 1
FOOTER_BYTES: Final = 64
TRAILER_BYTES: Final = 5
_HANDLES: Final = struct.Struct(">QIIQIIQII")
_TAIL: Final = struct.Struct(">HHI8s")


class Handle(NamedTuple):
    """The place of a sealed part, its length with the trailer, and the checksum that it must have."""

    offset: int
    sealed_bytes: int
    checksum: int


class Footer(NamedTuple):
    """The footer of an SSTable. METADATA keeps its `checksum` (model.tablet.SSTableRef.footer_checksum)."""

    filter_part: Handle
    index_part: Handle
    properties_part: Handle
    checksum: int


def seal(stored: bytes, compression: int, offset: int) -> tuple[bytes, int]:
    """(the part as it stands at `offset`, its checksum)."""
    body = stored + bytes((compression,))
    checksum = crc32(offset.to_bytes(8, "big"), crc32(body))
    return body + checksum.to_bytes(4, "big"), checksum


def unseal(path: str, handle: Handle, sealed: bytes) -> bytes:
    """The raw bytes of a part read at its handle. Corruption when anything about it does not check;
    UnsupportedFormat for a compression of a newer hbtable."""
    raw, behind = unseal_in_place(path, handle, sealed)
    return raw[:-behind] if behind else raw


def unseal_in_place(path: str, handle: Handle, sealed: bytes) -> tuple[bytes, int]:
    """As unseal(), and how many bytes of something else stand behind the raw ones: what is not compressed is not
    copied. To copy 8 MB into fresh memory takes 0.3 to 7 ms."""
    if len(sealed) != handle.sealed_bytes or len(sealed) < TRAILER_BYTES:
        raise Corruption(path, handle.offset, f"{len(sealed)} bytes where {handle.sealed_bytes} belong")
    check_trailer(path, handle, sealed, crc32(memoryview(sealed)[:-4]))
    if sealed[-5] == NONE:
        return sealed, TRAILER_BYTES
    try:
        return decompress(sealed[-5], sealed[:-5], path), 0
    except ValueError as error:
        raise Corruption(path, handle.offset, str(error))


def unseal_out_of(path: str, handle: Handle, buffer: bytes, buffer_offset: int) -> bytes:
    """As unseal(), out of a larger read that began at `buffer_offset`."""
    begin = handle.offset - buffer_offset
    return unseal(path, handle, buffer[begin : begin + handle.sealed_bytes])


def check_trailer(path: str, handle: Handle, end: bytes, body: int) -> None:
    """Corruption when a part that ends so is not the one. `body`: the CRC32 of all but its last four bytes."""
    checksum = crc32(handle.offset.to_bytes(8, "big"), body)
    if checksum != int.from_bytes(end[-4:], "big"):
        raise Corruption(path, handle.offset, "the checksum does not match")
    if checksum != handle.checksum:
        raise Corruption(path, handle.offset, "a whole part, but not the one that belongs here")


def encode_footer(filter_part: Handle, index_part: Handle, properties_part: Handle) -> tuple[bytes, int]:
    """(the footer, its checksum)."""
    handles = _HANDLES.pack(*filter_part, *index_part, *properties_part)
    head = handles + FOOTER_BYTES.to_bytes(2, "big") + FORMAT_VERSION.to_bytes(2, "big")
    checksum = crc32(head)
    return head + checksum.to_bytes(4, "big") + MAGIC, checksum


def decode_footer(path: str, tail: bytes, length_bytes: int) -> Footer:
    """`tail`: the last bytes of the file, FOOTER_BYTES or more; `length_bytes` is the file's whole length.

    Corruption, or UnsupportedFormat when an undamaged footer names a newer version.
    """
    at = length_bytes - _TAIL.size
    if len(tail) < _TAIL.size:
        raise Corruption(path, 0, f"{length_bytes} bytes are too few for an SSTable")
    footer_bytes, version, checksum, magic = _TAIL.unpack(tail[-_TAIL.size :])
    if magic != MAGIC:
        raise Corruption(path, at + 8, "it does not end as an SSTable ends: truncated, or another kind of file")
    if not _TAIL.size <= footer_bytes <= len(tail):
        raise Corruption(path, at, f"a footer of {footer_bytes} bytes cannot be")
    if crc32(tail[-footer_bytes:-12]) != checksum:
        raise Corruption(path, at, "the footer's checksum does not match")
    if version > FORMAT_VERSION:
        raise UnsupportedFormat(
            f"{path} has SSTable format {version}, and this hbtable reads up to {FORMAT_VERSION}: it was written by a "
            "newer hbtable; start that one again, or restore from a backup made before the upgrade"
        )
    if version != FORMAT_VERSION or footer_bytes != FOOTER_BYTES:
        raise Corruption(path, at, f"format version {version} with a footer of {footer_bytes} bytes never existed")
    numbers = _HANDLES.unpack(tail[-FOOTER_BYTES : -_TAIL.size])
    footer = Footer(Handle(*numbers[0:3]), Handle(*numbers[3:6]), Handle(*numbers[6:9]), checksum)
    _check_order(path, footer, length_bytes)
    return footer


def _check_order(path: str, footer: Footer, length_bytes: int) -> None:
    """The three parts stand one after another up to the footer: no byte of the file is outside all checksums."""
    at = footer.filter_part.offset
    for part in (footer.filter_part, footer.index_part, footer.properties_part):
        if part.offset != at:
            raise Corruption(path, part.offset, f"a part begins here, {at} was expected")
        at += part.sealed_bytes
    if at != length_bytes - FOOTER_BYTES:
        raise Corruption(path, at, f"the file has {length_bytes} bytes, its footer says {at + FOOTER_BYTES}")
