"""Which instance of a tablet is taken out, when the same tablet leaves a server and comes back."""

from dataclasses import replace

import pytest

from hbtable.errors import Conflict, OutOfSpace, StaleLocation, Unavailable
from hbtable.model.ranges import RowRange
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.model.table import TableRecord, TableState
from hbtable.model.tablet import METADATA_LEVEL, METADATA_TABLE_ID, USER_LEVEL, TabletRecord
from hbtable.tablet.recovery import LeftUnflushed
from hbtable.tabletserver.online_tablets import OnlineTablets
from hbtable.testing.simulated.runtime import SimulatedRuntime

SCHEMA = TableSchema(b"t", {b"f": FamilySchema(b"f")})
FIRST = TabletRecord(16, 22, RowRange(), 0, "s", 3)
LATER = replace(FIRST, generation=5)


class Row:
    """METADATA with one row."""

    def __init__(self, record):
        self.record = record
        self.table = TableRecord(16, TableState.ENABLED, SCHEMA)

    def read_tablet(self, table_id, end_row):
        return self.record

    def read_table(self, name):
        return self.table

    def tablet_rows(self, table_id):
        return [] if self.record is None else [self.record]

    def replace_tablet(self, expected, record):
        if self.record != expected:
            raise Conflict("another one")
        self.record = record


class Loaded:
    def __init__(self, record, schema=SCHEMA):
        self.record = record
        self.schema = schema
        self.closed = self.discarded = False

    def close(self):
        self.closed = True

    def discard(self):
        self.closed = self.discarded = True

    def freeze_for_unload(self):
        pass

    def change_record(self, edit):
        raise OutOfSpace("METADATA's log has no room")


@pytest.fixture
def run():
    """Calls with a runtime, a METADATA row and online tablets over both."""

    def call(body):
        runtime, row = SimulatedRuntime(1), Row(FIRST)
        online_tablets = OnlineTablets(runtime, "s", row, Loaded)
        runtime.run(body, runtime, row, online_tablets)

    return call


def test_an_old_request_to_load_does_not_take_out_the_tablet_of_a_later_generation(run):
    def body(runtime, row, online_tablets):
        row.record = LATER
        online_tablets.load(LATER, SCHEMA)
        tablet = online_tablets.served(22)
        with pytest.raises(StaleLocation):
            online_tablets.load(FIRST, SCHEMA)
        runtime.sleep(1)
        assert online_tablets.served(22) is tablet
        assert not tablet.closed

    run(body)


def test_a_tablet_that_was_given_to_this_server_anew_is_loaded_anew(run):
    def body(runtime, row, online_tablets):
        online_tablets.load(FIRST, SCHEMA)
        old = online_tablets.served(22)
        row.record = LATER
        online_tablets.load(LATER, SCHEMA)
        runtime.sleep(1)
        assert online_tablets.served(22).record == LATER
        assert old.closed

    run(body)


def test_whoever_lost_an_earlier_stay_of_a_tablet_leaves_the_later_one_alone(run):
    def body(runtime, row, online_tablets):
        row.record = LATER
        online_tablets.load(LATER, SCHEMA)
        online_tablets.abandon(FIRST)
        assert online_tablets.served(22).record == LATER
        online_tablets.abandon(LATER)
        with pytest.raises(StaleLocation):
            online_tablets.served(22)

    run(body)


def test_after_the_end_nobody_is_told_that_a_tablet_has_been_unloaded(run):
    """A master would take its record's log out, which holds what was never flushed."""

    def body(runtime, row, online_tablets):
        online_tablets.load(FIRST, SCHEMA)
        online_tablets.end()
        with pytest.raises(StaleLocation):
            online_tablets.unload(22)
        with pytest.raises(StaleLocation):
            online_tablets.load(FIRST, SCHEMA)
        assert not online_tablets.tablets

    run(body)


def test_a_tablet_that_is_loaded_while_the_server_ends_is_not_served():
    runtime, row = SimulatedRuntime(1), Row(FIRST)
    loaded = []

    def open_tablet(record, schema):
        online_tablets.end()
        loaded.append(Loaded(record))
        return loaded[0]

    online_tablets = OnlineTablets(runtime, "s", row, open_tablet)

    def body():
        with pytest.raises(StaleLocation):
            online_tablets.load(FIRST, SCHEMA)
        assert loaded[0].closed
        assert not online_tablets.tablets

    runtime.run(body)


def test_a_load_after_it_was_said_that_the_tablet_is_not_here_is_seen_in_its_row(run):
    """Whoever was told so takes the tablet back by a compare-and-set, which has to fail then."""

    def body(runtime, row, online_tablets):
        online_tablets.unload(22)
        online_tablets.load(FIRST, SCHEMA)
        assert row.record == online_tablets.served(22).record == replace(FIRST, generation=4)

    run(body)


def test_a_tablet_that_is_taken_back_during_a_late_load_is_not_served(run):
    def body(runtime, row, online_tablets):
        online_tablets.unload(22)

        def taken_back(expected, record):
            row.record = replace(FIRST, owner="", generation=4)
            raise Conflict("another one")

        row.replace_tablet = taken_back
        with pytest.raises(Conflict):
            online_tablets.load(FIRST, SCHEMA)
        assert not online_tablets.tablets

    run(body)


def test_a_load_of_which_nobody_heard_the_contrary_changes_nothing(run):
    def body(runtime, row, online_tablets):
        online_tablets.load(FIRST, SCHEMA)
        assert row.record == online_tablets.served(22).record == FIRST

    run(body)


def test_nobody_is_told_that_a_tablet_is_not_here_while_only_this_servers_log_has_it(caplog):
    runtime = SimulatedRuntime(1)
    ended = []
    online_tablets = OnlineTablets(
        runtime,
        "s",
        Row(FIRST),
        Loaded,
        in_own_log=lambda _: 77,
        on_unflushed=lambda: ended.append(1),
    )

    def body():
        with pytest.raises(LeftUnflushed, match=r"tablet 22 is not served by s, whose log has .* up to sequence 77"):
            online_tablets.unload(22)
        assert "this server has to end" in caplog.text
        assert ended

    runtime.run(body)


@pytest.mark.parametrize("shares_cluster", [True, False])
def test_a_giving_up_for_which_there_was_no_room_finds_another_record_when_it_comes_back(shares_cluster):
    runtime, row = SimulatedRuntime(1), Row(FIRST)
    online_tablets = OnlineTablets(runtime, "s", row, Loaded, shares_cluster=shares_cluster)

    def body():
        online_tablets.load(FIRST, SCHEMA)
        with pytest.raises(OutOfSpace):
            online_tablets.unload(22)
        online_tablets.load(FIRST, SCHEMA)
        assert row.record == online_tablets.served(22).record
        assert (row.record != FIRST) == shares_cluster

    runtime.run(body)


class OfNoRow(Loaded):
    """Its flush finds that METADATA has another record, or none: its server stops serving it."""

    def freeze_for_unload(self):
        self.online_tablets.abandon(self.record)
        raise StaleLocation("tablet 22 belongs to another owner now")


class Dropped:
    """A tablet whose row is gone, or is another owner's; this server's log has something of it. METADATA does not
    answer for the first `silent` questions."""

    def __init__(self, row=None, silent=0):
        self.runtime, self.row, self.silent, self.ended, self.held = SimulatedRuntime(1), Row(FIRST), silent, [], 77
        self.online_tablets = OnlineTablets(
            self.runtime,
            "s",
            self.row,
            OfNoRow,
            in_own_log=lambda _: self.held,
            on_unflushed=lambda: self.ended.append(1),
        )
        self._next = row

    def play(self, act):
        def body():
            self.online_tablets.load(FIRST, SCHEMA)
            self.tablet = tablet = self.online_tablets.served(22)
            tablet.online_tablets, tablet.discard, tablet.discarded = self.online_tablets, self.discard, False
            self.row.record, self.row.tablet_rows = self._next, self.tablet_rows
            act()

        self.runtime.run(body)

    def discard(self):
        self.tablet.closed, self.tablet.discarded, self.held = True, True, 0

    def tablet_rows(self, table_id):
        self.silent -= 1
        if self.silent >= 0:
            raise Unavailable("METADATA moves")
        return [] if self.row.record is None else [self.row.record]


def test_a_tablet_whose_table_is_gone_is_unloaded_and_its_log_forgotten():
    """The log kept its records for the server's life, and a server that was asked once more had to end for that."""
    scene = Dropped()

    def act():
        scene.online_tablets.unload(22)
        scene.online_tablets.unload(22)
        assert not scene.online_tablets.tablets
        assert (scene.held, scene.ended) == (0, [])

    scene.play(act)


def test_a_tablet_that_another_owner_has_keeps_its_records_in_the_log():
    scene = Dropped(replace(LATER, owner="t"))

    def act():
        with pytest.raises(StaleLocation):
            scene.online_tablets.unload(22)
        scene.runtime.sleep(1)
        assert not scene.tablet.discarded
        with pytest.raises(LeftUnflushed):
            scene.online_tablets.unload(22)

    scene.play(act)


@pytest.mark.parametrize("silent", [0, 1])
def test_a_tablet_that_finds_its_table_gone_by_itself_is_forgotten(silent):
    scene = Dropped(silent=silent)

    def act():
        scene.online_tablets.abandon(FIRST)
        scene.runtime.sleep(1)
        assert scene.tablet.discarded is not bool(silent)
        scene.online_tablets.unload(22)
        assert scene.tablet.discarded
        assert not scene.ended

    scene.play(act)


def test_a_server_that_cannot_ask_about_a_tablet_that_it_abandoned_goes_on():
    scene = Dropped(silent=2)

    def act():
        scene.online_tablets.abandon(FIRST)
        for _ in range(2):
            with pytest.raises(Unavailable):
                scene.online_tablets.unload(22)
        scene.online_tablets.unload(22)
        assert (scene.held, scene.ended) == (0, [])

    scene.play(act)


# ------------------------------------------------------------ schemas


def test_a_load_that_comes_late_takes_the_schema_that_metadata_has_by_now(run):
    def body(runtime, row, online_tablets):
        row.table = replace(row.table, schema=replace(SCHEMA, version=7))
        online_tablets.load(FIRST, SCHEMA)
        assert online_tablets.served(22).schema.version == 7

    run(body)


def test_a_schema_of_another_table_of_the_name_is_not_taken(run):
    def body(runtime, row, online_tablets):
        row.table = replace(row.table, table_id=17, schema=replace(SCHEMA, version=7))
        online_tablets.load(FIRST, SCHEMA)
        assert online_tablets.served(22).schema is SCHEMA

    run(body)


def test_a_schema_that_is_told_during_a_load_is_in_force_when_it_ends():
    runtime = SimulatedRuntime(1)
    told = [replace(SCHEMA, version=3), replace(SCHEMA, version=2)]

    def open_tablet(record, schema):
        for newer in told:
            online_tablets.update_schema(16, newer)
        online_tablets.update_schema(17, replace(SCHEMA, version=9))
        return Loaded(record, schema)

    row = Row(FIRST)
    online_tablets = OnlineTablets(runtime, "s", row, open_tablet)

    def body():
        online_tablets.load(FIRST, SCHEMA)
        assert online_tablets.served(22).schema is told[0]
        told.clear()
        row.record = replace(FIRST, tablet_id=23)
        online_tablets.load(row.record, SCHEMA)
        assert online_tablets.served(23).schema is SCHEMA, "what was told in an earlier load is not remembered"

    runtime.run(body)


def test_levels_that_were_given_up_take_nothing_any_more(run):
    def body(runtime, row, online_tablets):
        online_tablets.take_none_below(METADATA_LEVEL)
        online_tablets.take_none_below(USER_LEVEL)  # nothing comes back by that
        with pytest.raises(Unavailable, match=r"tablet 22 is not loaded: s stops, and is giving up METADATA's tablets"):
            online_tablets.load(FIRST, SCHEMA)
        assert online_tablets.tablets == {}
        row.record = replace(FIRST, table_id=METADATA_TABLE_ID, tablet_id=2)
        online_tablets.load(row.record, SCHEMA)
        assert set(online_tablets.tablets) == {2}

    run(body)
