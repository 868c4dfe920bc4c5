"""Compression codes."""

import pytest

from hbtable.errors import UnsupportedFormat
from hbtable.model.schema import COMPRESSIONS
from hbtable.sstable import compression

TEXT = b"".join(b"line %d of a text that repeats itself\n" % number for number in range(200))


@pytest.mark.parametrize("name", COMPRESSIONS)
def test_round_trip(name: str) -> None:
    code, stored = compression.compress(compression.code_of(name), TEXT)
    assert compression.decompress(code, stored) == TEXT
    assert (len(stored) < len(TEXT)) == (name not in ("NONE", "LZO"))


@pytest.mark.parametrize("name", COMPRESSIONS)
def test_what_does_not_shrink_is_stored_as_it_is(name: str) -> None:
    noise = bytes(number * 7919 * number % 251 for number in range(60))
    assert compression.compress(compression.code_of(name), noise) == (compression.NONE, noise)


@pytest.mark.parametrize(
    "code", [compression.SNAPPY, compression.GZ, compression.ZSTD, compression.LZ4, compression.BZIP2]
)
def test_garbage_is_a_value_error(code: int) -> None:
    with pytest.raises(ValueError, match="does not decompress"):
        compression.decompress(code, b"\xffgarbage")


def test_an_unknown_code_is_of_a_newer_version() -> None:
    with pytest.raises(UnsupportedFormat, match="compression code 99"):
        compression.decompress(99, b"")
    with pytest.raises(KeyError):
        compression.code_of("LZMA")
