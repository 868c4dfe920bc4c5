"""A change of METADATA whose outcome is unknown is settled by reading, or stays unknown."""

import dataclasses

import pytest

from hbtable.errors import DataDamaged, OutcomeUnknown, OutOfSpace, StorageFailed, Unavailable
from hbtable.model.ranges import RowRange
from hbtable.model.tablet import TabletRecord

TABLET = TabletRecord(16, 50, RowRange(b"", b"m"), 1)


@pytest.mark.parametrize("applied", [True, False])
def test_an_unknown_outcome_is_settled_by_reading(catalog, cluster, applied):
    catalog.put_tablet_if_absent(TABLET)
    server = cluster.servers["s0"]

    def fail_once(method, tablet_id):
        if method == "check_and_mutate":
            server.before = server.after = None
            raise OutcomeUnknown("the connection broke")

    if applied:
        server.after = fail_once
    else:
        server.before = fail_once
    owned = dataclasses.replace(TABLET, owner="s1", generation=1)
    catalog.replace_tablet(TABLET, owned)
    assert catalog.read_tablet(16, b"m") == owned


def test_an_unknown_outcome_that_reading_cannot_settle_stays_unknown(catalog, cluster):
    catalog.put_tablet_if_absent(TABLET)
    server = cluster.servers["s0"]
    other = dataclasses.replace(TABLET, owner="other")

    def fail_once(method, tablet_id):
        server.after = None
        cluster.write(other)
        raise OutcomeUnknown("the connection broke")

    server.after = fail_once
    with pytest.raises(OutcomeUnknown):
        catalog.replace_tablet(TABLET, dataclasses.replace(TABLET, owner="s1"))


@pytest.mark.parametrize(
    "error",
    [
        DataDamaged("metadata.sst", 0, "a block is damaged", b"", b""),
        OutOfSpace("METADATA's log has no room"),
        StorageFailed("METADATA's log has broken"),
    ],
)
@pytest.mark.parametrize("applied", [True, False])
def test_an_unknown_outcome_stays_unknown_whatever_becomes_of_its_second_try(catalog, cluster, applied, error):
    """Nobody may take the change for refused: the first try may have been carried out, or be yet."""
    catalog.put_tablet_if_absent(TABLET)
    server = cluster.servers["s0"]

    def lose_the_answer(method, tablet_id):
        server.after, server.before = None, fail_changes
        raise OutcomeUnknown("the connection broke")

    def fail_changes(method, tablet_id):
        if applied or method == "check_and_mutate":
            raise error

    if applied:
        server.after = lose_the_answer
    else:
        server.before = lose_the_answer
    with pytest.raises(OutcomeUnknown):
        catalog.replace_tablet(TABLET, dataclasses.replace(TABLET, owner="s1"))


def test_an_unknown_outcome_that_cannot_be_read_does_not_look_as_if_nothing_happened(catalog, cluster):
    catalog.put_tablet_if_absent(TABLET)
    server = cluster.servers["s0"]

    def lose_the_answer(method, tablet_id):
        server.after = None
        server.before = refuse
        raise OutcomeUnknown("the connection broke")

    def refuse(method, tablet_id):
        raise Unavailable("the server is gone")

    server.after = lose_the_answer
    with pytest.raises(OutcomeUnknown):
        catalog.replace_tablet(TABLET, dataclasses.replace(TABLET, owner="s1"))


def test_a_change_that_may_still_come_is_in_doubt_though_the_row_was_read_as_before(catalog, cluster):
    """A server that gave no answer in time carries it out when it can; what it answers meanwhile says nothing."""
    catalog.put_tablet_if_absent(TABLET)
    server = cluster.servers["s0"]

    def no_answer_yet(method, tablet_id):
        server.before = answers_reads_only
        raise OutcomeUnknown("no answer in time")

    def answers_reads_only(method, tablet_id):
        if method == "check_and_mutate":
            raise Unavailable("the tablet moves")

    server.before = no_answer_yet
    with pytest.raises(OutcomeUnknown):
        catalog.replace_tablet(TABLET, dataclasses.replace(TABLET, owner="s1"))
