"""Tablets that left their servers: no row that cannot be read, or is wrong, keeps the others waiting."""

from collections.abc import Callable

import pytest

from hbtable.errors import Corruption, LockLost, Unavailable
from hbtable.master.tablets.left_tablets import LeftTablets
from hbtable.master.tablets.own_unloads import OwnUnloads
from hbtable.model.ranges import RowRange
from hbtable.model.status import LeftTablet
from hbtable.model.tablet import METADATA_TABLE_ID, ROOT_TABLET_ID, TabletRecord
from hbtable.testing.simulated.runtime import SimulatedRuntime

TABLE_ID = 16


class Scene:
    """METADATA, the servers' reports and the master, as far as LeftTablets knows them."""

    def __init__(self, runtime: SimulatedRuntime) -> None:
        self.runtime = runtime
        self.owners: dict[int, str] = {}
        """By tablet, as METADATA has it."""
        self.failing: dict[int, Exception] = {}
        """By tablet: its row cannot be read."""
        self.needs_metadata = False
        """Rows of users can be read once METADATA's own tablets are placed."""
        self.served: set[int] = set()
        self.read: list[int] = []
        self.placed: list[int] = []
        self.looks_at_everything = 0
        self.own_unloads = OwnUnloads(runtime.clock_seconds)
        self.left_by: set[int] = set()
        """Nobody waits for the answer about these any more."""
        self.on_left = None
        self.slow_loads = self
        self.left = LeftTablets(runtime, self, self, self, lambda: None, self._at_everything)  # type: ignore[arg-type]

    def _at_everything(self) -> None:
        self.looks_at_everything += 1

    def read_tablet(self, table_id: int, stop_row: bytes) -> TabletRecord:
        tablet_id = int(stop_row)
        self.read.append(tablet_id)
        if tablet_id in self.failing:
            raise self.failing[tablet_id]
        if self.needs_metadata and table_id != METADATA_TABLE_ID and not self.placed:
            raise Unavailable("METADATA is not served")
        return TabletRecord(table_id, tablet_id, RowRange(b"", stop_row), 0, owner=self.owners.get(tablet_id, ""))

    def has(self, tablet_id: int) -> bool:
        return tablet_id in self.served

    def is_left(self, tablet_id: int, living: object) -> bool:
        return tablet_id in self.left_by

    def follow(self, work: Callable[[], None]) -> None:
        work()

    def given_up_late(self, record: TabletRecord, table: bytes) -> None:
        self.placed.append(record.tablet_id)

    def saw(self, *tablet_ids: int, table_id: int = TABLE_ID) -> None:
        self.left.saw("a", [LeftTablet(table_id, one, b"%d" % one, b"t") for one in tablet_ids])


@pytest.fixture
def scene_of():
    def run(body) -> None:
        runtime = SimulatedRuntime(1)
        runtime.run(lambda: body(Scene(runtime)))

    return run


@pytest.mark.parametrize("error", [Corruption("METADATA row", 0, "it is damaged"), Unavailable("its server is away")])
def test_a_row_that_cannot_be_read_stops_no_other(scene_of, error):
    """The look ended there, and the next one began there."""

    def body(scene):
        scene.failing[7] = error
        scene.saw(7, 8, 9)
        scene.left.look()
        assert scene.placed == [8, 9]
        assert not scene.looks_at_everything, "it is looked at again first"
        for _ in range(3):
            scene.left.look()
        assert (scene.read.count(7), scene.looks_at_everything) == (2, 1)

    scene_of(body)


def test_many_that_cannot_be_read_stop_the_next_look_for_a_moment_only(scene_of):
    """Each may take a while."""

    def body(scene):
        scene.failing = {one: Unavailable("away") for one in range(7, 27)}
        scene.saw(*range(7, 28))
        scene.left.look()
        assert len(scene.read) < 10
        for _ in range(6):
            scene.left.look()
        assert scene.placed == [27]

    scene_of(body)


def test_the_tablets_of_metadata_come_first_and_the_root_before_them(scene_of):
    """Where they left together with others, the rows of these could not be read, and METADATA's stood behind."""

    def body(scene):
        scene.needs_metadata = True
        scene.saw(7, 8)
        scene.saw(3, ROOT_TABLET_ID, table_id=METADATA_TABLE_ID)
        scene.left.look()
        assert scene.placed == [ROOT_TABLET_ID, 3, 7, 8]

    scene_of(body)


def test_a_lost_lock_ends_it(scene_of):
    def body(scene):
        scene.failing[7] = LockLost("there is another master")
        scene.saw(7)
        with pytest.raises(LockLost):
            scene.left.look()

    scene_of(body)


@pytest.mark.parametrize("owner", ["a", "b"])
def test_one_whose_owner_does_not_have_it_is_looked_at_twice_and_then_everything(scene_of, owner):
    """Its server failed to change the row: that took ten seconds. Or a master died that gave it to another server:
    whoever the row named was believed."""

    def body(scene):
        scene.owners[7] = owner
        scene.saw(7)
        scene.left.look()
        assert not scene.looks_at_everything
        scene.left.look()
        scene.left.look()
        assert (scene.read, scene.looks_at_everything) == ([7, 7], 1)

    scene_of(body)


def test_one_that_its_owner_has_meanwhile_is_left_alone(scene_of):
    def body(scene):
        scene.owners[7] = "b"
        scene.saw(7)
        scene.left.look()
        scene.served.add(7)
        for _ in range(3):
            scene.left.look()
        assert (scene.read, scene.looks_at_everything, scene.placed) == ([7], 0, [])

    scene_of(body)


def test_one_that_the_master_asked_for_is_placed_where_nobody_waits_for_the_lost_answer(scene_of):
    """It waited for ten minutes, for which the master takes the call to be under way."""

    def body(scene):
        with scene.own_unloads.of(7):
            scene.saw(7)
            for _ in range(3):
                scene.left.look()
            assert not scene.read, "whoever asked waits for the answer"
            scene.left_by.add(7)
            scene.left.look()
            assert not scene.read, "the answer may be on its way"
            scene.owners[7] = "a"
            for _ in range(3):
                scene.left.look()
            assert (scene.placed, scene.looks_at_everything) == ([], 0)
            scene.owners[7] = ""
            scene.left.look()
            scene.left.look()
            assert scene.placed == [7]

    scene_of(body)


def test_one_whose_late_answer_comes_is_not_looked_at(scene_of):
    """Whoever asked for it placed it."""

    def body(scene):
        scene.left_by.add(7)
        with scene.own_unloads.of(7):
            scene.saw(7)
            scene.left.look()
        scene.left.look()
        assert (scene.read, scene.placed) == ([], [])

    scene_of(body)
