"""Numbers are given out once, across processes, restarts and races."""

import pytest

from hbtable.errors import Corruption, LimitExceeded, Unavailable
from hbtable.lockservice.interface import VersionedFile
from hbtable.metadata.id_allocator import TABLET_IDS, IdAllocator


def test_numbers_are_unique_across_processes_and_taken_in_ranges(cluster):
    session = cluster.session
    first, second = (IdAllocator(session, TABLET_IDS, first=16, range_size=3) for _ in range(2))
    given = [owner.next() for owner in (first, second, first, first, first, second)]
    assert given == [16, 19, 17, 18, 22, 20]
    assert session.files[TABLET_IDS].data == b"25"
    assert IdAllocator(session, TABLET_IDS, first=16, range_size=3).next() == 25


def test_a_lost_race_takes_the_next_range(cluster):
    session = cluster.session
    first, second = (IdAllocator(session, TABLET_IDS, range_size=10) for _ in range(2))
    assert first.next() == 0
    session.before_write = lambda: second.take(5)
    assert list(first.take(2)) == [15, 16]


def test_a_range_taken_meanwhile_by_another_task_is_used_up_first(cluster):
    ids = IdAllocator(cluster.session, TABLET_IDS, range_size=2)
    seen = []
    cluster.session.before_write = lambda: seen.append(ids.next())
    seen += [ids.next() for _ in range(4)]
    assert sorted(seen) == sorted(set(seen))


def test_used_up_numbers_and_damaged_files_are_reported(cluster):
    ids = IdAllocator(cluster.session, "/identifiers/scanner", range_size=4, limit=6)
    assert [ids.next() for _ in range(6)] == [0, 1, 2, 3, 4, 5]
    with pytest.raises(LimitExceeded, match="below 6"):
        ids.next()
    cluster.session.files["/identifiers/scanner"] = VersionedFile(b"x1", 1)
    with pytest.raises(Corruption, match="not a number"):
        ids.next()


def test_what_is_taken_is_above_what_is_known_to_be_in_use(cluster, caplog):
    session, in_use = cluster.session, [15]
    ids = IdAllocator(session, TABLET_IDS, first=16, range_size=2, in_use=lambda: in_use[0])
    assert [ids.next() for _ in range(3)] == [16, 17, 18]
    assert not caplog.records
    in_use[0] = 20
    session.files[TABLET_IDS] = VersionedFile(b"16", 9)
    assert ids.next() == 19  # it had that in hand, so nobody else can have it
    beyond = ids.next()
    assert 21 + 1_000_000 < beyond < 21 + 2_000_000  # others may have as many in hand
    assert f"said 16 and must say 21 at least: it was lost, or is an old copy; numbers go on at {beyond}" in caplog.text
    assert session.files[TABLET_IDS].data == b"%d" % (beyond + 2)


def test_one_at_a_time_the_next_number_is_the_one_after_those_in_use(cluster, caplog):
    session = cluster.session
    ids = IdAllocator(session, TABLET_IDS, first=16, range_size=1, in_use=lambda: 40)
    assert [ids.next(), ids.next()] == [41, 42]
    assert "was not there and must say 41 at least" in caplog.text
    del session.files[TABLET_IDS]
    assert ids.next() == 43, "it knows what it took itself"


def test_a_counter_is_put_right(cluster, caplog):
    session = cluster.session
    ids = IdAllocator(session, TABLET_IDS, first=16, range_size=1)
    assert not ids.raise_to(16)  # of a new cluster
    assert TABLET_IDS not in session.files
    assert ids.raise_to(30)
    assert not ids.raise_to(30)
    assert not ids.raise_to(20)
    assert ids.raise_to(31)
    assert ids.take(1) == range(31, 32)
    assert caplog.text.count("at least") == 2


def test_a_number_is_taken_once_by_those_who_find_the_counter_lost(cluster):
    session = cluster.session
    first, second = (IdAllocator(session, TABLET_IDS, first=16, in_use=lambda: 20) for _ in range(2))
    taken = [number for ids in (first, second, first) for number in ids.take(2)]
    assert sorted(set(taken)) == taken
    assert taken[0] > 20


def test_who_does_not_make_the_counter_waits_for_the_master(cluster):
    ids = IdAllocator(cluster.session, TABLET_IDS, first=16, makes=False)
    with pytest.raises(Unavailable, match="the counter /identifiers/tablet is not there; the master puts it right"):
        ids.next()
    IdAllocator(cluster.session, TABLET_IDS, first=16).take(1)
    assert ids.next() == 17


def test_where_numbers_begin_when_the_counter_is_lost_says_nothing_of_one_that_is_there(cluster, caplog):
    session = cluster.session
    session.files["/identifiers/scanner"] = VersionedFile(b"4096", 1)
    ids = IdAllocator(session, "/identifiers/scanner", range_size=4, when_lost=10**12)
    assert ids.next() == 4096
    del session.files["/identifiers/scanner"]
    again = IdAllocator(session, "/identifiers/scanner", range_size=4, when_lost=10**12)
    assert again.next() == 10**12
    assert not caplog.records
