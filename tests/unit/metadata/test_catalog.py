"""Typed compare-and-set writes: nothing changes behind a caller's back, unknown outcomes are settled by reading."""

import dataclasses
import logging
from array import array

import pytest

from hbtable.encoding import tablet_record
from hbtable.errors import (
    AlreadyExists,
    Conflict,
    FileNotFound,
    InvalidRequest,
    NotFound,
    OutcomeUnknown,
    OutOfSpace,
    StaleLocation,
    TableExists,
    Unavailable,
)
from hbtable.metadata import layout
from hbtable.metadata.catalog import ROOT_COPY_PATH, Catalog
from hbtable.metadata.locator import Locator
from hbtable.model.ranges import RowRange
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.model.table import TableRecord, TableState
from hbtable.model.tablet import GoneTablet, LogRef, MergesInto, TabletRecord

TABLET = TabletRecord(16, 50, RowRange(b"", b"m"), 1)
TABLE = TableRecord(16, TableState.CREATING, TableSchema(b"t", {b"f": FamilySchema(b"f")}))


class Files:
    def __init__(self, session):
        self.files = {}
        self.session = session
        self.root_at_write = []

    def write_file(self, path, data):
        self.files[path] = data
        file = self.session.files.get(layout.ROOT_PATH)
        self.root_at_write.append(file and file.data)


def test_tablet_rows_are_put_once_and_replaced_only_from_what_was_read(catalog):
    assert catalog.read_tablet(16, b"m") is None
    assert catalog.put_tablet_if_absent(TABLET)
    assert not catalog.put_tablet_if_absent(dataclasses.replace(TABLET, tablet_id=51))
    owned = dataclasses.replace(TABLET, owner="s1", generation=1)
    catalog.replace_tablet(TABLET, owned)
    with pytest.raises(Conflict, match="tablet 50 was changed by someone else"):
        catalog.replace_tablet(TABLET, dataclasses.replace(TABLET, owner="s2", generation=1))
    assert catalog.read_tablet(16, b"m") == owned
    with pytest.raises(Conflict):
        catalog.delete_tablet(TABLET)
    catalog.delete_tablet(owned)
    catalog.delete_tablet(owned)
    assert catalog.read_tablet(16, b"m") is None
    with pytest.raises(Conflict):
        catalog.replace_tablet(TABLET, owned)


def test_a_record_cannot_move_to_another_row(catalog):
    with pytest.raises(ValueError, match="cannot move"):
        catalog.replace_tablet(TABLET, dataclasses.replace(TABLET, range=RowRange(b"", b"n")))


def test_tables_are_created_once_changed_and_listed(catalog):
    catalog.create_table(TABLE)
    with pytest.raises(TableExists, match="table t exists"):
        catalog.create_table(dataclasses.replace(TABLE, table_id=17))
    enabled = dataclasses.replace(TABLE, state=TableState.ENABLED)
    catalog.replace_table(TABLE, enabled)
    with pytest.raises(Conflict):
        catalog.replace_table(TABLE, enabled)
    assert catalog.read_table(b"t") == enabled
    assert catalog.read_table(b"u") is None
    other = TableRecord(17, TableState.ENABLED, TableSchema(b"ns:a", {}))
    catalog.create_table(other)
    assert catalog.tables() == [other, enabled]
    with pytest.raises(Conflict):
        catalog.delete_table(TABLE)
    catalog.delete_table(enabled)
    assert catalog.tables() == [other]


def test_namespaces(catalog):
    catalog.create_namespace(b"ns")
    with pytest.raises(AlreadyExists):
        catalog.create_namespace(b"ns")
    assert catalog.namespaces() == [b"default", b"hbase", b"ns"]
    assert catalog.has_namespace(b"ns")
    assert catalog.has_namespace(b"default")
    assert not catalog.has_namespace(b"other")
    catalog.delete_namespace(b"ns")
    with pytest.raises(NotFound):
        catalog.delete_namespace(b"ns")


def test_a_namespace_that_changed_since_it_was_read_is_not_deleted(catalog, monkeypatch):
    catalog.create_namespace(b"ns")
    read = catalog._namespace_row(b"ns")
    catalog.replace_namespace(b"ns", {"a": "b"})
    with monkeypatch.context() as patch:
        patch.setattr(catalog, "_namespace_row", lambda name: read)
        with pytest.raises(Conflict, match="namespace ns was changed by someone else"):
            catalog.delete_namespace(b"ns")
    assert catalog.namespace_properties(b"ns") == {"a": "b"}


def test_all_tablets_come_root_first_without_table_and_namespace_rows(catalog, cluster):
    _, tablets = cluster.put_table(b"t", splits=(b"g", b"p"))
    catalog.create_namespace(b"ns")
    rows = list(catalog.all_tablet_rows())
    assert [record.tablet_id for record in rows] == [1, 2, *(record.tablet_id for record in tablets)]
    assert catalog.tablet_rows(16) == tablets
    assert [record.tablet_id for record in catalog.tablet_rows(0)] == [1, 2]


def test_the_root_changes_by_version_and_its_copy_goes_first(cluster):
    locator = Locator(cluster.session, cluster.transport, cluster.runtime)
    files = Files(cluster.session)
    catalog = Catalog(cluster.session, locator, files)
    root = catalog.read_root()
    assert catalog.read_tablet(0, layout.ROOT_STOP) == root
    moved = dataclasses.replace(root, owner="s1", generation=5)
    catalog.replace_tablet(root, moved)
    assert catalog.read_root() == moved
    assert files.files[ROOT_COPY_PATH] == tablet_record.encode(moved)
    assert files.root_at_write == [tablet_record.encode(root)]
    with pytest.raises(Conflict):
        catalog.replace_tablet(root, dataclasses.replace(root, owner="s3"))
    assert files.files[ROOT_COPY_PATH] == tablet_record.encode(moved)


def test_a_lost_race_for_the_root_leaves_the_winners_copy(cluster):
    files = Files(cluster.session)
    catalog = Catalog(cluster.session, Locator(cluster.session, cluster.transport, cluster.runtime), files)
    root = catalog.read_root()
    cluster.session.before_write = lambda: cluster.serve(root, "s1")
    with pytest.raises(Conflict):
        catalog.replace_tablet(root, dataclasses.replace(root, owner="loser"))
    assert tablet_record.decode(files.files[ROOT_COPY_PATH]).owner == "s1"


def test_a_kill_between_the_roots_copy_and_its_record_is_no_reason_for_a_warning(cluster, caplog):
    files = Files(cluster.session)
    files.read_file = files.files.__getitem__
    catalog = Catalog(cluster.session, Locator(cluster.session, cluster.transport, cluster.runtime), files)
    root = catalog.read_root()
    flushed = dataclasses.replace(root, logs=(LogRef(root.owner, 9),))

    def kill():
        raise OutcomeUnknown("killed")

    cluster.session.before_write = kill
    with pytest.raises(OutcomeUnknown):
        catalog.replace_tablet(root, flushed)
    assert catalog.read_root() == root
    with caplog.at_level(logging.INFO):
        assert catalog.read_unserved_root().logs == flushed.logs
    assert [record.levelname for record in caplog.records] == ["INFO"]
    assert catalog.read_root().logs == flushed.logs


@pytest.mark.parametrize(("error", "seen"), [(Unavailable, OutcomeUnknown), (OutOfSpace, OutOfSpace)])
def test_a_change_of_the_root_that_only_its_copy_has_is_in_doubt(cluster, error, seen):
    """The next owner may take it over from there: files that it names may not be deleted as if it had never been."""
    files = Files(cluster.session)
    catalog = Catalog(cluster.session, Locator(cluster.session, cluster.transport, cluster.runtime), files)
    root = catalog.read_root()

    def fail():
        raise error("the lock service cannot be reached")

    cluster.session.before_write = fail
    with pytest.raises(seen):
        catalog.replace_tablet(root, dataclasses.replace(root, owner="s1"))
    assert tablet_record.decode(files.files[ROOT_COPY_PATH]).owner == "s1"


@pytest.mark.parametrize(("error", "seen"), [(Unavailable, OutcomeUnknown), (OutOfSpace, OutOfSpace)])
def test_a_change_of_the_root_that_its_copy_may_have_is_in_doubt(cluster, error, seen):
    """HDFS has renamed the copy into its place, and answers nothing more while its NameNodes change."""

    class Away(Files):
        def write_file(self, path, data):
            super().write_file(path, data)
            raise error("no NameNode answers")

    files = Away(cluster.session)
    catalog = Catalog(cluster.session, Locator(cluster.session, cluster.transport, cluster.runtime), files)
    root = catalog.read_root()
    with pytest.raises(seen):
        catalog.replace_tablet(root, dataclasses.replace(root, owner="s1"))
    assert tablet_record.decode(files.files[ROOT_COPY_PATH]).owner == "s1"


def test_a_new_cluster_begins_with_a_root_once(cluster):
    catalog = Catalog(cluster.session, Locator(cluster.session, cluster.transport, cluster.runtime))
    with pytest.raises(AlreadyExists):
        catalog.create_root(layout.first_root_record(1))
    del cluster.session.files[layout.ROOT_PATH]
    with pytest.raises(StaleLocation, match="never started"):
        catalog.read_root()
    catalog.create_root(layout.first_root_record(1))
    assert catalog.read_root() == layout.first_root_record(1)


def test_a_metadata_tablet_that_moves_is_found_again(catalog, cluster):
    catalog.put_tablet_if_absent(TABLET)
    cluster.serve(layout.first_metadata_record(1), "s1")
    assert catalog.read_tablet(16, b"m") == TABLET
    cluster.serve(layout.first_root_record(1), "s1")
    cluster.serve(layout.first_metadata_record(1), "s0")
    assert catalog.read_tablet(16, b"m") == TABLET


def test_metadata_that_stays_away_is_reported_after_a_bounded_time(catalog, cluster):
    cluster.serve(layout.first_metadata_record(1), "")
    began = cluster.runtime.now
    with pytest.raises(Unavailable, match=r"could not be reached after .* METADATA tablet 2 is not assigned"):
        catalog.read_table(b"t")
    assert 10 <= cluster.runtime.now - began < 12


def test_a_cluster_that_was_never_started_is_unavailable(catalog, cluster):
    del cluster.session.files[layout.ROOT_PATH]
    with pytest.raises(Unavailable, match="never started"):
        catalog.tables()
    with pytest.raises(FileNotFound):
        cluster.session.read(layout.ROOT_PATH)


GONE = GoneTablet(16, 50, RowRange(b"", b"m"), 8, 5)
MARKED = dataclasses.replace(TABLET, generation=7, merges_into=MergesInto(b"", 99, 3))


def test_what_is_gone_is_no_tablet_and_only_a_later_one_takes_its_row(catalog):
    catalog.put_tablet_if_absent(MARKED)
    assert catalog.read_tablet(16, b"m") == MARKED
    with pytest.raises(Conflict):
        catalog.retire_tablet(TABLET, GONE)
    catalog.retire_tablet(MARKED, GONE)
    assert catalog.read_tablet(16, b"m") is None
    assert catalog.tablet_rows(16) == []
    gone = []
    assert [record.table_id for record in catalog.all_tablet_rows(gone)] == [0, 0]
    assert gone == [GONE]
    assert not catalog.put_tablet_if_absent(dataclasses.replace(TABLET, generation=7)), "a split repair of the past"
    assert gone == [GONE]
    later = dataclasses.replace(TABLET, tablet_id=101, generation=8)
    assert catalog.put_tablet_if_absent(later)
    assert catalog.read_tablet(16, b"m") == later
    catalog.forget_gone(GONE)
    assert catalog.read_tablet(16, b"m") == later


def test_what_is_gone_can_be_forgotten(catalog):
    catalog.put_tablet_if_absent(MARKED)
    catalog.retire_tablet(MARKED, GONE)
    catalog.forget_gone(dataclasses.replace(GONE, generation=9))
    assert not catalog.put_tablet_if_absent(TABLET)
    catalog.forget_gone(GONE)
    assert catalog.put_tablet_if_absent(TABLET)


@pytest.mark.parametrize(
    "family",
    [
        FamilySchema(b"f", max_versions=10**22),
        FamilySchema(b"f", max_versions=-1),
        FamilySchema(b"f", ttl_seconds=1.5),
        FamilySchema(b"f", locality_group="\ud800"),
        FamilySchema(b"f", in_memory="false"),
        FamilySchema(b"f", attributes=(("A", b"bytes"),)),
        FamilySchema(memoryview(array("d", [1.0]))),
    ],
)
def test_a_table_record_that_could_not_be_read_back_is_not_written(catalog, family):
    record = dataclasses.replace(TABLE, schema=TableSchema(b"t", {b"f": family}))
    with pytest.raises(InvalidRequest):
        catalog.create_table(record)
    catalog.create_table(TABLE)
    with pytest.raises(InvalidRequest):
        catalog.replace_table(TABLE, record)
    assert catalog.read_table(b"t") == TABLE


@pytest.mark.parametrize(
    "change",
    [
        {"range": RowRange(b"", memoryview(array("d", [1.0])))},
        {"range": RowRange("a", b"m")},
        {"generation": 2**70},
        {"created_millis": -1},
        {"owner": b"bytes"},
    ],
)
def test_a_tablet_record_that_could_not_be_read_back_is_not_written(catalog, change):
    with pytest.raises(InvalidRequest):
        catalog.put_tablet_if_absent(dataclasses.replace(TABLET, **change))
    assert catalog.tablet_rows(16) == []


def test_properties_that_could_not_be_read_back_are_not_written(catalog):
    for properties in ({"a": 5}, {"\ud800": "a"}, {b"a": "b"}):
        with pytest.raises(InvalidRequest):
            catalog.create_namespace(b"n", properties)
    catalog.create_namespace(b"n", {"a": "b"})
    assert catalog.namespace_properties(b"n") == {"a": "b"}
