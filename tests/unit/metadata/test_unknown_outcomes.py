"""A change of METADATA whose outcome is unknown is settled by reading, or stays unknown."""

import dataclasses

import pytest

from hbtable.encoding import table_record
from hbtable.errors import DataDamaged, OutcomeUnknown, OutOfSpace, StorageFailed, Unavailable
from hbtable.metadata import layout
from hbtable.model.ranges import RowRange
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.model.table import TableRecord, TableState
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


OWNED = dataclasses.replace(TABLET, owner="s1", generation=1)
LATER = dataclasses.replace(OWNED, generation=2)


def others_change(cluster, change):
    """The first change of a row gets no answer, and is carried out before the second one comes, when somebody else has
    changed the row again."""
    server, tries = cluster.servers["s0"], []

    def before(method, tablet_id):
        if method == "check_and_mutate":
            tries.append(method)
            if len(tries) == 1:
                raise OutcomeUnknown("no answer in time")
            server.before = None
            change()

    server.before = before


@pytest.mark.parametrize("later", [LATER, None])
def test_an_unknown_outcome_stays_unknown_where_somebody_changed_the_row_meanwhile(catalog, cluster, later):
    """It was told as a conflict, in which nothing was changed."""
    catalog.put_tablet_if_absent(TABLET)
    key = layout.key_of(TABLET)
    others_change(cluster, lambda: cluster.write(later) if later else cluster.metadata.pop(key))
    with pytest.raises(OutcomeUnknown):
        catalog.replace_tablet(TABLET, OWNED)


def test_an_unknown_deletion_stays_unknown_where_somebody_put_another_row(catalog, cluster):
    catalog.put_tablet_if_absent(TABLET)
    others_change(cluster, lambda: cluster.write(LATER))
    with pytest.raises(OutcomeUnknown):
        catalog.delete_tablet(TABLET)


def test_a_row_that_was_put_and_changed_meanwhile_is_there(catalog, cluster):
    others_change(cluster, lambda: cluster.write(LATER))
    assert catalog.put_tablet_if_absent(TABLET) is False
    assert catalog.read_tablet(16, b"m") == LATER


def test_a_table_that_was_made_and_changed_meanwhile_did_not_exist_before(catalog, cluster):
    table = TableRecord(16, TableState.CREATING, TableSchema(b"t", {b"f": FamilySchema(b"f")}))
    found = {layout.COLUMN: (1, table_record.encode(dataclasses.replace(table, state=TableState.DELETING)))}
    others_change(cluster, lambda: cluster.metadata.update({layout.table_key(b"t"): found}))
    with pytest.raises(OutcomeUnknown):
        catalog.create_table(table)


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
