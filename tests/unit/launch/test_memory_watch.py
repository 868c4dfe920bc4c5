"""Near the limit the cache and the large messages get less room, and more again when there is some."""

import gc
import logging
import weakref

import pytest

from hbtable.launch.memory_watch import MemoryWatch, Room, give_back, next_room, resident_bytes
from hbtable.metrics.registry import Registry
from hbtable.runtime.memory_budget import MemoryBudget
from hbtable.sstable.cache import BlockCache
from hbtable.testing.simulated.runtime import SimulatedRuntime

LIMIT = 1000


def test_the_cache_gives_before_messages_are_cut_and_gets_back_after() -> None:
    room = next_room(Room(), 950, LIMIT)
    assert room.cache < 1.0
    assert room.messages == 1.0
    for _ in range(50):
        room = next_room(room, 950, LIMIT)
    assert 0 < room.cache < 0.2
    assert 0 < room.messages < 0.2
    assert next_room(room, 850, LIMIT) == room
    first = next_room(room, 700, LIMIT)
    assert first.messages > room.messages
    assert first.cache == room.cache
    for _ in range(50):
        room = next_room(room, 700, LIMIT)
    assert room == Room()


def test_over_the_limit_both_give_at_once() -> None:
    room = next_room(Room(), 1001, LIMIT)
    assert room.cache < 1.0
    assert room.messages < 1.0


def test_the_parts_follow_and_one_line_says_so(caplog: pytest.LogCaptureFixture) -> None:
    runtime = SimulatedRuntime(seed=1)

    def life() -> None:
        taken = [500]
        budget, cache = MemoryBudget(800, runtime.sleep, runtime.clock_seconds), BlockCache(400)
        watch = MemoryWatch(runtime, Registry(), LIMIT, [budget], cache, lambda: taken[0])
        watch.start()
        runtime.sleep(1.0)
        assert (budget.limit_bytes, cache.capacity_bytes) == (800, 400)
        taken[0] = 1100
        runtime.sleep(10.0)
        assert (budget.limit_bytes, cache.capacity_bytes) == (100, 50)
        taken[0] = 100
        runtime.sleep(10.0)
        assert (budget.limit_bytes, cache.capacity_bytes) == (800, 400)
        watch.stop()

    with caplog.at_level(logging.WARNING):
        runtime.run(life)
    assert [record.message for record in caplog.records] == [
        "the process takes 1100 bytes, near its limit of 1000 (memory.limit_bytes): large requests get less room"
    ]


def test_garbage_is_looked_for_before_messages_are_cut() -> None:
    """The collector goes by the number of objects; a few that refer to each other may hold very large ones."""
    runtime = SimulatedRuntime(seed=1)

    def life() -> None:
        budget = MemoryBudget(800, runtime.sleep, runtime.clock_seconds)
        watch = MemoryWatch(runtime, Registry(), LIMIT, [budget], None, lambda: 1100)
        held = _Held()
        gone = weakref.ref(held)
        gc.collect(0)  # it is none of the new objects
        del held
        gc.collect(0)
        assert gone() is not None
        watch.look()
        assert gone() is None

    gc.disable()
    try:
        runtime.run(life)
    finally:
        gc.enable()


class _Held:
    def __init__(self) -> None:
        self.itself = self


def test_what_this_process_takes() -> None:
    before = resident_bytes()
    assert before > 1 << 20
    block = bytearray(b"x" * (64 << 20))
    assert resident_bytes() > before + (32 << 20)
    del block
    give_back()
