"""A balancer that was asked to even servers out: it stops where nothing moves."""

from typing import Any

import pytest

from hbtable.master.tablets.balancer import Balancer
from hbtable.model.table import TableRecord
from hbtable.testing.memory_lockservice import MemoryLockService
from hbtable.testing.simulated.runtime import SimulatedRuntime
from tests.unit.master.tablets.test_relocations import REPORTS, TABLE, TABLETS


class Busy:
    """METADATA, and relocations that may move nothing: other operations hold every table. `at_first`: moves that the
    first round carries out."""

    def __init__(self, at_first: int) -> None:
        self.plans = 0
        self.moved = 0
        self._at_first = at_first

    def tables(self) -> list[TableRecord]:
        self.plans += 1
        return [TABLE]

    def all_tablet_rows(self) -> list[Any]:
        return TABLETS

    def carry_out(self, *_: Any) -> list[Any]:
        self.moved += self._at_first if self.plans == 1 else 0
        return []


@pytest.mark.parametrize("at_first", [0, 5])
def test_it_makes_no_hundred_plans_while_every_table_is_busy(at_first: int) -> None:
    """Each plan reads all of METADATA."""
    runtime = SimulatedRuntime(1)

    def main() -> None:
        world: Any = Busy(at_first)
        session = MemoryLockService(runtime).open_session("master")
        balancer = Balancer(runtime.clock_seconds, session, world, lambda: REPORTS, world)
        assert not balancer.run(), "they are not even"
        assert world.plans <= 3
        assert "other operations go on" in balancer.rests

    runtime.run(main)
