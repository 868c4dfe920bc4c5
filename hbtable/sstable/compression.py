"""Compression of one block (paper, section 6: each block apart, so that small pieces can be read alone).

The code is stored beside the block and never changes meaning. A block that does not shrink by an eighth is stored as it
is: reading it then costs no decompression.
"""

import bz2
import zlib
from typing import Final

import cramjam
import snappy

from hbtable.errors import UnsupportedFormat

NONE: Final = 0
SNAPPY: Final = 1
GZ: Final = 2
ZSTD: Final = 3
LZ4: Final = 4
BZIP2: Final = 5

CODES: Final[dict[str, int]] = {
    "NONE": NONE,
    "SNAPPY": SNAPPY,
    "GZ": GZ,
    "ZSTD": ZSTD,
    "LZ4": LZ4,
    "BZIP2": BZIP2,
    "LZO": NONE,  # only in schemas of older versions (model.file_settings)
}
_ZSTD_LEVEL: Final = 1
_BZIP2_LEVEL: Final = 1


def code_of(name: str) -> int:
    """The code of a schema's compression name (model.schema.COMPRESSIONS). KeyError for any other name."""
    return CODES[name]


def compress(code: int, raw: bytes) -> tuple[int, bytes]:
    """(code used, bytes to store). The code used is NONE when compressing saves less than an eighth."""
    if code == NONE:
        return NONE, raw
    if code == SNAPPY:
        stored = snappy.compress(raw)
    elif code == ZSTD:
        stored = bytes(cramjam.zstd.compress(raw, level=_ZSTD_LEVEL))
    elif code == LZ4:
        stored = bytes(cramjam.lz4.compress_block(raw))
    elif code == GZ:
        stored = zlib.compress(raw)
    else:
        stored = bz2.compress(raw, _BZIP2_LEVEL)
    if len(stored) > len(raw) - (len(raw) >> 3):
        return NONE, raw
    return code, stored


def decompress(code: int, stored: bytes, path: str = "a block") -> bytes:
    """The raw bytes. ValueError for bytes that do not decompress; UnsupportedFormat for an unknown code, whose bytes
    are sound (their checksum was verified)."""
    if code == NONE:
        return stored
    try:
        if code == SNAPPY:
            return snappy.uncompress(stored)
        if code == ZSTD:
            return bytes(cramjam.zstd.decompress(stored))
        if code == LZ4:
            return bytes(cramjam.lz4.decompress_block(stored))
        if code == GZ:
            return zlib.decompress(stored)
        if code == BZIP2:
            return bz2.decompress(stored)
    except (snappy.UncompressError, cramjam.DecompressionError, zlib.error, OSError, ValueError) as error:
        raise ValueError(f"a compressed block does not decompress: {error}")
    raise UnsupportedFormat.unknown(path, "compression code", code, f"0 to {BZIP2}")
