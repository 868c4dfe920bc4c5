"""The gauge shows how long something held the hub."""

import logging

import pytest

from hbtable.metrics.registry import Registry
from hbtable.runtime.hub_lag import HubLag, HubLagOptions
from hbtable.testing.simulated.runtime import SimulatedRuntime


def _read(registry: Registry) -> float:
    return next(value for name, _, value in registry.gauges() if name == "hbtable_hub_lag_seconds")


def test_a_stall_shows_until_it_leaves_the_window(caplog: pytest.LogCaptureFixture) -> None:
    runtime = SimulatedRuntime(1)
    registry = Registry()
    lag = HubLag(runtime, registry, HubLagOptions(interval_seconds=0.1, window_seconds=5.0, warn_seconds=1.0))

    def stall() -> None:
        runtime.scheduler.now_micros += 2_000_000  # two seconds in which nothing else ran

    def main() -> None:
        assert _read(registry) == 0.0
        lag.start()
        runtime.sleep(1.0)
        assert _read(registry) < 0.001
        stall()
        runtime.sleep(0.5)
        assert 1.8 < _read(registry) <= 2.0
        runtime.sleep(6.0)
        assert _read(registry) < 0.001
        lag.stop()
        lag.stop()

    with caplog.at_level(logging.WARNING):
        runtime.run(main)
    assert len(caplog.records) == 1
    assert "stood still" in caplog.text
