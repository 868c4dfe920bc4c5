"""The worked example of the format's documentation is the format."""

import re
from pathlib import Path

import pytest

from hbtable.encoding.cell_key import cell_key
from hbtable.model.mutation import DELETE_COLUMN, PUT
from hbtable.sstable.builder import SSTableBuilder, SSTableOptions
from hbtable.sstable.cache import BlockCache
from hbtable.sstable.properties import SSTableIdentity
from hbtable.sstable.reader import SSTableReader

DOCUMENT = Path(__file__).parents[3] / "docs" / "formats.md"
IDENTITY = SSTableIdentity(16, 17, "f", 3, ("t/old.sst",), 1001)
PAIRS = [
    (cell_key(b"alice", b"f", b"age", 1000, PUT, 7), b"42"),
    (cell_key(b"alice", b"f", b"city", 1000, PUT, 7), b"Oslo"),
    (cell_key(b"bob", b"f", b"age", 1001, DELETE_COLUMN, 8), b""),
]


@pytest.fixture
def text() -> str:
    """The SSTable's section."""
    found = DOCUMENT.read_text()
    return found[found.index("## SSTable, format version") :].split("\n## ", 1)[0]


@pytest.fixture
def content(text: str) -> bytes:
    lines = re.findall(r"^([0-9a-f]{4})  ((?:[0-9a-f]{2} ){0,15}[0-9a-f]{2})\b", text, re.MULTILINE)
    found = b""
    for offset, line in lines:
        assert int(offset, 16) == len(found)
        found += bytes.fromhex(line)
    return found


def test_the_documented_bytes_are_what_the_builder_writes(content: bytes) -> None:
    builder = SSTableBuilder(SSTableOptions(), IDENTITY)
    for key, value in PAIRS:
        builder.add(key, value)
    assert builder.finish().hex(" ") == content.hex(" ")


def test_the_documented_bytes_read_as_the_documented_cells(text: str, content: bytes) -> None:
    documented = re.search(r"footer checksum ([0-9a-f]{8})", text)
    assert documented is not None
    reader = SSTableReader.open(
        lambda offset, size: content[offset : offset + size],
        "t/x.sst",
        len(content),
        BlockCache(1 << 20),
        int(documented[1], 16),
    )
    assert list(reader.scan(b"", b"")) == PAIRS
    assert reader.properties.identity == IDENTITY
    assert reader.verify() == 3
