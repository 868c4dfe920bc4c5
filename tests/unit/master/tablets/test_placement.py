"""Tablets are taken from servers only where the next one would be asked to load them."""

from typing import Any, cast

import pytest

from hbtable.errors import Unavailable
from hbtable.master.servers.server_reports import ServerReports
from hbtable.master.tablets.placement import Placement
from hbtable.master.tablets.server_load import ServerLoad
from hbtable.model.ranges import RowRange
from hbtable.model.schema import TableSchema
from hbtable.model.tablet import TabletRecord
from hbtable.testing.simulated.runtime import SimulatedRuntime

MANY = 16
SCHEMA = TableSchema(b"t", {})


class OneRow:
    """METADATA with one tablet, and the servers that it was taken from."""

    def __init__(self, record: TabletRecord) -> None:
        self.record = record
        self.asked: list[tuple[str, str]] = []
        self._server = ""

    def read_tablet(self, table_id: int, stop: bytes) -> TabletRecord:
        return self.record

    def replace_tablet(self, old: TabletRecord, new: TabletRecord) -> None:
        assert self.record == old
        self.record = new

    def tablet_admin(self, server: str) -> "OneRow":
        self._server = server
        return self

    def unload_tablet(self, epoch: int, tablet_id: int) -> None:
        self.asked.append(("unload", self._server))

    def load_tablet(self, epoch: int, record: TabletRecord, schema: TableSchema) -> None:
        self.asked.append(("load", self._server))


def tablet(number: int, owner: str) -> TabletRecord:
    return TabletRecord(7, number, RowRange(b"%d" % number, b"%d" % (number + 1)), 0, owner=owner)


class SlowRow(OneRow):
    """Each call takes a second."""

    def __init__(self, runtime: SimulatedRuntime, record: TabletRecord) -> None:
        super().__init__(record)
        self._runtime = runtime

    def unload_tablet(self, epoch: int, tablet_id: int) -> None:
        self._runtime.sleep(1)

    def load_tablet(self, epoch: int, record: TabletRecord, schema: TableSchema) -> None:
        self._runtime.sleep(1)


def placed(runtime: SimulatedRuntime, world: OneRow) -> Placement:
    anything = cast("Any", world)
    return Placement(runtime, anything, anything, anything, MANY)


def test_one_that_is_moved_counts_where_it_goes_until_it_is_there() -> None:
    """Also while its load, which took too long, is left to end by itself."""
    runtime, record = SimulatedRuntime(2), tablet(100, "gives")

    def body() -> None:
        placement = placed(runtime, SlowRow(runtime, record))
        empty = ServerLoad(frozenset())
        reports = ServerReports({"gives": empty._replace(tablet_ids=frozenset({100})), "takes": empty}, frozenset())

        def counted() -> list[int]:
            return [len(load.tablet_ids) for load in placement.coming.counted(reports).loads.values()]

        def move() -> None:
            placement.move(record, "takes", "why", SCHEMA, {"gives", "takes"}, back="", patience_seconds=1.5)

        assert counted() == [1, 0]
        moving = runtime.spawn(move)
        for _ in range(3):
            runtime.sleep(0.6)
            assert counted() == [1, 1]
        moving.join()
        assert counted() == [1, 0]

        def load() -> None:
            placement.slow_loads.run(tablet(100, "takes"), lambda: placement.load(tablet(100, "takes"), SCHEMA), 0.5)

        with pytest.raises(Unavailable):
            load()
        assert counted() == [1, 1]
        placement.slow_loads.finish()
        assert counted() == [1, 0]

    runtime.run(body)


def test_it_stays_where_it_is_while_the_next_one_has_not_answered_many_calls() -> None:
    """It was unloaded first, and served by nobody then."""
    runtime, record = SimulatedRuntime(1), tablet(100, "gives")

    def body() -> None:
        world = OneRow(record)
        placement, released = placed(runtime, world), runtime.event()
        for number in range(MANY):
            with pytest.raises(Unavailable):
                placement.slow_loads.run(tablet(number, "hangs"), released.wait, 0.1)
        with pytest.raises(Unavailable, match="hangs has not answered 16 calls"):
            placement.move(record, "hangs", "why", SCHEMA, {"gives", "hangs", "well"}, back="")
        assert (world.asked, world.record) == ([], record)
        placement.move(record, "well", "why", SCHEMA, {"gives", "hangs", "well"}, back="")
        assert world.asked == [("unload", "gives"), ("load", "well")]
        assert world.record.owner == "well"
        assert placement.metrics.moves.value == 1
        released.set()
        placement.slow_loads.finish()

    runtime.run(body)
