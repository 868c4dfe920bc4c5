"""Checksums are stored: whichever library computes them, they are the same numbers."""

import importlib
import sys
import zlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import hbtable.crc32


@given(st.binary(max_size=300), st.integers(0, 2**32 - 1), st.integers(0, 200))
@example(b"", 0, 0)
@example(b"", 2**32 - 1, 0)
@example(b"123456789", 0, 0)
@example(b"\xff" * 70_000, 7, 3)  # larger than what is computed without the interpreter's lock
def test_it_is_zlibs_for_whatever_begins_anywhere(data: bytes, before: int, start: int) -> None:
    whole = zlib.crc32(data[start:], before)
    assert hbtable.crc32.crc32(data[start:], before) == whole
    assert hbtable.crc32.crc32(memoryview(data)[start:], before) == whole
    assert hbtable.crc32.crc32(bytearray(data[start:]), before) == whole
    half = len(data) // 2
    assert hbtable.crc32.crc32(data[half:], hbtable.crc32.crc32(data[:half])) == zlib.crc32(data)


def test_the_known_answer_of_the_standard() -> None:
    assert hbtable.crc32.crc32(b"123456789") == 0xCBF43926


@pytest.mark.parametrize("wrong", ["text", 7, None])
def test_what_is_no_bytes_is_refused_as_zlib_refuses_it(wrong: object) -> None:
    for function in (hbtable.crc32.crc32, zlib.crc32):
        with pytest.raises(TypeError):
            function(wrong)  # type: ignore[operator]


def test_without_the_library_zlib_computes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "isal", None)
    monkeypatch.setitem(sys.modules, "isal.isal_zlib", None)
    monkeypatch.delitem(sys.modules, "hbtable.crc32")
    assert importlib.import_module("hbtable.crc32").crc32 is zlib.crc32
