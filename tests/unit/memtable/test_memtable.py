"""Behaviours of the memtable."""

import random
import tracemalloc

from hbtable.encoding.cell_key import cell_key, row_prefix, row_stop
from hbtable.memtable.memtable import Memtable
from hbtable.model.mutation import PUT

LATEST = 2**62


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
    table.add([pair, put(1, 7, b"r")], 7)
    table.add([put(2, 9)], 9)
    assert (table.cells, table.first_sequence, table.last_sequence) == (3, 7, 9)
    assert table.bytes_used > 3 * (len(pair[0]) + len(pair[1]))


def test_of_equal_keys_in_one_mutation_the_later_stays() -> None:
    table = Memtable()
    table.add([put(1, 5, value=b"old"), put(1, 5, value=b"new")], 5)
    assert list(table.scan(b"", b"", LATEST)) == [put(1, 5, value=b"new")]
    assert table.cells == 1


def test_a_scan_sees_its_range_in_order() -> None:
    table = Memtable()
    for row in random.Random(1).sample(range(3000), 3000):
        table.add([put(row, row + 1)], row + 1)
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
        table.add([put(sequence % 50, sequence)], sequence)
    seen = list(table.scan(b"", b"", 123))
    assert seen == sorted(put(sequence % 50, sequence) for sequence in range(1, 124))
    assert list(table.scan(b"", b"", 0)) == []


def test_inserts_between_two_steps_do_not_disturb_a_scan() -> None:
    chance = random.Random(3)
    table = Memtable()
    sequence = 0
    for row in range(0, 2000, 2):
        sequence += 1
        table.add([put(row, sequence)], sequence)
    expected = list(table.scan(b"", b"", LATEST))
    seen = []
    for pair in table.scan(b"", b"", sequence):
        seen.append(pair)
        for _ in range(3):
            sequence += 1
            table.add([put(chance.randrange(2000), sequence)], sequence)
    assert seen == expected


def test_inserts_are_seen_when_the_sequence_allows_it() -> None:
    table = Memtable()
    table.add([put(row, 1) for row in range(100)], 1)
    scan = table.scan(b"", b"", LATEST)
    next(scan)
    table.add([put(99, 2, b"z")], 2)
    assert put(99, 2, b"z") in list(scan)


def test_reverse_hint() -> None:
    table = Memtable()
    table.add([put(row, 1) for row in range(100)], 1)
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
            table.add([put(sequence * 7919 % 100_000, sequence, value=bytes(bytearray(value_bytes)))], sequence)
        real = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        assert 0.9 * real <= table.bytes_used <= 1.2 * real
