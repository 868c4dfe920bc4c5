"""The seal around small records that are stored whole (METADATA cells, the root's file): kind, version, checksum.

    kind (1 byte, a letter), version (1), CRC32 of kind, version and body (4, big-endian), body

Every version of every kind keeps these six bytes, so that a record of a newer hbtable (UnsupportedFormat: leave it
alone) is told from a damaged one (Corruption).
"""

from typing import Final

from hbtable.crc32 import crc32
from hbtable.errors import Corruption, UnsupportedFormat

HEADER_BYTES: Final = 6


def seal(kind: bytes, version: int, body: bytes) -> bytes:
    """`kind` is one byte, 1 <= version <= 255. The same input gives the same bytes: records are compared whole."""
    head = kind + bytes((version,))
    return head + crc32(body, crc32(head)).to_bytes(4, "big") + body


def unseal(data: bytes, kind: bytes, newest_version: int, path: str) -> tuple[int, bytes]:
    """(version, body). `path` says in the error where the bytes lie."""
    if len(data) < HEADER_BYTES:
        raise Corruption(path, 0, f"{len(data)} bytes are too few for a record")
    if data[:1] != kind:
        raise Corruption(path, 0, f"the record begins with {data[:1]!r} where {kind!r} belongs")
    body = data[HEADER_BYTES:]
    if crc32(body, crc32(data[:2])) != int.from_bytes(data[2:HEADER_BYTES], "big"):
        raise Corruption(path, 2, "the checksum does not match")
    version = data[1]
    if version > newest_version:
        raise UnsupportedFormat(
            f"{path} has a record of format {version} of a newer hbtable; this one reads {newest_version} at most"
        )
    if version == 0:
        raise Corruption(path, 1, "format 0 was never written")
    return version, body
