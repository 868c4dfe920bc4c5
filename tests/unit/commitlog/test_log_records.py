from array import array
from typing import Any

import pytest

from hbtable.commitlog.records import LogRecord, decode_records, encode_one_pair, encode_record, places
from hbtable.errors import Corruption, InvalidRequest

PAIRS = [(b"row\x00\x01f\x00q\x00\x01" + bytes(18), b"v"), (b"row\x00\x01f\x00r\x00\x01" + bytes(18), b"")]


@pytest.mark.parametrize("pairs", [[], PAIRS[:1], PAIRS])
def test_a_record_is_read_as_it_was_written(pairs: list[tuple[bytes, bytes]]) -> None:
    record = LogRecord(2**63, 7, 2**62, 1_700_000_000_000, pairs)
    encoded = encode_record(*record)
    assert list(decode_records(encoded, 0, len(encoded), "f")) == [record]


def test_one_pair_is_laid_out_like_many() -> None:
    one, two = encode_record(1, 2, 3, 4, PAIRS[:1]), encode_record(1, 2, 3, 4, PAIRS)
    head, pair = slice(8, 36), slice(40, len(one))
    assert one[head] == two[head]
    assert one[pair] == two[pair]


@pytest.mark.parametrize("value_bytes", [0, 1, 511, 513, 5000, 1 << 20])
def test_a_record_in_pieces_is_the_record(value_bytes: int) -> None:
    key, value = PAIRS[0][0], bytes(n % 251 for n in range(value_bytes))
    pieces = encode_one_pair(2**63, 7, 2**62, 1_700_000_000_000, key, value)
    assert b"".join(pieces) == encode_record(2**63, 7, 2**62, 1_700_000_000_000, [(key, value)])
    assert pieces[1] is value  # copied once, by whoever joins them


def test_concatenated_records_come_in_order() -> None:
    buffer = b"xx" + b"".join(encode_record(1, 1, n, 0, PAIRS) for n in range(5)) + b"yy"
    assert [r.sequence for r in decode_records(buffer, 2, len(buffer) - 2, "f")] == [0, 1, 2, 3, 4]


def test_every_flipped_bit_and_every_cut_is_noticed() -> None:
    encoded = encode_record(3, 1, 9, 5, PAIRS)
    for bit in range(len(encoded) * 8):
        damaged = bytearray(encoded)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(Corruption):
            list(decode_records(bytes(damaged), 0, len(damaged), "f"))
    for length in range(1, len(encoded)):
        with pytest.raises(Corruption):
            list(decode_records(encoded[:length], 0, length, "f"))


def test_places_name_row_and_extent() -> None:
    first, second = encode_record(1, 1, 1, 0, PAIRS), encode_record(2, 1, 2, 0, [])
    found = list(places(first + second, 0, len(first + second), "f"))
    assert found[0] == (1, b"row", 1, 0, len(first))
    assert found[1] == (2, b"", 2, len(first), len(first + second))


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("count", [1, 2])
def test_what_could_not_be_read_back_is_not_encoded(place: int, count: int) -> None:
    pair: list[Any] = list(PAIRS[0])
    pair[place] = memoryview(array("d", [1.0] * 300))
    with pytest.raises((InvalidRequest, TypeError)):
        encode_record(1, 2, 3, 4, [*PAIRS[: count - 1], (pair[0], pair[1])])
