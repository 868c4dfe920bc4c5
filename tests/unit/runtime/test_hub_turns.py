"""What the hub does between two looks at its sockets is counted by its length."""

import time

from hbtable.metrics.registry import Registry
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.runtime.hub_turns import HubTurns


def test_a_long_turn_is_seen_and_short_ones_are_counted() -> None:
    runtime = GeventRuntime()
    registry = Registry()
    turns = HubTurns(registry)
    turns.start()
    for _ in range(50):
        runtime.sleep(0.001)

    def work() -> None:
        end = time.perf_counter() + 0.03
        while time.perf_counter() < end:
            pass

    task = runtime.spawn(work)
    runtime.sleep(0.001)
    task.join()
    runtime.sleep(0.001)
    turns.stop()
    turns.stop()
    ((_, _, histogram),) = registry.histograms()
    seen = histogram.count
    assert seen >= 50
    assert histogram.total >= 0.03
    assert sum(histogram.counts[histogram.bounds.index(0.025) + 1 :]) >= 1
    assert sum(histogram.counts) == seen
    runtime.sleep(0.001)
    assert histogram.count == seen
    runtime.close()
