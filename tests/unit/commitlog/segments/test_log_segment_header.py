import struct
from zlib import crc32

import pytest

from hbtable.commitlog.segments.segment import (
    SegmentHeader,
    decode_header,
    encode_header,
    header_bytes,
    segment_number,
    segment_path,
)
from hbtable.errors import UnsupportedFormat

HEADER = SegmentHeader("server-1", "os", 7, 5, 1234, 99, 98, 3, 1_700_000_000_000)


def test_a_header_is_read_as_it_was_written() -> None:
    encoded = encode_header(HEADER)
    assert len(encoded) == header_bytes("server-1")
    assert decode_header(encoded + b"groups", "p", "server-1", 7) == HEADER


def test_a_header_of_another_log_or_segment_does_not_count() -> None:
    encoded = encode_header(HEADER)
    assert decode_header(encoded, "p", "server-2", 7) is None
    assert decode_header(encoded, "p", "server-1", 8) is None


def test_every_flipped_bit_and_every_cut_is_noticed() -> None:
    encoded = encode_header(HEADER)
    for bit in range(len(encoded) * 8):
        damaged = bytearray(encoded)
        damaged[bit // 8] ^= 1 << bit % 8
        assert decode_header(bytes(damaged), "p", "server-1", 7) is None
    assert all(decode_header(encoded[:length], "p", "server-1", 7) is None for length in range(len(encoded)))


def test_a_newer_format_is_refused_with_a_message() -> None:
    body = encode_header(HEADER)[:8] + struct.pack(">HH", 2, 100) + bytes(84)
    newer = body + struct.pack(">I", crc32(body))
    with pytest.raises(UnsupportedFormat, match="format 2"):
        decode_header(newer, "p", "server-1", 7)


def test_names_of_segments() -> None:
    assert segment_path("logs/a", 12) == "logs/a/0000000012.log"
    assert segment_number("logs/a", "logs/a/0000000012.log") == 12
    for other in ("logs/a/sorted/0000000012.log", "logs/a/12.log", "logs/a/0000000012", "logs/ab/0000000012.log"):
        assert segment_number("logs/a", other) is None
