"""The balancer's switch, when two people use it at the same moment."""

from hbtable.master.tablets.balancer import Balancer
from hbtable.testing.memory_lockservice import MemoryLockService
from hbtable.testing.simulated.runtime import SimulatedRuntime


def test_two_who_switch_at_once_are_both_obeyed_one_after_the_other() -> None:
    for seed in range(20):
        runtime = SimulatedRuntime(seed)

        def main(runtime: SimulatedRuntime = runtime) -> None:
            service = MemoryLockService(runtime)
            balancers = [
                Balancer(runtime.clock_seconds, service.open_session(name), None, None, None)  # type: ignore[arg-type]
                for name in ("one", "two")
            ]
            for on in (False, True):
                before: list[bool] = []
                tasks = [
                    runtime.spawn(lambda one=one, on=on, before=before: before.append(one.toggle.turn(on)))
                    for one in balancers
                ]
                for task in tasks:
                    task.join()
                assert sorted(before) == [False, True], "the second saw what the first did"
                assert balancers[0].toggle.is_on() is on

        runtime.run(main)
