from hbtable.commitlog.groups import CLEAN_END, HEADER_BYTES, CommitGroup, cut_short, frame, group_at, next_group

SEED = 12345


def test_a_group_is_read_where_it_was_written() -> None:
    data = b"before" + frame(SEED, 6, 9, 8, 2, b"payload", CLEAN_END)
    assert group_at(data, 6, SEED) == CommitGroup(6, 6 + HEADER_BYTES, len(data), 9, 8, 2, CLEAN_END)


def test_a_group_at_another_place_or_of_another_segment_is_none() -> None:
    group = frame(SEED, 6, 9, 8, 2, b"payload")
    assert group_at(b"before!" + group, 7, SEED) is None
    assert group_at(b"before" + group, 6, SEED + 1) is None


def test_every_flipped_bit_and_every_cut_is_noticed() -> None:
    group = frame(SEED, 0, 1, 0, 1, b"payload")
    for bit in range(len(group) * 8):
        damaged = bytearray(group)
        damaged[bit // 8] ^= 1 << bit % 8
        assert group_at(bytes(damaged), 0, SEED) is None
    assert all(group_at(group[:length], 0, SEED) is None for length in range(len(group)))


def test_next_group_passes_damage_and_log_bytes_stored_in_values() -> None:
    stored_by_a_user = frame(SEED, 0, 1, 0, 1, b"a copy of a log")
    damage = b"BtLg????" + stored_by_a_user
    data = damage + frame(SEED, len(damage), 5, 4, 1, b"real")
    found = next_group(data, 1, SEED)
    assert found is not None
    assert (found.start, found.lsn) == (len(damage), 5)
    assert next_group(data, len(damage) + 1, SEED) is None


def test_an_unfinished_append_is_told_from_a_damaged_one() -> None:
    group = frame(SEED, 0, 1, 0, 1, b"x" * 200)
    assert cut_short(group[:10], 0)
    assert cut_short(group[:-1], 0)
    assert cut_short(bytes(500), 0)
    assert cut_short(group[:100] + bytes(len(group) - 100), 0)
    assert not cut_short(group[:-1] + b"y", 0)
