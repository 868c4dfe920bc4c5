"""The balancer's switch, when two people use it at the same moment."""

from hbtable.lockservice.memory import MemoryLockService
from hbtable.master.balancer import Balancer
from hbtable.runtime.simulated import SimulatedRuntime


def test_two_who_switch_at_once_are_both_obeyed_one_after_the_other() -> None:
    for seed in range(20):
        runtime = SimulatedRuntime(seed)

        def main(runtime: SimulatedRuntime = runtime) -> None:
            service = MemoryLockService(runtime)
            balancers = [
                Balancer(service.open_session(name), None, None, None, None)  # type: ignore[arg-type]
                for name in ("one", "two")
            ]
            for on in (False, True):
                before: list[bool] = []
                tasks = [
                    runtime.spawn(lambda one=one, on=on, before=before: before.append(one.switch(on)))
                    for one in balancers
                ]
                for task in tasks:
                    task.join()
                assert sorted(before) == [False, True], "the second saw what the first did"
                assert balancers[0].is_on() is on

        runtime.run(main)
