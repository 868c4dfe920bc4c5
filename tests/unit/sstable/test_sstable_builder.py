"""The builder: order, properties, pieces."""

import pytest

from hbtable.encoding.cell_key import cell_key
from hbtable.model.mutation import DELETE_COLUMN, PUT
from hbtable.sstable.builder import SSTableBuilder, SSTableOptions
from hbtable.sstable.properties import SSTableIdentity

IDENTITY = SSTableIdentity(16, 17, "f", 3, ("a/old1", "a/old2"), 1_700_000_000_123)


@pytest.mark.parametrize("second", [b"row2", b"row1", b"row10"])
def test_keys_must_ascend(second: bytes) -> None:
    builder = SSTableBuilder(SSTableOptions(), IDENTITY)
    builder.add(cell_key(b"row2", b"f", b"q", 1, PUT, 1), b"")
    with pytest.raises(ValueError, match="ascend"):
        builder.add(cell_key(second, b"f", b"q", 1, PUT, 1), b"")


@pytest.mark.parametrize("key", [b"short", b"no terminator at all, only long enough", b"x"])
def test_only_cell_keys(key: bytes) -> None:
    builder = SSTableBuilder(SSTableOptions(), IDENTITY)
    builder.add(key, b"")
    with pytest.raises(ValueError):
        builder.finish()


def test_properties_are_what_was_added(build) -> None:
    pairs = [
        (cell_key(b"a", b"f", b"q", 500, PUT, 12), b"one"),
        (cell_key(b"b", b"f", b"q", 900, DELETE_COLUMN, 30), b""),
        (cell_key(b"b", b"f", b"q", 100, PUT, 11), b"three"),
    ]
    built = build(pairs)
    found = built.open().properties
    assert found == built.builder.properties
    assert found.identity == IDENTITY
    assert (found.cells, found.markers, found.blocks) == (3, 1, 1)
    assert (found.min_timestamp, found.max_timestamp) == (100, 900)
    assert (found.first_sequence, found.last_sequence) == (11, 30)
    assert (found.first_key, found.last_key) == (pairs[0][0], pairs[2][0])
    assert (found.key_bytes, found.value_bytes) == (sum(len(key) for key, _ in pairs), 8)


def test_the_earliest_put_is_told_where_a_marker_is_earlier(build) -> None:
    puts = [(cell_key(b"b", b"f", b"q", time, PUT, 11), b"three") for time in (900, 100)]
    marker = (cell_key(b"a", b"f", b"q", 50, DELETE_COLUMN, 12), b"")
    for block_bytes in (1, 1000):
        assert build([marker, *puts], block_bytes=block_bytes).open().properties.earliest_put == 100
    assert build(puts).open().properties.earliest_put is None
    assert build([marker]).open().properties.earliest_put is None


def test_properties_over_many_blocks(build, pairs_of) -> None:
    found = build(pairs_of(300), block_bytes=500).open().properties
    assert found.blocks > 20
    assert (found.cells, found.first_sequence, found.last_sequence) == (900, 1, 300)
    assert (found.min_timestamp, found.max_timestamp) == (1001, 1300)


def test_the_pieces_are_the_file(pairs_of) -> None:
    once, often = (SSTableBuilder(SSTableOptions(block_bytes=300), IDENTITY) for _ in range(2))
    pieces = []
    for key, value in pairs_of(100):
        once.add(key, value)
        often.add(key, value)
        pieces.append(often.take())
    assert sum(map(bool, pieces)) > 10
    content = b"".join(pieces) + often.finish()
    assert once.finish() == content
    assert once.length_bytes == often.length_bytes == len(content)
    assert once.footer_checksum == often.footer_checksum


def test_blocks_end_near_their_size(build, pairs_of) -> None:
    built = build(pairs_of(1000), block_bytes=4096)
    blocks = built.builder.properties.blocks
    assert (
        abs(blocks - (built.builder.properties.key_bytes + built.builder.properties.value_bytes) / 4096) < 0.1 * blocks
    )


def test_a_cell_much_larger_than_a_block(build) -> None:
    pairs = [(cell_key(b"r%d" % row, b"f", b"q", 1, PUT, 1), b"x" * 100_000 * row) for row in range(4)]
    assert list(build(pairs).open().scan(b"", b"")) == pairs


def test_long_work_lets_others_run(build, pairs_of) -> None:
    pauses: list[str] = []
    builder = SSTableBuilder(SSTableOptions(bloom="ROWCOL", block_bytes=4096), IDENTITY)
    pairs = pairs_of(2000)
    for key, value in pairs:
        builder.add(key, value)
    content = builder.finish(lambda: pauses.append("filter"))
    assert len(pauses) == 16
    built = build(pairs, bloom="ROWCOL", block_bytes=4096)
    assert built.content == content
    assert built.open().verify(lambda: pauses.append("block")) == len(pairs)
    assert pauses.count("block") == builder.blocks
