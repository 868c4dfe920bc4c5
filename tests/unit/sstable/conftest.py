"""Small SSTables in memory."""

from collections.abc import Callable, Iterable

import pytest

from hbtable.encoding.cell_key import Pair, cell_key
from hbtable.model.mutation import PUT
from hbtable.sstable.builder import SSTableBuilder, SSTableOptions
from hbtable.sstable.cache import BlockCache
from hbtable.sstable.properties import SSTableIdentity
from hbtable.sstable.reader import SSTableReader

IDENTITY = SSTableIdentity(16, 17, "f", 3, ("a/old1", "a/old2"), 1_700_000_000_123)


class Built:
    """A finished file; `reads` lists (offset, size) of every read."""

    def __init__(self, content: bytes, builder: SSTableBuilder) -> None:
        self.content = content
        self.builder = builder
        self.reads: list[tuple[int, int]] = []

    def read_at(self, offset: int, size: int) -> bytes:
        self.reads.append((offset, size))
        return self.content[offset : offset + size]

    def open(self, cache: BlockCache | None = None, in_memory: bool = False, path: str = "t/x.sst") -> SSTableReader:
        cache = cache if cache is not None else BlockCache(1 << 24)
        checksum = self.builder.footer_checksum
        return SSTableReader.open(self.read_at, path, len(self.content), cache, checksum, in_memory)


def build_file(pairs: Iterable[Pair], options: SSTableOptions) -> Built:
    builder = SSTableBuilder(options, IDENTITY)
    content = b""
    for key, value in pairs:
        builder.add(key, value)
        content += builder.take()
    content += builder.finish()
    return Built(content, builder)


def make_pairs(rows: int, columns: int = 3, value_bytes: int = 20) -> list[Pair]:
    """Ascending; the sequence of a row is its number + 1, its timestamp 1000 more."""
    return [
        (
            cell_key(b"row%05d" % row, b"f", b"q%d" % column, 1001 + row, PUT, row + 1),
            (b"%d.%d." % (row, column)).ljust(value_bytes, b"v"),
        )
        for row in range(rows)
        for column in range(columns)
    ]


@pytest.fixture
def build() -> Callable[..., Built]:
    """build(pairs, **options) -> Built"""

    def make(pairs: Iterable[Pair], **options: object) -> Built:
        return build_file(pairs, SSTableOptions(**options))  # type: ignore[arg-type]

    return make


@pytest.fixture
def pairs_of() -> Callable[..., list[Pair]]:
    return make_pairs
