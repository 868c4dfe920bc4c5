"""Work that is kept to a rate."""

from hbtable.tablet.pacing import Throttle
from hbtable.testing.simulated.runtime import SimulatedRuntime


def test_a_throttle_keeps_to_its_rate_and_makes_up_for_nothing() -> None:
    runtime = SimulatedRuntime(0)

    def main() -> None:
        throttle = Throttle(runtime, 1000)
        began = runtime.clock_seconds()
        for _ in range(100):
            throttle.passed(100)
        assert 9.9 <= runtime.clock_seconds() - began <= 10.1
        runtime.sleep(100)
        began = runtime.clock_seconds()
        for _ in range(10):
            throttle.passed(100)
        assert 0.9 <= runtime.clock_seconds() - began <= 1.1

    runtime.run(main)


def test_without_a_rate_nothing_waits() -> None:
    runtime = SimulatedRuntime(0)

    def main() -> None:
        throttle = Throttle(runtime, 0)
        began = runtime.clock_seconds()
        throttle.passed(1 << 40)
        assert runtime.clock_seconds() == began

    runtime.run(main)
