"""Jumps of the wall clock: refused while a server runs, survived when a start believed one, and repaired."""

from dataclasses import replace
from itertools import pairwise

import pytest

from hbtable.errors import InvalidConfiguration
from hbtable.metrics.registry import Registry
from hbtable.model.read import ReadSpec
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.tablet.compactions.set_back import LATEST_MILLIS
from hbtable.tablet.options import TabletOptions
from hbtable.tablet.tablet import Tablet
from hbtable.tablet.wall_clock import SteadyWallClock
from hbtable.testing.simulated.runtime import SimulatedRuntime
from tests.harness.tablet_bench import Bench, delete, put, values

YEAR = 365 * 86400 * 1000
ALL = ReadSpec(max_versions=1000)


@pytest.fixture
def bench() -> Bench:
    families = {b"f": FamilySchema(b"f", max_versions=1000), b"g": FamilySchema(b"g", max_versions=1000)}
    return Bench(schema=TableSchema(b"t", families))


def times(tablet: Tablet, row: bytes) -> list[int]:
    return [time for _, cells in tablet.read_rows([row], ALL) for _, time, _ in cells]


@pytest.mark.parametrize("jump", [YEAR, -YEAR, 301_000, -301_000])
def test_a_jump_is_refused_until_the_clock_is_right_again(jump: int) -> None:
    runtime = SimulatedRuntime(1)
    wall = SteadyWallClock(runtime, 300.0, Registry())

    def main() -> None:
        began = wall.millis()
        runtime.sleep(1)
        runtime.wall_offset_millis = jump
        for second in range(1, 5):
            assert wall.millis() == began + 1000 * second
            assert wall.jumped_millis == jump
            runtime.sleep(1)
        assert ("ahead" if jump > 0 else "behind") in wall.refused_jump()
        assert wall.jumps.value == 1
        runtime.wall_offset_millis = -2000
        assert wall.millis() == began + 3000
        assert wall.refused_jump() == ""

    runtime.run(main)


def test_what_time_servers_correct_is_followed() -> None:
    runtime = SimulatedRuntime(1)
    wall = SteadyWallClock(runtime, 300.0, Registry())

    def main() -> None:
        for _ in range(50):
            runtime.sleep(60)
            runtime.wall_offset_millis += runtime.random.choice((-250_000, 250_000, -100, 100))
            assert wall.millis() == runtime.wall_millis()
            assert not wall.refused_jump()

    runtime.run(main)


def test_a_year_ahead_neither_times_cells_nor_lets_them_expire(bench: Bench) -> None:
    families = {b"f": FamilySchema(b"f", ttl_seconds=86400)}
    bench.schema = TableSchema(b"t", families)

    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"before", b"f:a", b"1")])
        bench.runtime.wall_offset_millis = YEAR
        tablet.mutate([put(b"during", b"f:a", b"2")])
        assert values(tablet, b"before") == {b"f:a": b"1"}
        tablet.compact(True)
        assert values(tablet, b"before") == {b"f:a": b"1"}
        bench.runtime.wall_offset_millis = 0
        tablet.mutate([put(b"during", b"f:a", b"3")])
        assert values(tablet, b"during") == {b"f:a": b"3"}
        assert max(times(tablet, b"during")) <= bench.runtime.wall_millis()

    bench.run(main)


def test_a_year_back_does_not_bring_expired_cells_back(bench: Bench) -> None:
    bench.schema = TableSchema(b"t", {b"f": FamilySchema(b"f", ttl_seconds=10)})

    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"r", b"f:a", b"1")])
        bench.runtime.sleep(20)
        assert values(tablet, b"r") == {}
        bench.runtime.wall_offset_millis = -YEAR
        assert values(tablet, b"r") == {}

    bench.run(main)


def test_after_a_start_with_a_wrong_clock_later_versions_stay_apart(bench: Bench) -> None:
    bench.runtime.wall_offset_millis = YEAR
    bench.run(lambda: bench.open().mutate([put(b"r", b"f:a", b"wrong")]))
    bench.runtime.wall_offset_millis = 0

    def main() -> None:
        bench.crash()
        tablet = bench.open()
        assert tablet.clock_ahead_millis > YEAR - 1000
        for number in range(10):
            bench.runtime.sleep(0.01)
            tablet.mutate([put(b"r", b"f:a", b"%d" % number)])
        found = times(tablet, b"r")
        assert len(set(found)) == 11
        assert found == sorted(found, reverse=True)
        assert values(tablet, b"r") == {b"f:a": b"9"}

    bench.run(main)


@pytest.mark.parametrize("flushed", [True, False])
def test_a_tablet_is_set_back(bench: Bench, flushed: bool) -> None:
    def before() -> int:
        tablet = bench.open()
        explicit = put(b"r", b"g:a", b"explicit", bench.runtime.wall_millis() + 2 * YEAR)
        tablet.mutate([put(b"r", b"f:a", b"true"), explicit])
        tablet.mutate([put(b"gone", b"f:a", b"1")])
        tablet.flush()
        return bench.runtime.wall_millis()

    def wrong() -> None:
        bench.crash()
        tablet = bench.open()
        for number in range(5):
            bench.runtime.sleep(10)
            tablet.mutate([put(b"r", b"f:a", b"%d" % number), delete(b"gone", b"f:a"), put(b"new", b"f:a", b"1")])
        tablet.mutate([delete(b"new", b"f:a"), put(b"new", b"f:a", b"2")])
        if flushed:
            tablet.flush()

    def right() -> None:
        bench.crash()
        bench.options = replace(TabletOptions(), set_back_clocks=True)
        tablet = bench.open()
        now = bench.runtime.wall_millis()
        assert tablet.clock_ahead_millis <= LATEST_MILLIS + 1
        spread = [time for column, time, _ in tablet.read_rows([b"r"], ALL)[0][1] if column == b"f:a"]
        assert len(spread) == 6
        assert spread[0] <= now
        assert [one - other for one, other in pairwise(spread[:-1])] == [10_000] * 4
        assert spread[-1] <= truth < spread[-2]
        assert values(tablet, b"r") == {b"f:a": b"4", b"g:a": b"explicit"}
        assert values(tablet, b"gone") == {}
        assert values(tablet, b"new") == {b"f:a": b"2"}
        tablet.mutate([delete(b"r", b"f:a"), put(b"new", b"f:a", b"3")])
        assert values(tablet, b"r") == {b"g:a": b"explicit"}

    def later() -> None:
        bench.crash()
        bench.options = TabletOptions()
        tablet = bench.open()
        assert tablet.clock_ahead_millis <= LATEST_MILLIS + 1
        assert values(tablet, b"new") == {b"f:a": b"3"}
        assert values(tablet, b"r") == {b"g:a": b"explicit"}

    truth = bench.run(before)
    bench.runtime.wall_offset_millis = YEAR
    bench.run(wrong)
    bench.runtime.wall_offset_millis = 0
    bench.run(right)
    bench.run(later)


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), 86401])
def test_limits_of_the_skew(seconds: float) -> None:
    with pytest.raises(InvalidConfiguration, match="max_clock_skew_seconds"):
        TabletOptions(max_clock_skew_seconds=seconds)
