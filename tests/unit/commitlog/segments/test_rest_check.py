"""A log on HDFS to which nothing is written is looked at now and then, and not after its end."""

from types import SimpleNamespace

from hbtable.commitlog.segments.rest_check import RestCheck
from hbtable.testing.simulated.runtime import SimulatedRuntime


def test_a_log_at_rest_is_asked_for_and_a_busy_one_is_not() -> None:
    runtime = SimulatedRuntime(seed=1)
    end = SimpleNamespace(lsn=1)
    asked: list[float] = []
    check = RestCheck(runtime, end, 2.0, lambda: asked.append(runtime.clock_seconds()))

    def run() -> None:
        check.start()
        runtime.sleep(3.0)
        end.lsn = 2
        runtime.sleep(4.0)
        check.stop()
        runtime.sleep(10.0)

    runtime.run(run)
    assert [round(seconds) for seconds in asked] == [2, 6]


def test_its_task_ends_with_its_log() -> None:
    """A task that still slept would stay in memory for ever where its hub ends before it."""
    runtime = SimulatedRuntime(seed=1)
    check = RestCheck(runtime, SimpleNamespace(lsn=1), 2.0, lambda: None)

    def run() -> tuple[str, str]:
        check.start()
        runtime.sleep(0.1)
        before = runtime.scheduler.describe()
        check.stop()
        runtime.sleep(0.1)
        return before, runtime.scheduler.describe()

    before, after = runtime.run(run)
    assert "commit-log-rest" in before
    assert "commit-log-rest" not in after
