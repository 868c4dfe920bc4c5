"""METADATA is read page by page: a tablet that is split, or merged with its neighbour, between two pages leaves rows
that do not fit together, and the table is whole all the same."""

from dataclasses import replace

import pytest

from hbtable.errors import Corruption, DataDamaged, TableNotDisabled
from hbtable.metadata import layout
from hbtable.metadata.tiling import verify_tiling
from hbtable.model.table import TableState
from hbtable.model.tablet import METADATA_TABLE_ID
from tests.harness.counted_cluster import CountedCluster
from tests.harness.counted_transport import CountedTransport
from tests.harness.delegating_fake import DelegatingFake

SPLITS = [b"row000100", b"row000200"]


def nothing():
    """No event, or it has come."""


class Pages(DelegatingFake):
    """A tablet server as masters see it. Something happens right before the second page of METADATA is read."""

    def __init__(self, inner, scene):
        super().__init__(inner)
        self._scene = scene

    def scan(self, tablet_id, request):
        self._scene.before_page(request.range.start)
        return self.inner.scan(tablet_id, request)


class PagesTransport(CountedTransport):
    def __init__(self, inner, asked, scene):
        super().__init__(inner, asked)
        self._scene = scene

    def tablet_service(self, incarnation):
        return Pages(super().tablet_service(incarnation), self._scene)


class Scene:
    """A table `u`, whose rows are in two of METADATA's tablets: those of the tablets that end up to `at` are in the
    first one."""

    def __init__(self, machine, at):
        self.machine, self.cluster, self._at = machine, CountedCluster(9, machine.options), at
        self.cluster.master_transport = lambda inner, asked: PagesTransport(inner, asked, self)
        self.event, self._boundary = nothing, b""

    def play(self, act):
        def body():
            self.cluster.start(3)
            self.admin, self.catalog = self.cluster.client.admin, self.cluster.client.catalog
            self.admin.create_table(self.machine.schema(b"u"), SPLITS)
            self.machine.write(self.cluster, range(300), name=b"u")
            self.record = self.catalog.read_table(b"u")
            self._boundary = layout.tablet_key(self.record.table_id, self._at)
            (of_metadata,) = (row for row in self.catalog.tablet_rows(METADATA_TABLE_ID) if row.tablet_id != 1)
            _, role = self.cluster.servers[of_metadata.owner]
            assert role.admin.split(of_metadata.tablet_id, self._boundary)
            self.admin.flush(b"u")
            act()

        self.cluster.runtime.run(body)

    def before_page(self, start):
        if start == self._boundary:
            event, self.event = self.event, nothing
            event()

    def seen(self):
        """The rows as the master reads them."""
        return self.cluster.master._catalog.tablet_rows(self.record.table_id)


def a_split(scene):
    assert scene.admin.split(b"u", b"row000120")


def a_merge(scene):
    scene.admin.merge_tablets(b"u", [one.tablet_id for one in scene.admin.tablets(b"u")[1:]])


CASES = [(a_split, b"row000150"), (a_merge, b"row000250")]


def when(machine, event, at, happens):
    """`happens` is called with a scene in which the event comes between two pages of what is read next."""
    scene = Scene(machine, at)

    def act():
        scene.event = lambda: event(scene)
        happens(scene)
        assert scene.event is nothing, "it did not come"

    scene.play(act)


@pytest.mark.parametrize(("event", "at"), CASES)
def test_rows_that_are_read_meanwhile_do_not_fit_together(machine, event, at):
    def happens(scene):
        with pytest.raises(Corruption, match="cover"):
            verify_tiling(scene.seen())
        verify_tiling(scene.seen())

    when(machine, event, at, happens)


@pytest.mark.parametrize(("event", "at"), CASES)
def test_a_table_that_is_whole_may_not_be_dropped_while_it_waits_to_be_enabled(machine, event, at):
    def happens(scene):
        with pytest.raises(TableNotDisabled):
            scene.cluster.master.tables._removable.check(replace(scene.record, state=TableState.ENABLING))

    when(machine, event, at, happens)


@pytest.mark.parametrize(("event", "at"), CASES)
def test_a_creation_that_was_interrupted_at_its_end_is_finished(machine, event, at):
    def happens(scene):
        creation, finished = scene.cluster.master.tables._creation, []
        creation._enable, creation._delete = finished.append, lambda record: pytest.fail("it was taken back")
        creation.resume(scene.record)
        assert finished == [scene.record]

    when(machine, event, at, happens)


def test_a_creation_of_which_metadata_cannot_tell_the_rows_is_left_as_it_is(machine):
    scene = Scene(machine, b"row000150")

    class Damaged(DelegatingFake):
        def tablet_rows(self, table_id):
            raise DataDamaged("METADATA", 0, "a block of it")

    def act():
        creation = scene.cluster.master.tables._creation
        creation._catalog = Damaged(creation._catalog)
        creation._delete = lambda record: pytest.fail("it was taken back")
        with pytest.raises(DataDamaged):
            creation.resume(scene.record)

    scene.play(act)
