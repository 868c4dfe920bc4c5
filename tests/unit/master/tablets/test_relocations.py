"""Plans that fail follow each other at growing distances, whatever they fail of."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from hbtable.errors import Unavailable
from hbtable.master.servers.server_reports import ServerReports
from hbtable.master.tablets.balancing import plan_moves
from hbtable.master.tablets.pace import MovePace
from hbtable.master.tablets.relocations import MOST_AT_ONCE, Relocations
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.model.status import EVERY_TABLE
from hbtable.model.table import TableRecord, TableState
from hbtable.testing.simulated.runtime import SimulatedRuntime
from tests.unit.master.tablets.test_balancing import loads, tablet

TABLETS = [tablet(number, "a") for number in range(80)]
REPORTS = ServerReports(loads(TABLETS, "ab"), frozenset())
MOVES = plan_moves(TABLETS, REPORTS.loads, frozenset(), 1000)
TABLE = TableRecord(16, TableState.ENABLED, TableSchema(b"t", {b"f": FamilySchema(b"f")}))


class World:
    """The parts of a master around its relocations. `fails`: the part that does not answer; "": all do."""

    def __init__(self, runtime: SimulatedRuntime) -> None:
        self.runtime = runtime
        self.fails = ""
        self.living = REPORTS
        self.ended = 0
        self.at_once = self.most_at_once = 0
        self.slow_loads = self
        self.crowded = False
        self.relocations = Relocations(
            runtime,
            self,
            self,
            self.reports,
            self.operation,
            lambda name: False,
            lambda: self.meet("master"),
            self.end,  # type: ignore[arg-type]
            MovePace(runtime, MOST_AT_ONCE),
        )

    def meet(self, part: str) -> None:
        if part == self.fails:
            raise Unavailable(f"the {part} does not answer")

    def reports(self, table_id: int = EVERY_TABLE) -> ServerReports:
        self.meet("servers")
        return self.living

    @contextmanager
    def operation(self, name: bytes) -> Iterator[None]:
        yield

    def end(self) -> None:
        self.ended += 1

    def is_left(self, tablet_id: int, living: Any) -> bool:
        return False

    def are_many(self, server: str) -> bool:
        return self.crowded

    def read_table(self, name: bytes) -> TableRecord:
        self.meet("METADATA")
        return TABLE

    def move(self, record: Any, target: str, why: str, schema: Any, living: Any, back: str) -> None:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        self.runtime.sleep(0.01)
        self.at_once -= 1
        self.meet("owner")
        self.meet("next owner")

    def begin(self) -> tuple[str, bool]:
        assert MOVES
        return self.relocations.begin(MOVES, {16: b"t"}, REPORTS, lambda reports: True)

    def wait(self) -> None:
        while self.relocations.under_way():
            self.runtime.sleep(0.001)


@pytest.mark.parametrize("part", ["master", "servers", "METADATA", "owner", "next owner"])
def test_a_plan_that_fails_is_not_made_again_at_once(part: str) -> None:
    runtime = SimulatedRuntime(1)

    def main() -> None:
        world = World(runtime)
        for pause in (1, 2, 4):
            world.fails = part
            assert "goes from a to b" in world.begin()[0]
            assert world.begin() == ("", False), "one is under way"
            world.wait()
            message, waits = world.begin()
            assert waits
            assert message == f"waiting: a tablet could not be moved: the {part} does not answer"
            runtime.sleep(pause - 0.1)
            assert world.begin()[1]
            runtime.sleep(0.11)
        assert world.ended == 3
        assert not world.relocations.moved
        world.fails = ""
        world.begin()
        world.wait()
        assert world.relocations.moved == 40
        assert 4 < world.most_at_once <= MOST_AT_ONCE, "they are quick"
        assert not world.begin()[1]
        world.relocations.stop()

    runtime.run(main)


def test_a_plan_ends_when_a_server_came() -> None:
    runtime = SimulatedRuntime(1)

    def main() -> None:
        world = World(runtime)
        world.living = ServerReports(loads(TABLETS, "abc"), frozenset())
        world.begin()
        world.wait()
        assert not world.relocations.moved
        assert not world.ended, "the same plan would be made again without a pause"
        assert not world.begin()[1], "nothing failed"
        world.relocations.stop()

    runtime.run(main)


def test_no_plan_begins_while_many_calls_hang() -> None:
    runtime = SimulatedRuntime(1)

    def main() -> None:
        world = World(runtime)
        world.crowded = True
        message, waits = world.begin()
        assert waits
        assert message == "waiting: a has not answered many calls to load or to give up a tablet"
        world.crowded = False
        assert not world.begin()[1]
        world.wait()
        assert world.relocations.moved == 40
        world.relocations.stop()

    runtime.run(main)
