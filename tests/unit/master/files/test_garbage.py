"""Mark and sweep: what is spared although one scan misses it, and what goes."""

from dataclasses import replace

from hbtable.master.files.garbage import (
    ListedFile,
    MetadataScan,
    dropped_tables,
    garbage_files,
    garbage_logs,
    garbage_markers,
)
from hbtable.model.ranges import EVERY_ROW
from hbtable.model.tablet import LogRef, SSTableRef, TabletRecord
from tests.harness.planted_bugs import is_found

A, B, C = (ListedFile(16, f"tables/00000010/{name}") for name in "abc")
NOBODY: dict[str, set[str]] = {"s": set()}


def tablet(tablet_id: int, *files: ListedFile, logs: tuple[str, ...] = (), owner: str = "s") -> TabletRecord:
    refs = tuple(SSTableRef(file.path, 1, 0, 1, 1, 1) for file in files)
    needed = tuple(LogRef(name, 1) for name in logs)
    return TabletRecord(16, tablet_id, EVERY_ROW, 0, owner, files=(("f", refs),), logs=needed)


def scan(*tablets: TabletRecord) -> MetadataScan:
    return MetadataScan(tablets)


def test_what_neither_scan_names_goes() -> None:
    same = scan(tablet(20, A))
    assert garbage_files([A, B], NOBODY, same, same) == [B.path]


def test_a_file_named_by_either_scan_stays() -> None:
    assert garbage_files([A, B, C], NOBODY, scan(tablet(20, A)), scan(tablet(20, B))) == [C.path]


def test_files_in_flight_stay() -> None:
    same = scan(tablet(20))
    assert garbage_files([A, B], {"s": {A.path}}, same, same) == [B.path]


def test_a_table_that_split_between_the_scans_is_left_alone() -> None:
    assert garbage_files([B], NOBODY, scan(tablet(20, A)), scan(tablet(21, A), tablet(22, A))) == []


def test_an_embedded_left_child_counts() -> None:
    both = scan(replace(tablet(22, A), left=tablet(21, B)))
    assert garbage_files([A, B, C], NOBODY, both, both) == [C.path]


def test_a_deleted_table_loses_its_files() -> None:
    other = replace(tablet(30), table_id=17)
    assert garbage_files([A, B], NOBODY, scan(other), scan(other)) == [A.path, B.path]


def test_a_table_without_rows_whose_files_are_all_garbage_was_dropped() -> None:
    other, same = scan(replace(tablet(30), table_id=17)), scan(tablet(20))
    files, paths = [A, B, ListedFile(17, "tables/00000011/d")], [A.path, B.path, "tables/00000011/d"]
    assert dropped_tables(files, paths, other, other) == [16]
    assert dropped_tables(files, paths[1:], other, other) == []
    assert dropped_tables(files, paths, same, other) == []
    assert dropped_tables(files, paths, other, same) == []


def test_a_table_with_an_owner_that_was_not_asked_is_left_alone() -> None:
    same = scan(tablet(20, A, owner="zombie"))
    assert garbage_files([B], NOBODY, same, same) == []


def test_logs_stay_while_named_or_alive() -> None:
    first, second = scan(tablet(20, logs=("old",))), scan(tablet(20, logs=("older",)))
    assert garbage_logs(["dead", "old", "older", "s"], {"s"}, first, second) == ["dead"]


def test_the_log_of_an_embedded_left_child_stays() -> None:
    both = scan(replace(tablet(22), left=tablet(21, logs=("old",))))
    assert garbage_logs(["old"], {"s"}, both, both) == []


def test_a_marker_goes_long_after_its_log_and_never_before() -> None:
    markers = [("gone-long-ago", 100), ("gone", 900), ("has-a-log", 100), ("alive", 100)]
    assert garbage_markers(markers, {"has-a-log"}, {"alive"}, 500) == ["gone-long-ago"]


def test_the_planted_bug_is_found() -> None:
    is_found("moving", test_a_table_that_split_between_the_scans_is_left_alone)
