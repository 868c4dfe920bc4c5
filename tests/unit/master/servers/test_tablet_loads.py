"""The load that a tablet is, from counts that begin anew on each server."""

import pytest

from hbtable.master.servers.tablet_loads import TabletLoads
from hbtable.master.tablets.server_load import TabletLoad
from hbtable.model.status import ServedTablet


def told(reads: int, writes: int, size: int = 7) -> list[ServedTablet]:
    return [ServedTablet(16, 100, 1, size, reads, writes)]


def test_requests_in_a_second_are_between_two_counts_and_old_ones_fade() -> None:
    loads = TabletLoads()
    loads.saw("a", told(5000, 100), 10.0)
    assert loads.loads == {100: TabletLoad(0.0, 0.0, 7)}, "it may be open for days"
    loads.saw("a", told(5600, 160), 70.0)
    assert loads.loads == {100: TabletLoad(10.0, 1.0, 7)}
    loads.saw("a", told(5600, 160, 9), 130.0)
    assert loads.loads == {100: TabletLoad(5.0, 0.5, 9)}
    for minute in range(20):
        loads.saw("a", told(5600, 160, 9), 190.0 + 60 * minute)
    assert loads.loads[100].reads == pytest.approx(0, abs=0.01)


def test_a_moment_is_no_measurement() -> None:
    loads = TabletLoads()
    loads.saw("a", told(0, 0), 10.0)
    loads.saw("a", told(1000, 0), 11.0)
    assert loads.loads[100].reads == 0.0
    loads.saw("a", told(1200, 0), 70.0)
    assert loads.loads[100].reads == 20.0


@pytest.mark.parametrize("server", ["a", "b"])
def test_what_it_was_on_one_server_it_is_on_the_next_one_and_after_it_was_opened_again(server: str) -> None:
    loads = TabletLoads()
    loads.saw("a", told(1000, 0), 10.0)
    loads.saw("a", told(7000, 0), 70.0)
    loads.saw(server, told(3, 0), 75.0)
    assert loads.loads[100].reads == 100.0
    loads.saw(server, told(6003, 0), 135.0)
    assert loads.loads[100].reads == 100.0


def test_those_that_nobody_serves_are_forgotten_after_a_while() -> None:
    loads = TabletLoads()
    loads.saw("a", told(0, 0), 100.0)
    loads.keep_only([{100}, set()], 101.0)
    loads.keep_only([set()], 110.0)
    assert 100 in loads.loads
    loads.keep_only([set()], 170.0)
    assert loads.loads == {}
    loads.saw("b", told(0, 0), 171.0)
    assert 100 in loads.loads


def test_nothing_is_measured_while_a_server_of_an_older_release_is_among_them() -> None:
    """Its tablets seemed to have no requests, and busy ones went there during a rolling upgrade."""
    loads = TabletLoads()
    loads.saw("new", told(0, 0), 10.0)
    loads.saw("new", told(6000, 0), 70.0)
    loads.saw("old", [ServedTablet(16, 101, 1, 7)], 70.0)
    assert loads.measured(["new"])[100].reads == 100.0
    assert loads.measured(["new", "old"]) == {}
    loads.saw("old", [ServedTablet(16, 101, 1, 7, 0, 0)], 80.0)  # it is of this release now
    assert loads.measured(["new", "old"])[100].reads == 100.0
    loads.keep_only([set()], 200.0)
    assert loads.loads == {}
