"""An SSTable against a sorted list: any rows, any options, any range."""

from bisect import bisect_left

from hypothesis import given, settings
from hypothesis import strategies as st

from hbtable.encoding.cell_key import cell_key, row_prefix
from hbtable.model.mutation import DELETE_COLUMN, PUT
from hbtable.model.schema import COMPRESSIONS
from hbtable.sstable.block import Block, encode_block, shared_length
from hbtable.sstable.builder import SSTableBuilder, SSTableOptions
from hbtable.sstable.cache import BlockCache
from hbtable.sstable.properties import Origin, Properties, SSTableIdentity, decode_properties, encode_properties
from hbtable.sstable.reader import SSTableReader
from tests.harness.tiers import generated

few_bytes = st.binary(max_size=4) | st.lists(st.sampled_from([0, 1, 2, 97, 255]), max_size=6).map(bytes)
numbers = st.integers(0, 2**63 - 1)
cells = st.builds(
    cell_key,
    few_bytes,
    st.sampled_from([b"f", b"g", b"ff"]),
    few_bytes,
    numbers,
    st.sampled_from([PUT, DELETE_COLUMN]),
    numbers,
)
tables = st.dictionaries(cells, st.binary(max_size=40) | st.binary(min_size=200, max_size=400), max_size=40)
options = st.builds(
    SSTableOptions,
    block_bytes=st.integers(1, 600),
    restart_interval=st.integers(1, 20),
    compression=st.sampled_from(COMPRESSIONS),
    bloom=st.sampled_from(["NONE", "ROW", "ROWCOL"]),
)


@settings(max_examples=generated(150), deadline=None)
@given(table=tables, chosen=options, rows=st.lists(few_bytes, max_size=6), capacity=st.sampled_from([0, 2000, 1 << 20]))
def test_reads_agree_with_a_sorted_list(table, chosen, rows, capacity) -> None:
    pairs = sorted(table.items())
    keys = [key for key, _ in pairs]
    builder = SSTableBuilder(chosen, SSTableIdentity(16, 17, "f", 1))
    content = b""
    for key, value in pairs:
        builder.add(key, value)
        content += builder.take()
    content += builder.finish()
    cache = BlockCache(capacity)
    reader = SSTableReader.open(
        lambda offset, size: content[offset : offset + size], "p", len(content), cache, builder.footer_checksum
    )
    bounds = sorted({b"", *[row_prefix(row) for row in rows], *keys[::5], *[key + b"\x00" for key in keys[::7]]})
    for start in bounds:
        for stop in bounds:
            first = bisect_left(keys, start)
            last = max(first, bisect_left(keys, stop)) if stop else len(keys)
            assert list(reader.scan(start, stop, cache_blocks=len(start) % 2 == 0)) == pairs[first:last]
        end = bisect_left(keys, start) if start else len(keys)
        hint = reader.reverse_hint(start)
        assert (hint is None) == (end == 0)
        assert hint is None or (hint in table and hint <= keys[end - 1])
        assert cache.used_bytes <= cache.capacity_bytes
    assert all(reader.may_hold_row(key[: key.index(b"\x00\x01") + 2]) for key in keys)
    assert all(reader.may_hold_column(key[:-18]) for key in keys)
    assert reader.verify() == len(pairs)


@given(left=st.binary(max_size=20), right=st.binary(max_size=20), common=st.binary(max_size=20))
def test_shared_length(left, right, common) -> None:
    left, right = common + left, common + right
    length = shared_length(left, right)
    assert left[:length] == right[:length]
    assert length == min(len(left), len(right)) or left[length] != right[length]


@given(keys=st.sets(st.binary(max_size=300), max_size=30).map(sorted), interval=st.integers(1, 40))
def test_a_block_of_any_keys(keys, interval) -> None:
    values = [key[::-1] for key in keys]
    found = Block("p", 0, encode_block(keys, values, interval))
    assert found.decoded() == (keys, values)
    assert found.restarts_agree()


@given(st.data())
def test_properties_round_trip(data) -> None:
    draw = data.draw
    texts = st.text(st.characters(codec="utf-8"), max_size=20)
    identity = SSTableIdentity(
        draw(numbers),
        draw(numbers),
        draw(texts),
        draw(numbers),
        tuple(draw(st.lists(texts, max_size=3))),
        draw(numbers),
        draw(st.none() | st.builds(Origin, st.binary(), st.binary(), numbers, st.binary())),
    )
    fields = (
        [draw(numbers) for _ in range(5)] + [draw(st.binary()), draw(st.binary())] + [draw(numbers) for _ in range(4)]
    )
    properties = Properties(identity, *fields, earliest_put=draw(st.none() | numbers))
    assert decode_properties("p", 0, encode_properties(properties)) == properties
