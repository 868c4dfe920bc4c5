"""What the maintenance planner chooses, and in which order."""

from hbtable.tabletserver.maintenance_plan import Compact, Flush, MaintenanceOptions, Split, TabletFacts, plan

OPTIONS = MaintenanceOptions(total_memtable_bytes=150, log_bytes=1000)


def tablet(tablet_id: int, table_id: int = 16, **changes: object) -> TabletFacts:
    quiet = TabletFacts(tablet_id, table_id, 0, 100, 0.0, "", "", False)
    return quiet._replace(**changes)  # type: ignore[arg-type]


def kinds(tablets: list[TabletFacts], log_bytes: int = 0, oldest: tuple[int, ...] = ()) -> list[tuple[type, int]]:
    return [(type(one), one.tablet_id) for one in plan(tablets, log_bytes, oldest, OPTIONS)]


def test_quiet_tablets_are_left_alone() -> None:
    assert kinds([tablet(20), tablet(21, memtable_bytes=99, memtable_age_seconds=10)]) == []


def test_a_full_memtable_is_flushed() -> None:
    assert kinds([tablet(20, memtable_bytes=100)]) == [(Flush, 20)]


def test_an_old_memtable_is_flushed() -> None:
    assert kinds([tablet(20, memtable_bytes=1, memtable_age_seconds=3601)]) == [(Flush, 20)]


def test_only_the_largest_are_flushed_until_all_together_fit() -> None:
    tablets = [tablet(20, memtable_bytes=60), tablet(21, memtable_bytes=90), tablet(22, memtable_bytes=50)]
    assert kinds(tablets) == [(Flush, 21)]


def test_memory_that_a_chosen_flush_frees_counts() -> None:
    assert kinds([tablet(20, memtable_bytes=120), tablet(21, memtable_bytes=90)]) == [(Flush, 20)]


def test_a_large_log_flushes_the_tablets_of_its_oldest_segment_only() -> None:
    tablets = [tablet(20, memtable_bytes=5), tablet(21, memtable_bytes=5)]
    assert kinds(tablets, log_bytes=1001, oldest=(21,)) == [(Flush, 21)]
    assert kinds(tablets, log_bytes=1000, oldest=(21,)) == []


def test_old_logs_are_let_go() -> None:
    assert kinds([tablet(20, needs_old_logs=True)]) == [(Flush, 20)]


def test_metadata_first_and_flushes_before_compactions_before_splits() -> None:
    tablets = [
        tablet(20, too_large="large"),
        tablet(21, compaction="many files"),
        tablet(22, memtable_bytes=130),
        tablet(2, table_id=0, memtable_bytes=110, compaction="many files"),
    ]
    assert kinds(tablets) == [(Flush, 2), (Flush, 22), (Compact, 2), (Compact, 21), (Split, 20)]


def test_metadata_tablets_split_and_the_root_tablet_never_does() -> None:
    assert kinds([tablet(1, table_id=0, too_large="large")]) == []
    assert kinds([tablet(2, table_id=0, too_large="large")]) == [(Split, 2)]


def test_what_is_deleted_in_memory_is_flushed() -> None:
    assert kinds([tablet(20, deleted="its memtable holds 6000 delete markers")]) == [(Flush, 20)]


def test_what_is_due_by_age_alone_comes_last_and_once() -> None:
    tablets = [tablet(20, aged="old"), tablet(21, aged="old", compaction="many files"), tablet(22, too_large="large")]
    decided = plan(tablets, 0, (), OPTIONS)
    assert [(type(one), one.tablet_id) for one in decided] == [(Compact, 21), (Split, 22), (Compact, 20)]
    assert [one.can_wait for one in decided if isinstance(one, Compact)] == [False, True]


def test_the_compaction_that_writers_wait_for_comes_before_those_that_are_due_again_and_again() -> None:
    tablets = [
        tablet(20, memtable_bytes=90, compaction="3 files", pressure=0.1),
        tablet(21, memtable_bytes=10, compaction="31 files", pressure=1.03),
        tablet(22, compaction="64 ranges", pressure=1.0),
        tablet(2, table_id=0, compaction="3 files", pressure=0.1),
    ]
    assert kinds(tablets) == [(Compact, 2), (Compact, 21), (Compact, 22), (Compact, 20)]
