"""What an assignment writes into the record, above all from which sequence on a log is needed."""

from dataclasses import replace

from hbtable.master.tablets.ownership import assigned, first_records, given_back, released
from hbtable.model.ranges import EVERY_ROW
from hbtable.model.tablet import LogRef, SSTableRef, TabletRecord

NEW = TabletRecord(16, 20, EVERY_ROW, 0)


def test_a_first_owner_gets_generation_one_and_its_log_is_needed_from_the_first_sequence() -> None:
    first = assigned(NEW, "a")
    assert (first.owner, first.generation, first.logs) == ("a", 1, (LogRef("a", 1),))


def test_a_crash_appends_the_new_log_and_keeps_the_old_one() -> None:
    crashed = replace(NEW, owner="a", generation=4, logs=(LogRef("a", 8),))
    again = assigned(crashed, "b")
    assert (again.generation, again.logs) == (5, (LogRef("a", 8), LogRef("b", 8)))


def test_after_a_clean_unload_only_the_sequence_is_left_of_the_old_log() -> None:
    unloaded = replace(NEW, generation=4, logs=(LogRef("", 9),))
    assert assigned(unloaded, "b").logs == (LogRef("b", 9),)


def test_a_server_that_gets_a_tablet_back_does_not_need_its_first_stay() -> None:
    # What it logged in the first stay has sequences below 9 and is in SSTables.
    assert assigned(replace(NEW, logs=(LogRef("", 9),)), "a").logs == (LogRef("a", 9),)


def test_a_log_that_is_needed_already_stays_needed_from_where_it_was() -> None:
    record = replace(NEW, owner="", logs=(LogRef("a", 3), LogRef("b", 5)))
    assert assigned(record, "a").logs == (LogRef("a", 3), LogRef("b", 5))


def test_without_logs_the_files_say_where_sequences_go_on() -> None:
    files = (("f", (SSTableRef("x", 1, 0, 1, 41, 1), SSTableRef("y", 1, 0, 42, 50, 1))),)
    assert assigned(replace(NEW, files=files), "a").logs == (LogRef("a", 51),)


def test_a_release_fences_the_old_owner_and_lets_go_of_no_log() -> None:
    record = released(replace(NEW, owner="a", generation=4, logs=(LogRef("a", 8),)))
    assert (record.owner, record.generation, record.logs) == ("", 5, (LogRef("a", 8),))


def test_what_a_living_owner_gives_back_does_not_name_its_log() -> None:
    owned = replace(NEW, owner="b", generation=4, logs=(LogRef("a", 8), LogRef("b", 8)))
    back = given_back(owned)
    assert (back.owner, back.generation, back.logs) == ("", 5, (LogRef("a", 8),))


def test_what_was_flushed_before_it_was_given_back_keeps_its_sequence() -> None:
    back = given_back(replace(NEW, owner="b", generation=4, logs=(LogRef("b", 8),)))
    assert back.logs == (LogRef("", 8),)


def test_the_tablets_of_a_new_table_tile_it() -> None:
    ranges = [record.range for record in first_records(16, [20, 21, 22], [b"h", b"p"], 0)]
    assert ranges == [(b"", b"h"), (b"h", b"p"), (b"p", b"")]
