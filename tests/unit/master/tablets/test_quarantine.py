"""Which tablets are held back because their servers die, and for how long."""

from dataclasses import replace
from typing import Never

import pytest

from hbtable.master.tablets.assignment import ClusterSnapshot, plan
from hbtable.master.tablets.quarantine import Quarantine, QuarantineOptions
from hbtable.master.tablets.server_load import ServerLoad
from hbtable.model.ranges import RowRange
from hbtable.model.tablet import TabletRecord
from tests.harness.planted_bugs import is_found

BAD = TabletRecord(16, 20, RowRange(b"g", b"p"), 0)
GOOD = TabletRecord(16, 21, RowRange(b"p", b""), 0)
META = TabletRecord(0, 2, RowRange(b"", b""), 0)


class Story:
    """A quarantine and its clock."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.quarantine = Quarantine(lambda: self.now, QuarantineOptions(deaths=3))

    def dies(self, server: str, *tablets: TabletRecord, answered: bool = True, after: float = 1.0) -> None:
        """`server` is given the tablets and dies so many seconds later."""
        for tablet in tablets:
            self.quarantine.given(tablet.tablet_id, server)
            if answered:
                self.quarantine.answered(tablet.tablet_id)
        self.now += after
        self.looks(server, *tablets)

    def looks(self, server: str, *tablets: TabletRecord, living: tuple[str, ...] = ()) -> None:
        for tablet in tablets:
            self.quarantine.look(b"t", [replace(tablet, owner=server)], living)


@pytest.fixture
def story() -> Story:
    return Story()


def test_after_three_deaths_in_a_row_it_is_held_back_each_time_for_longer(
    story: Story, caplog: pytest.LogCaptureFixture
) -> None:
    story.dies("a", BAD)
    story.dies("b", BAD)
    assert not story.quarantine.held()
    assert story.quarantine.suspects() == {20}
    pauses = []
    for server in "cdefghijkl":
        story.dies(server, BAD)
        pause = 0.0
        while story.quarantine.held():
            pause += 10.0
            story.now += 10.0
        pauses.append(pause)
    assert pauses == [10, 20, 40, 80, 160, 320, 600, 600, 600, 600]
    assert "tablet 20 of table t, rows from b'g' to b'p', is not handed out for 10 s: 3 servers in a row" in caplog.text
    assert "the last ones a, b, c" in caplog.text


def test_metadata_is_never_held_back(story: Story) -> None:
    for server in "abcdefghij":
        story.dies(server, META)
        assert not story.quarantine.held()


def test_a_tablet_that_outlived_a_while_is_acquitted(story: Story) -> None:
    story.dies("a", BAD)
    story.dies("b", BAD)
    story.quarantine.given(20, "c")
    story.quarantine.answered(20)
    story.now += 61
    story.looks("c", BAD, living=("c",))
    assert not story.quarantine.suspects()
    story.dies("d", BAD)
    assert not story.quarantine.held()


def test_deaths_that_come_late_are_not_its_fault(story: Story) -> None:
    for server in "abcdef":
        story.dies(server, BAD, after=61)
    assert not story.quarantine.suspects()
    for server in "ghi":
        story.dies(server, BAD, answered=False, after=61)
    assert story.quarantine.suspects(), "it never answered, however long the master was busy elsewhere"


def test_who_was_being_loaded_is_to_blame_before_those_that_were_loaded(story: Story) -> None:
    for server in "abc":
        story.quarantine.given(21, server)
        story.quarantine.answered(21)
        story.dies(server, BAD, answered=False)
        story.looks(server, GOOD)
    assert story.quarantine.held() == {20}
    assert story.quarantine.suspects() == {20}


def test_what_left_in_order_is_not_blamed_for_the_end_of_its_server(story: Story) -> None:
    for server in "abc":
        story.quarantine.given(20, server)
        story.quarantine.answered(20)
        story.looks("", BAD)
    assert not story.quarantine.suspects()


def test_being_given_by_hand_ends_it(story: Story) -> None:
    for server in "abc":
        story.dies(server, BAD)
    assert story.quarantine.message([GOOD, BAD]).startswith("tablet 20 is held back because 3 servers")
    story.quarantine.given(20, "d")
    assert not story.quarantine.held()
    assert story.quarantine.message([GOOD, BAD]) == ""


def test_tablets_that_are_no_more_are_forgotten(story: Story) -> None:
    for server in "abc":
        story.dies(server, BAD, GOOD)
    story.quarantine.keep_only([21, 22])
    assert story.quarantine.held() == {21}


def test_held_tablets_are_not_planned_and_suspects_are_spread() -> None:
    tablets = [replace(BAD, tablet_id=number) for number in range(20, 26)]
    loads = {"fresh": ServerLoad(frozenset()), "full": ServerLoad(frozenset(range(100, 140)))}
    actions = plan(ClusterSnapshot(tablets, loads, held=frozenset({20, 21})))
    assert [one.server for one in actions] == ["fresh"] * 4
    assert [one.record.tablet_id for one in actions] == [22, 23, 24, 25]
    actions = plan(ClusterSnapshot(tablets, loads, suspects=frozenset({20, 21, 22, 23})))
    assert [one.server for one in actions] == ["fresh", "full", "fresh", "full", "fresh", "fresh"]


def test_a_suspect_does_not_join_one_that_is_served_already() -> None:
    loads = {"empty": ServerLoad(frozenset({20})), "full": ServerLoad(frozenset(range(100, 140)))}
    (action,) = plan(ClusterSnapshot([replace(BAD, tablet_id=22)], loads, suspects=frozenset({20, 22})))
    assert action.server == "full"


def test_those_that_are_blamed_together_wait_only_briefly(story: Story) -> None:
    """A cluster of one server that is killed again and again, by whatever, is back soon after that has ended."""
    for server in "abcdefgh":
        story.dies(server, BAD, GOOD)
    assert story.quarantine.held() == {20, 21}
    story.now += 10
    assert not story.quarantine.held()


def test_the_planted_bug_is_found(caplog: pytest.LogCaptureFixture) -> None:
    held_back = test_after_three_deaths_in_a_row_it_is_held_back_each_time_for_longer
    is_found("poisonous", lambda: held_back(Story(), caplog))


def test_placing_a_tablet_does_not_cost_more_the_more_tablets_are_well(story: Story) -> None:
    """As when one table after the other is made, or a new master has given out all tablets."""

    class Looked(dict[int, object]):
        def __iter__(self) -> Never:
            raise AssertionError("each tablet is looked at")

        items = values = keys = __iter__  # type: ignore[assignment]

    for server in "abc":
        story.dies(server, BAD)
    story.quarantine.given(GOOD.tablet_id, "d")
    story.quarantine._stories = Looked(story.quarantine._stories)  # type: ignore[assignment]
    assert story.quarantine.suspects() == story.quarantine.held() == {20}
    assert "tablet 20" in story.quarantine.message([GOOD, BAD])


def test_a_server_is_not_dead_because_a_list_is_older_than_it(story: Story) -> None:
    listed_at = story.now
    story.now += 1.0
    for server in "abcd":
        story.quarantine.given(BAD.tablet_id, server)
        story.quarantine.answered(BAD.tablet_id)
        story.quarantine.look(b"t", [replace(BAD, owner=server)], (), listed_at)
    assert not story.quarantine.suspects()
    story.quarantine.look(b"t", [replace(BAD, owner="d")], (), story.now + 1.0)
    assert story.quarantine.suspects() == {BAD.tablet_id}
