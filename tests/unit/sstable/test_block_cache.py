"""The block cache: order, shares, honest bytes."""

from hbtable.metrics.registry import Counter
from hbtable.sstable.block import Block, encode_block
from hbtable.sstable.cache import BlockCache


def block(kibibytes: int = 1) -> Block:
    found = Block("p", 0, encode_block([b"k"], [b"v" * 1024 * kibibytes], 16))
    found.memory_bytes = 1024 * kibibytes  # round numbers
    return found


def test_least_recently_used_goes_first() -> None:
    cache = BlockCache(3 * 1024)
    for offset in (0, 1, 2):
        cache.put("a", offset, block())
    assert cache.get("a", 0) is not None
    cache.put("a", 3, block())
    assert cache.get("a", 1) is None
    assert all(cache.get("a", offset) is not None for offset in (0, 2, 3))
    assert (cache.hits.value, cache.misses.value, cache.evictions.value) == (4, 1, 1)


def test_counters_can_be_handed_in() -> None:
    hits, misses = Counter(), Counter()
    cache = BlockCache(1024, hits, misses)
    cache.get("a", 0)
    cache.put("a", 0, block())
    cache.get("a", 0)
    assert (hits.value, misses.value) == (1, 1)


def test_peek_leaves_no_trace() -> None:
    cache = BlockCache(2 * 1024)
    first = block()
    cache.put("a", 0, first)
    cache.put("a", 1, block())
    assert cache.peek("a", 0) is first
    assert cache.peek("a", 9) is None
    cache.put("a", 2, block())
    assert cache.peek("a", 0) is None
    assert (cache.hits.value, cache.misses.value) == (0, 0)


def test_used_bytes_never_passes_the_capacity() -> None:
    cache = BlockCache(10 * 1024)
    for offset in range(100):
        cache.put("a", offset, block(1 + offset % 4), in_memory=offset % 3 == 0)
        assert cache.used_bytes <= cache.capacity_bytes
    assert cache.used_bytes > 6 * 1024


def test_a_block_larger_than_the_cache_is_not_kept() -> None:
    cache = BlockCache(1024)
    cache.put("a", 0, block())
    cache.put("a", 1, block(2))
    assert cache.get("a", 0) is not None
    assert cache.get("a", 1) is None


def test_in_memory_blocks_are_not_pushed_out_of_their_share() -> None:
    cache = BlockCache(10 * 1024, in_memory_share=0.5)
    for offset in range(5):
        cache.put("memory", offset, block(), in_memory=True)
    for offset in range(100):
        cache.put("other", offset, block())
    assert all(cache.get("memory", offset) is not None for offset in range(5))


def test_in_memory_blocks_beyond_their_share_give_way() -> None:
    cache = BlockCache(10 * 1024, in_memory_share=0.5)
    for offset in range(10):
        cache.put("memory", offset, block(), in_memory=True)
    for offset in range(5):
        cache.put("other", offset, block())
    assert cache.protected_bytes == 5 * 1024
    assert [cache.get("memory", offset) is not None for offset in range(10)] == [False] * 5 + [True] * 5
    assert all(cache.get("other", offset) is not None for offset in range(5))


def test_a_block_that_grew_is_counted_again() -> None:
    cache = BlockCache(4 * 1024)
    grown = block()
    cache.put("a", 0, block())
    cache.put("a", 1, grown)
    grown.memory_bytes = 3 * 1024
    cache.recount(grown)
    assert cache.used_bytes == 4 * 1024
    grown.memory_bytes = 4 * 1024
    cache.recount(grown)
    assert cache.get("a", 0) is None
    assert cache.used_bytes == 4 * 1024


def test_recounting_a_block_that_is_gone_does_nothing() -> None:
    cache = BlockCache(1024)
    gone = block()
    cache.put("a", 0, gone)
    cache.put("a", 1, block())
    gone.memory_bytes = 9999
    cache.recount(gone)
    assert cache.used_bytes == 1024


def test_of_two_loads_the_first_stays() -> None:
    cache = BlockCache(4 * 1024)
    first, second = block(), block()
    cache.put("a", 0, first)
    cache.put("a", 0, second)
    assert cache.get("a", 0) is first
    second.memory_bytes = 2048
    cache.recount(second)
    assert cache.used_bytes == 1024


def test_drop_file() -> None:
    cache = BlockCache(100 * 1024)
    for offset in range(10):
        cache.put("a", offset, block(), in_memory=offset % 2 == 0)
        cache.put("b", offset, block())
    cache.drop_file("a")
    cache.drop_file("never seen")
    assert len(cache) == 10
    assert (cache.used_bytes, cache.protected_bytes) == (10 * 1024, 0)
    assert cache.get("b", 3) is not None
    assert cache.get("a", 3) is None


def test_no_capacity_at_all() -> None:
    cache = BlockCache(0)
    cache.put("a", 0, block())
    assert cache.get("a", 0) is None
