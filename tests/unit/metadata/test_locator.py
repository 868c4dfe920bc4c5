"""Three levels, prefetch, splits in progress, forgetting, and misses that share one lookup."""

import dataclasses

import pytest

from hbtable.encoding import tablet_record
from hbtable.errors import LockLost, StaleLocation, Unavailable
from hbtable.metadata import layout
from hbtable.metadata.locator import Locator, LocatorOptions
from hbtable.model.ranges import RowRange
from hbtable.model.tablet import GoneTablet, TabletRecord
from hbtable.runtime.memory_budget import MemoryBudget
from hbtable.runtime.request_budget import RequestBudget, current_budget, hold, work_for

LETTERS = tuple(bytes([letter]) for letter in b"bcdefghijklmnopqrstuvwxyz")


def locator_of(cluster, prefetch_rows=32):
    return Locator(cluster.session, cluster.transport, cluster.runtime, LocatorOptions(prefetch_rows=prefetch_rows))


def test_the_first_lookup_goes_through_three_levels_and_the_second_through_none(cluster):
    _, tablets = cluster.put_table(b"t")
    locator = locator_of(cluster)
    assert locator.find(16, b"row") == tablets[0]
    assert cluster.calls() == [("scan", 1), ("scan", 2)]
    assert cluster.session.reads == 1
    assert locator.find(16, b"another") == tablets[0]
    assert cluster.calls() == []
    assert cluster.session.reads == 1


def test_every_row_is_found_in_its_tablet_whatever_was_asked_before(cluster):
    cluster.put_table(b"t", splits=LETTERS)
    rows = [b"", b"a", b"b", b"b\x00", b"bz", b"m", b"z", b"zz", b"\xff\xff"]
    for first in rows:
        for prefetch in (1, 3, 100):
            locator = locator_of(cluster, prefetch)
            for row in (first, *rows):
                assert locator.find(16, row).range.holds(row)
                before = locator.find_before(16, row).range
                assert before.stop == b"" if not row else before.start < row and (not before.stop or row <= before.stop)


def test_a_miss_reads_several_following_tablets(cluster):
    cluster.put_table(b"t", splits=LETTERS)
    locator = locator_of(cluster, prefetch_rows=5)
    locator.find(16, b"d")
    cluster.calls()
    for row in (b"e", b"f", b"g", b"h"):
        locator.find(16, row)
    assert cluster.calls() == []
    locator.find(16, b"i")
    assert cluster.calls() == [("scan", 2)]


def test_what_is_read_of_metadata_is_no_part_of_an_answer(cluster):
    """Else a lookup would wait for the memory of large answers, and those that share it."""
    memory = MemoryBudget(1 << 20, cluster.runtime.sleep, cluster.runtime.clock_seconds)
    memory.grow(memory.begin(None), 1 << 20)
    request = RequestBudget(memory)
    work_for(request)
    try:
        assert locator_of(cluster).calls.call(b"\x00", lambda *_: hold(1 << 19) or "read") == "read"
        assert (current_budget(), memory.used_bytes) == (request, 1 << 20)
    finally:
        work_for(None)


def test_a_forgotten_location_is_looked_up_again(cluster):
    _, tablets = cluster.put_table(b"t", splits=(b"m",))
    locator = locator_of(cluster)
    locator.find(16, b"a")
    moved = cluster.serve(tablets[0], "s1")
    assert locator.find(16, b"a") == tablets[0]
    locator.forget(16, b"a")
    assert locator.find(16, b"z") == tablets[1]
    assert locator.find(16, b"a") == moved
    locator.forget_table(16)
    locator.forget(16, b"a")
    assert locator.find(16, b"a") == moved


def test_fresh_records_push_out_every_cached_one_they_overlap(cluster):
    _, tablets = cluster.put_table(b"t", splits=(b"g", b"p"))
    locator = locator_of(cluster)
    locator.tablets(16)
    del cluster.metadata[layout.key_of(tablets[0])]
    wide = cluster.serve(TabletRecord(16, 200, RowRange(b"", b"p"), 1), "s0")
    locator.forget(16, b"h")
    assert locator.find(16, b"h") == wide or locator.find(16, b"h") == tablets[1]
    del cluster.metadata[layout.key_of(tablets[1])]
    cluster.serve(wide, "s1")
    locator.forget(16, b"h")
    assert locator.find(16, b"h").tablet_id == 200
    assert locator.find(16, b"a").tablet_id == 200
    assert locator.find(16, b"q") == tablets[2]


def test_a_split_in_progress_gives_the_embedded_left_child(cluster):
    _, tablets = cluster.put_table(b"t", splits=(b"g",))
    left = TabletRecord(16, 201, RowRange(b"g", b"p"), 1, "s0", 3)
    right = cluster.serve(TabletRecord(16, 202, RowRange(b"p", b""), 1, "s0", 3, left=left), "s0")
    locator = locator_of(cluster)
    assert locator.find(16, b"h") == left
    assert locator.find(16, b"q") == right
    assert locator.find_before(16, b"p") == left
    assert locator.tablets(16) == [tablets[0], left, right]
    # its own row stands, and has changed since
    own = dataclasses.replace(left, owner="s1", generation=4)
    cluster.write(own)
    for row in (b"h", b"q", b"h"):
        locator.forget(16, row)
        assert locator.find(16, row) == (own if row == b"h" else right)
    assert locator.tablets(16) == [tablets[0], own, right]
    # the right child's row alone does not bring the old embedding back
    locator.forget(16, b"q")
    locator.find(16, b"q")
    cluster.calls()
    assert locator.find(16, b"h") == own
    assert cluster.calls() == []


def test_metadata_may_have_many_tablets(cluster):
    _, tablets = cluster.put_table(b"t", splits=(b"g", b"p"))
    middle = layout.tablet_key(16, b"p")
    cluster.serve(TabletRecord(0, 3, RowRange(layout.ROOT_STOP, middle), 1), "s1")
    cluster.servers["s0"].tablets.pop(2)
    cluster.serve(TabletRecord(0, 4, RowRange(middle, b""), 1), "s0")
    locator = locator_of(cluster)
    assert locator.find(16, b"a") == tablets[0]
    assert locator.find(16, b"h") == tablets[1]  # its row is in the next METADATA tablet
    assert locator.tablets(16) == tablets
    assert [record.tablet_id for record in locator.tablets(0)] == [1, 3, 4]
    assert locator.find(0, b"zzz").tablet_id == 4
    assert locator.find_before(0, b"").tablet_id == 4
    assert locator.find_before(0, layout.ROOT_STOP).tablet_id == 1
    assert locator.find_before(0, middle).tablet_id == 3


def test_a_table_without_tablets_is_a_stale_location_at_once(cluster):
    cluster.put_table(b"t")
    began = cluster.runtime.now
    with pytest.raises(StaleLocation, match="no tablet of table 99"):
        locator_of(cluster).find(99, b"row")
    with pytest.raises(StaleLocation, match="no tablet of table 15"):
        locator_of(cluster).find_before(15, b"")
    assert cluster.runtime.now == began
    assert locator_of(cluster).tablets(99) == []


def test_a_hole_is_not_papered_over(cluster):
    _, tablets = cluster.put_table(b"t", splits=(b"g", b"p"))
    del cluster.metadata[layout.key_of(tablets[1])]
    locator = locator_of(cluster)
    with pytest.raises(StaleLocation, match="hole"):
        locator.find(16, b"h")
    assert locator.find(16, b"a") == tablets[0]
    assert locator.find(16, b"q") == tablets[2]


def test_misses_in_one_gap_share_one_lookup(cluster):
    cluster.put_table(b"t", splits=(b"g", b"p"))
    locator = locator_of(cluster)
    tasks = [cluster.runtime.spawn(locator.find, 16, row) for row in (b"a", b"b", b"h", b"z", b"a")]
    for task in tasks:
        task.join()
    assert [task.result.tablet_id for task in tasks] == [100, 100, 101, 102, 100]
    assert cluster.calls() == [("scan", 1), ("scan", 2)]


def test_a_failed_lookup_fails_all_that_waited_and_nobody_later(cluster):
    record, _ = layout.first_metadata_record(1), cluster.put_table(b"t")
    cluster.serve(record, "")
    locator = locator_of(cluster)
    tasks = [cluster.runtime.spawn(locator.find, 16, b"a") for _ in range(5)]
    for task in tasks:
        task.join()
    assert all(isinstance(task.error, Unavailable) for task in tasks)
    assert cluster.runtime.now < 12
    cluster.serve(record, "s1")
    assert locator.find(16, b"a").tablet_id == 100


def test_a_metadata_server_that_lost_its_lock_is_looked_for_elsewhere(cluster):
    cluster.put_table(b"t")

    def lost(method, tablet_id):
        if tablet_id == 2:
            cluster.servers["s0"].before = None
            cluster.serve(layout.first_metadata_record(1), "s1")
            raise LockLost("s0 lost its lock")

    cluster.servers["s0"].before = lost
    assert locator_of(cluster).find(16, b"a").tablet_id == 100


def test_tablets_that_are_gone_are_passed_over_however_many_there_are(cluster):
    """All but the last of 26 tablets were merged into it; cached locations of them are forgotten when they fail."""
    _, tablets = cluster.put_table(b"t", splits=LETTERS)
    locator = locator_of(cluster, prefetch_rows=4)
    assert locator.find(16, b"c") == tablets[2]
    for one in tablets[:-1]:
        gone = GoneTablet(16, one.tablet_id, one.range, 9, 5)
        cluster.metadata[layout.key_of(one)] = {layout.COLUMN: (1, tablet_record.encode_gone(gone))}
    merged = cluster.serve(dataclasses.replace(tablets[-1], tablet_id=99, range=RowRange()), "s1")
    for row in (b"c", b"", b"z"):
        locator.forget(16, row)
        assert locator.find(16, row) == merged
    assert locator_of(cluster, 4).find_before(16, b"d") == merged
    assert locator_of(cluster, 4).find_before(16, b"") == merged
    assert locator.tablets(16) == [merged]
