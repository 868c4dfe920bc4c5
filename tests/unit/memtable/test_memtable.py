"""Behaviours of the memtable."""

import ctypes
import random
import tracemalloc

import pytest

from hbtable.encoding.cell_key import Pair, cell_key, row_prefix, row_stop
from hbtable.encoding.pairs_checksum import checksum_of
from hbtable.memtable.memtable import Memtable
from hbtable.model.mutation import PUT

LATEST = 2**62


def add(table: Memtable, pairs: list[Pair], sequence: int) -> None:
    table.add(pairs, sequence, checksum_of(pairs))


def put(row: int, sequence: int, column: bytes = b"q", value: bytes = b"v") -> tuple[bytes, bytes]:
    return cell_key(b"row%06d" % row, b"f", column, 1000 + sequence, PUT, sequence), value


def test_empty() -> None:
    table = Memtable()
    assert list(table.scan(b"", b"", LATEST)) == []
    assert (table.cells, table.bytes_used, table.first_sequence, table.last_sequence) == (0, 0, 0, 0)
    assert table.reverse_hint(b"", 10) is None


def test_counts_cells_bytes_and_sequences() -> None:
    table = Memtable()
    pair = put(1, 7)
    add(table, [pair, put(1, 7, b"r")], 7)
    add(table, [put(2, 9)], 9)
    assert (table.cells, table.first_sequence, table.last_sequence) == (3, 7, 9)
    assert table.bytes_used > 3 * (len(pair[0]) + len(pair[1]))


def test_of_equal_keys_in_one_mutation_the_later_stays() -> None:
    table = Memtable()
    add(table, [put(1, 5, value=b"old"), put(1, 5, value=b"new")], 5)
    assert list(table.scan(b"", b"", LATEST)) == [put(1, 5, value=b"new")]
    assert table.cells == 1


def test_a_scan_sees_its_range_in_order() -> None:
    table = Memtable()
    for row in random.Random(1).sample(range(3000), 3000):
        add(table, [put(row, row + 1)], row + 1)
    whole = [put(row, row + 1) for row in range(3000)]
    assert list(table.scan(b"", b"", LATEST)) == whole
    start, stop = row_prefix(b"row000100"), row_stop(b"row001999")
    assert list(table.scan(start, stop, LATEST)) == whole[100:2000]
    assert list(table.scan(row_prefix(b"row000007"), row_stop(b"row000007"), LATEST)) == whole[7:8]
    assert list(table.scan(b"z", b"", LATEST)) == []
    assert list(table.scan(stop, start, LATEST)) == []


def test_later_sequences_are_not_seen() -> None:
    table = Memtable()
    for sequence in range(1, 501):
        add(table, [put(sequence % 50, sequence)], sequence)
    seen = list(table.scan(b"", b"", 123))
    assert seen == sorted(put(sequence % 50, sequence) for sequence in range(1, 124))
    assert list(table.scan(b"", b"", 0)) == []


def test_inserts_between_two_steps_do_not_disturb_a_scan() -> None:
    chance = random.Random(3)
    table = Memtable()
    sequence = 0
    for row in range(0, 2000, 2):
        sequence += 1
        add(table, [put(row, sequence)], sequence)
    expected = list(table.scan(b"", b"", LATEST))
    seen = []
    for pair in table.scan(b"", b"", sequence):
        seen.append(pair)
        for _ in range(3):
            sequence += 1
            add(table, [put(chance.randrange(2000), sequence)], sequence)
    assert seen == expected


def test_inserts_are_seen_when_the_sequence_allows_it() -> None:
    table = Memtable()
    add(table, [put(row, 1) for row in range(100)], 1)
    scan = table.scan(b"", b"", LATEST)
    next(scan)
    add(table, [put(99, 2, b"z")], 2)
    assert put(99, 2, b"z") in list(scan)


def test_reverse_hint() -> None:
    table = Memtable()
    add(table, [put(row, 1) for row in range(100)], 1)
    stop = row_prefix(b"row000050")
    assert table.reverse_hint(stop, 10) == put(40, 1)[0]
    assert table.reverse_hint(stop, 1) == put(49, 1)[0]
    assert table.reverse_hint(stop, 1000) == put(0, 1)[0]
    assert table.reverse_hint(b"", 1) == put(99, 1)[0]
    assert table.reverse_hint(b"a", 5) is None


def test_bytes_used_is_the_real_memory() -> None:
    for value_bytes in (10, 1000):
        tracemalloc.start()
        table = Memtable()
        for sequence in range(1, 3001):
            add(table, [put(sequence * 7919 % 100_000, sequence, value=bytes(bytearray(value_bytes)))], sequence)
        real = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        assert 0.9 * real <= table.bytes_used <= 1.2 * real


def filled() -> Memtable:
    """Calls of one pair, of many, with keys that come twice in a call, or came in an earlier one."""
    table = Memtable()
    for sequence in range(1, 1500):
        add(table, [put(row, sequence) for row in range(sequence % 70 + 1)], sequence)
    add(table, [put(1, 1500, value=b"old"), put(2, 1500), put(1, 1500, value=b"new")], 1500)
    add(table, [put(2, 1500), put(3, 1501)], 1501)
    add(table, [put(2, 1500)], 1501)
    return table


def test_what_did_not_change_in_memory_is_not_called_changed() -> None:
    assert not any(filled().changed())
    assert not any(Memtable().changed())


@pytest.mark.parametrize("place", [0, 1, 50_000, -4, -3, -2, -1])
def test_a_value_that_changed_in_memory_is_found(place: int) -> None:
    table = filled()
    key = list(table._values)[place]
    table._values[key] = b"w"
    assert any(table.changed())


def test_a_byte_of_a_key_that_changed_in_memory_is_found() -> None:
    """In the object itself, as a failing memory would: the dictionary keeps the hash it had, and finds it still."""
    table = filled()
    key = list(table._values)[777]
    start = id(key) + bytes.__basicsize__ - 1
    ctypes.memset(start + 3, key[3] ^ 1, 1)
    assert any(table.changed())


def test_what_had_changed_before_it_came_is_found() -> None:
    for pairs in ([put(1, 1)], [put(1, 1), put(2, 1)], [put(1, 1), put(1, 1)]):
        table = Memtable()
        table.add(pairs, 1, checksum_of(pairs) ^ 1)
        assert any(table.changed())


@pytest.mark.parametrize("seed", range(10))
def test_very_many_pairs_of_one_call_are_as_those_of_many_calls(seed: int) -> None:
    """In any order, some twice in the call, and some that were there before."""
    chance = random.Random(seed)
    pairs = [put(chance.randrange(4000), 5, value=b"%d" % number) for number in range(6000)]
    before = pairs[: seed * 100]
    one, many = Memtable(), Memtable()
    add(one, before, 4)
    add(many, before, 4)
    add(one, pairs, 5)
    for first in range(0, len(pairs), 1000):
        add(many, pairs[first : first + 1000], 5)
    assert list(one.scan(b"", b"", LATEST)) == list(many.scan(b"", b"", LATEST))
    assert (one.cells, one.bytes_used, one.first_sequence) == (many.cells, many.bytes_used, many.first_sequence)
    if not before:  # of keys that come again with another value, the first call's checksum is of the old one
        assert not any(one.changed())


def test_the_check_for_changes_pauses_by_bytes_too() -> None:
    """1,000 cells of 64 KiB, put at once, are not looked at in one stretch."""
    memtable = Memtable()
    pairs = [(b"%05d" % number + bytes(18), bytes(64 << 10)) for number in range(100)]
    memtable.add(pairs, 1, checksum_of(pairs))
    found = list(memtable.changed())
    assert found.count(True) == 0
    assert len(found) >= 3
    memtable.add([(b"x" + bytes(18), b"v")], 2, 7)
    assert list(memtable.changed())[-1] is True


def test_very_many_pairs_of_which_some_were_there_keep_the_order_of_their_checksum() -> None:
    pairs = [put(number * 7919 % 4001, 5) for number in range(2000)]
    table = Memtable()
    add(table, pairs[::3], 5)
    add(table, pairs, 5)
    assert table.cells == 2000
    assert not any(table.changed())


@pytest.mark.parametrize("seed", range(20))
def test_portions_are_all_that_a_scan_gives_and_within_their_bounds(seed: int) -> None:
    chance = random.Random(seed)
    table = Memtable()
    for sequence in range(1, chance.choice((2, 3000))):
        add(table, [put(chance.randrange(5000), sequence, value=b"v" * chance.choice((0, 10, 400)))], sequence)
    most, most_bytes, visible = chance.choice((1, 7, 1024)), chance.choice((1, 100, 1000, 1 << 20)), 2000
    found = list(table.portions(visible, most, most_bytes))
    pairs = [pair for portion in found for pair in zip(*portion, strict=True)]
    assert pairs == list(table.scan(b"", b"", visible))
    for keys, values in found:
        assert 1 <= len(keys) <= most
        assert len(keys) == 1 or sum(map(len, keys + values)) <= most_bytes
