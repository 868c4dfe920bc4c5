"""Numbers are given out once, across processes, restarts and races."""

import pytest

from hbtable.errors import Corruption, LimitExceeded
from hbtable.lockservice.interface import VersionedFile
from hbtable.metadata.identifiers import TABLET_IDS, Identifiers


def test_numbers_are_unique_across_processes_and_taken_in_ranges(cluster):
    session = cluster.session
    first, second = (Identifiers(session, TABLET_IDS, first=16, range_size=3) for _ in range(2))
    given = [owner.next() for owner in (first, second, first, first, first, second)]
    assert given == [16, 19, 17, 18, 22, 20]
    assert session.files[TABLET_IDS].data == b"25"
    assert Identifiers(session, TABLET_IDS, first=16, range_size=3).next() == 25


def test_a_lost_race_takes_the_next_range(cluster):
    session = cluster.session
    first, second = (Identifiers(session, TABLET_IDS, range_size=10) for _ in range(2))
    assert first.next() == 0
    session.before_write = lambda: second.take(5)
    assert list(first.take(2)) == [15, 16]


def test_a_range_taken_meanwhile_by_another_task_is_used_up_first(cluster):
    ids = Identifiers(cluster.session, TABLET_IDS, range_size=2)
    seen = []
    cluster.session.before_write = lambda: seen.append(ids.next())
    seen += [ids.next() for _ in range(4)]
    assert sorted(seen) == sorted(set(seen))


def test_used_up_numbers_and_damaged_files_are_reported(cluster):
    ids = Identifiers(cluster.session, "/identifiers/scanner", range_size=4, limit=6)
    assert [ids.next() for _ in range(6)] == [0, 1, 2, 3, 4, 5]
    with pytest.raises(LimitExceeded, match="below 6"):
        ids.next()
    cluster.session.files["/identifiers/scanner"] = VersionedFile(b"x1", 1)
    with pytest.raises(Corruption, match="not a number"):
        ids.next()
