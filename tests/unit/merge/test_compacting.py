"""What a compaction writes, case by case."""

from hbtable.encoding.cell_key import FLAG_TTL, cell_key
from hbtable.merge.compacting import compacted
from hbtable.merge.rules import FamilyRules
from hbtable.model.mutation import DELETE_COLUMN, DELETE_FAMILY, DELETE_VERSION, PUT


def put(timestamp: int, sequence: int = 1, ttl: int | None = None, qualifier: bytes = b"q", family: bytes = b"f"):
    if ttl is None:
        return cell_key(b"r", family, qualifier, timestamp, PUT, sequence), b"v%d" % sequence
    key = cell_key(b"r", family, qualifier, timestamp, PUT, sequence, FLAG_TTL)
    return key, ttl.to_bytes(8, "big") + b"v%d" % sequence


def marker(kind: int, timestamp: int, sequence: int = 9):
    return cell_key(b"r", b"f", b"" if kind == DELETE_FAMILY else b"q", timestamp, kind, sequence), b""


def written(*pairs, rule=None, now=0, drop=False):
    return list(compacted(iter(sorted(pairs)), {b"f": rule or FamilyRules(1)}, now, drop))


def test_masked_puts_go_and_their_marker_stays_until_all_older_files_are_read():
    pairs = [put(3), put(5), marker(DELETE_COLUMN, 4)]
    rule = FamilyRules(3)
    assert written(*pairs, rule=rule) == [put(5), marker(DELETE_COLUMN, 4)]
    assert written(*pairs, rule=rule, drop=True) == [put(5)]


def test_a_masked_put_does_not_push_out_an_older_version():
    assert written(put(5), put(4), marker(DELETE_VERSION, 5), drop=True) == [put(4)]


def test_excess_and_replaced_puts_go():
    assert written(put(5, 2), put(5, 1), put(4, 3), put(3, 4), rule=FamilyRules(2)) == [put(5, 2), put(4, 3)]


def test_a_put_that_will_expire_does_not_push_out_one_that_outlives_it():
    assert written(put(5, 2, ttl=100), put(4, 1)) == [put(5, 2, ttl=100), put(4, 1)]
    assert written(put(5, 2, ttl=100), put(4, 1, ttl=100), drop=True) == [put(5, 2, ttl=100)]


def test_an_expired_put_stays_as_a_tombstone_without_payload_while_an_older_file_may_hold_what_it_replaced():
    key, value = put(5, 2, ttl=1)
    assert written((key, value), now=7) == [(key, value[:8])]
    assert written((key, value), put(5, 1), now=7, drop=True) == []


def test_age_of_the_family_drops_all_but_min_versions():
    assert written(put(5), put(4), rule=FamilyRules(3, 0, 10), now=99) == []
    assert written(put(5), put(4), rule=FamilyRules(3, 1, 10), now=99) == [put(5)]


def test_equal_pairs_and_repeated_markers_are_written_once():
    pairs = [put(5), put(5), marker(DELETE_FAMILY, 3, 9), marker(DELETE_FAMILY, 3, 8)]
    assert written(*pairs) == [marker(DELETE_FAMILY, 3, 9), put(5)]


def test_a_family_gone_from_the_schema_is_not_written():
    assert written(put(5, family=b"g"), put(5)) == [put(5)]
