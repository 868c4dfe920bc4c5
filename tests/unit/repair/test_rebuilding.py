"""Tablets from the identities of SSTables: what was compacted away stays away, and nothing that counts is left out."""

from hbtable.model.ranges import RowRange
from hbtable.model.tablet import GoneTablet, SSTableRef, TabletRecord
from hbtable.repair.evidence import SSTableFound
from hbtable.repair.log_flush import ended
from hbtable.repair.rebuilding import RebuiltTablet, Span, all_covered, rebuilt, replaces, span_of
from hbtable.sstable.properties import Origin, Properties, SSTableIdentity

ALL = RowRange()
LEFT, RIGHT = RowRange(b"", b"m"), RowRange(b"m", b"")


def file(
    name: str, tablet_id: int, rows: RowRange | None, *replaced: str, generation: int = 1, group: str = "f"
) -> SSTableFound:
    """`rows` None: written by an older hbtable."""
    origin = Origin(rows.start, rows.stop, 9, b"") if rows is not None else None
    identity = SSTableIdentity(16, tablet_id, group, generation, replaced, 0, origin)
    return SSTableFound(name, name, 100, 1, Properties(identity, 1, 0, 1, 1, 1, b"a", b"z", 1, 1, 1, 9))


def shown(tablets: list[RebuiltTablet]) -> list[tuple[RowRange, int, list[str]]]:
    return [(tablet.rows, tablet.tablet_id, [one.path for one in tablet.files]) for tablet in tablets]


def of_files(*files: SSTableFound, current: tuple[TabletRecord, ...] = ()) -> list[tuple[RowRange, int, list[str]]]:
    return shown(rebuilt(files, files, current, []))


def test_a_compaction_s_inputs_stay_away() -> None:
    assert of_files(file("a", 20, ALL), file("b", 20, ALL), file("c", 20, ALL, "a", "b")) == [(ALL, 20, ["c"])]


def test_a_part_of_a_regrouping_does_not_stand_for_the_whole() -> None:
    """Nor for other inputs: of these it may have all, and they all stay."""
    old, late, part = file("a", 20, ALL, group="f/g"), file("b", 20, ALL), file("c", 20, ALL, "a", "b")
    assert of_files(old, late, part) == [(ALL, 20, ["a", "b"])]
    other = file("d", 20, ALL, "a", "b", group="g")
    assert of_files(old, late, part, other) == [(ALL, 20, ["c", "d"])]


def named(tablet_id: int, rows: RowRange, *files: tuple[str, str]) -> TabletRecord:
    refs = tuple((group, (SSTableRef(path, 100, 1, 1, 9, 1),)) for group, path in files)
    return TabletRecord(16, tablet_id, rows, 0, generation=1, files=refs)


def test_what_a_regrouping_left_empty_is_not_missing() -> None:
    """Of a family without a cell there is no file. The parent's is there for the other child of a split."""
    old = file("old", 20, ALL, group="f/g")
    made = file("made", 21, LEFT, "old", "own")
    right = named(22, RIGHT, ("f/g", "old"))
    known = (named(21, LEFT, ("f", "made")), right)
    assert of_files(old, made, current=known) == [(LEFT, 21, ["made"]), (RIGHT, 22, ["old"])]
    assert of_files(old, made, current=(right,)) == [(LEFT, 21, ["made"]), (RIGHT, 22, ["old"])]


def test_a_part_that_was_compacted_further_is_not_missing() -> None:
    old = file("old", 20, ALL, group="f/g")
    of_f, of_g = file("f", 21, LEFT, "old"), file("g2", 21, LEFT, "g1", "later", group="g")
    known = (named(21, LEFT, ("f", "f"), ("g", "g2")), named(22, RIGHT, ("f/g", "old")))
    assert of_files(old, of_f, of_g, current=known) == [(LEFT, 21, ["f", "g2"]), (RIGHT, 22, ["old"])]


def test_a_part_from_which_something_was_made_ended() -> None:
    old, part, later = file("a", 20, ALL, group="f/g"), file("c", 20, ALL, "a"), file("d", 20, ALL, "c")
    assert of_files(old, part, later) == [(ALL, 20, ["d"])]


def test_a_file_that_does_not_say_its_rows_is_not_taken_for_outlived() -> None:
    known = (named(20, LEFT), named(30, RIGHT))
    assert ["child"] in [files for _, _, files in of_files(file("child", 25, None), current=known)]


def test_nobody_asks_for_a_family_that_was_dropped() -> None:
    old, part = file("a", 20, ALL, group="f/g"), file("c", 20, ALL, "a")
    files = (old, part)
    assert shown(rebuilt(files, files, (), [], families={b"f"})) == [(ALL, 20, ["c"])]


def test_of_a_split_that_nobody_compacted_both_rows_come_from_the_parent() -> None:
    assert of_files(file("parent", 20, ALL), file("l", 21, LEFT), file("r", 22, RIGHT)) == [
        (LEFT, 21, ["l", "parent"]),
        (RIGHT, 22, ["parent", "r"]),
    ]


def test_what_one_child_compacted_away_the_other_still_needs() -> None:
    assert of_files(file("parent", 20, ALL), file("l", 21, LEFT, "parent"), file("r", 22, RIGHT)) == [
        (LEFT, 21, ["l"]),
        (RIGHT, 22, ["parent", "r"]),
    ]


def test_a_child_that_left_no_file_has_the_parent_s_id_and_only_its_rows() -> None:
    assert of_files(file("parent", 20, ALL), file("l", 21, LEFT, "parent")) == [
        (LEFT, 21, ["l"]),
        (RIGHT, 20, ["parent"]),
    ]


def test_one_id_is_not_given_to_two_tablets() -> None:
    middle = RowRange(b"d", b"m")
    found = of_files(file("parent", 20, ALL), file("child", 21, middle, "parent"))
    assert [(rows, tablet_id) for rows, tablet_id, _ in found] == [
        (RowRange(b"", b"d"), 20),
        (middle, 21),
        (RIGHT, 0),
    ]


def test_a_merged_tablet_takes_the_place_of_both() -> None:
    assert of_files(
        file("l", 21, LEFT),
        file("r", 22, RIGHT),
        file("both", 30, ALL, "l", "r", generation=5),
        file("new", 30, ALL, generation=5),
    ) == [(ALL, 30, ["both", "new"])]


def test_a_merged_tablet_that_compacted_nothing_has_the_files_of_both() -> None:
    assert of_files(file("l", 21, LEFT), file("r", 22, RIGHT), file("new", 30, ALL, generation=2)) == [
        (ALL, 30, ["l", "new", "r"])
    ]


def test_ids_are_in_no_order_of_time() -> None:
    """Children of a split with lower ids than their parent, and a merged tablet with a lower one than both sides: the
    master and each server take ids out of ranges of their own."""
    assert of_files(file("parent", 80, ALL), file("l", 21, LEFT), file("r", 22, RIGHT)) == [
        (LEFT, 21, ["l", "parent"]),
        (RIGHT, 22, ["parent", "r"]),
    ]
    assert of_files(file("l", 80, LEFT), file("r", 81, RIGHT), file("new", 17, ALL, generation=2)) == [
        (ALL, 17, ["l", "new", "r"])
    ]
    old = TabletRecord(16, 81, RIGHT, 0, generation=1)
    assert of_files(file("new", 17, ALL, generation=2), current=(old,)) == [(ALL, 17, ["new"])]
    merged = TabletRecord(16, 17, ALL, 0, generation=2)
    assert of_files(file("collected", 80, LEFT), current=(merged,)) == [(ALL, 17, [])]


def test_a_tablet_ended_where_a_later_one_has_rows_of_it() -> None:
    parent, left, right = Span(ALL, 80, 3), Span(LEFT, 21, 3), Span(RIGHT, 22, 4)
    merged = Span(ALL, 17, 5)
    assert ended({80, 21, 22}, [parent, left, right]) == {80}
    assert ended({80, 21, 22, 17}, [parent, left, right, merged]) == {80, 21, 22}
    gone = span_of(GoneTablet(16, 21, LEFT, merged.generation, 0))
    assert ended({21, 17}, [gone, merged]) == {21}


def test_files_of_an_older_hbtable_take_their_rows_from_metadata() -> None:
    records = (TabletRecord(16, 21, LEFT, 0), TabletRecord(16, 22, RIGHT, 0, generation=1))
    assert of_files(file("l", 21, None), file("r", 22, None), current=records) == [
        (LEFT, 21, ["l"]),
        (RIGHT, 22, ["r"]),
    ]


def test_a_table_without_files_keeps_its_tablets() -> None:
    records = (TabletRecord(16, 21, LEFT, 0), TabletRecord(16, 22, RIGHT, 0, generation=1))
    assert of_files(current=records) == [(LEFT, 21, []), (RIGHT, 22, [])]
    assert of_files() == [(ALL, 0, [])]


def test_what_a_child_compacted_away_in_steps_stays_away() -> None:
    """The file that said so was compacted itself, and collected; the record of METADATA does not name the parent's."""
    newest = SSTableRef("newest", 100, 1, 1, 9, 1)
    parents = SSTableRef("parent", 100, 1, 1, 9, 1)
    records = (
        TabletRecord(16, 21, LEFT, 0, generation=1, files=(("f", (newest,)),)),
        TabletRecord(16, 22, RIGHT, 0, generation=1, files=(("f", (parents,)),)),
    )
    files = (file("parent", 20, ALL), file("newest", 21, LEFT, "collected"))
    assert of_files(*files, current=records) == [(LEFT, 21, ["newest"]), (RIGHT, 22, ["parent"])]


def test_what_was_saved_of_a_parent_s_file_counts() -> None:
    lost = SSTableRef("lost", 100, 1, 1, 9, 1)
    left = TabletRecord(16, 21, LEFT, 0, generation=1, files=(("f", (lost,)),))
    records = (left, TabletRecord(16, 22, RIGHT, 0, generation=1))
    saved = file("saved", 20, ALL)
    assert shown(rebuilt([saved], [saved], records, [], {"saved"}))[0] == (LEFT, 21, ["saved"])


def test_what_the_other_half_of_a_split_made_takes_no_file_s_place() -> None:
    """It was taken for that once: rows of the half that still needed the lost file came back as they had been."""
    right = TabletRecord(16, 22, RIGHT, 1)
    assert not replaces(file("l", 21, LEFT, "parent"), "parent", right)
    assert replaces(file("l", 21, LEFT, "parent"), "parent", TabletRecord(16, 21, LEFT, 1))
    assert replaces(file("whole", 20, ALL, "parent"), "parent", right)
    assert not replaces(file("r", 22, RIGHT, "another"), "parent", right)


def test_an_older_hbtable_s_file_counts_for_its_own_tablet_alone() -> None:
    assert replaces(file("new", 22, None, "old"), "old", TabletRecord(16, 22, RIGHT, 1))
    assert not replaces(file("new", 21, None, "old"), "old", TabletRecord(16, 22, RIGHT, 1))


def test_ranges_that_leave_no_row_out() -> None:
    assert all_covered([RIGHT, LEFT])
    assert all_covered([RowRange(b"", b"p"), RowRange(b"k", b"")])
    assert all_covered([ALL])
    assert not all_covered([])
    assert not all_covered([LEFT])
    assert not all_covered([RIGHT])
    assert not all_covered([RowRange(b"", b"d"), RIGHT])
