"""The simulation is deterministic, finds deadlocks, and crashes processes without letting them go on."""

from pathlib import Path
from typing import Any

import pytest

import hbtable
from hbtable.switches import switches, switches_if_given
from hbtable.testing.simulated.runtime import SimulatedRuntime, SimulationOptions
from hbtable.testing.simulated.scheduler import SimulatedCrash, SimulatedDeadlock
from hbtable.testing.simulated.stack_check import UnmarkedFunction


def _trace(seed: int) -> tuple[list[int], int, float]:
    runtime = SimulatedRuntime(seed)
    trace: list[int] = []
    lock = runtime.lock()

    def work(number: int) -> None:
        for _ in range(20):
            with lock:
                runtime.sleep(runtime.random.random() / 100)
            trace.append(number)
            if runtime.random.random() < 0.3:
                runtime.offload("compress", trace.append, -number)

    def main() -> None:
        for task in [runtime.spawn(work, number) for number in range(1, 6)]:
            task.join()

    runtime.run(main)
    return trace, runtime.scheduler.fingerprint, runtime.clock_seconds()


def test_the_same_seed_gives_the_same_schedule_and_another_seed_another_one() -> None:
    assert _trace(7) == _trace(7)
    assert len({tuple(_trace(seed)[0]) for seed in range(5)}) == 5
    assert len({_trace(seed)[1] for seed in range(5)}) == 5


def test_a_race_between_check_and_act_is_found_within_a_few_seeds() -> None:
    def lost(seed: int) -> bool:
        runtime = SimulatedRuntime(seed)
        counter = [0]

        def add() -> None:
            before = counter[0]
            runtime.sleep(0)
            counter[0] = before + 1

        def main() -> None:
            for task in [runtime.spawn(add) for _ in range(2)]:
                task.join()

        runtime.run(main)
        return counter[0] != 2

    outcomes = {lost(seed) for seed in range(20)}
    assert outcomes == {True, False}


def test_an_hour_of_virtual_time_costs_nothing() -> None:
    runtime = SimulatedRuntime(1)
    runtime.run(runtime.sleep, 3599.0)
    assert 3599 <= runtime.clock_seconds() < 3599.1
    assert runtime.scheduler.steps < 10


def test_a_deadlock_is_reported_with_what_waits_where() -> None:
    runtime = SimulatedRuntime(3)

    def main() -> None:
        lock = runtime.lock()
        with lock:
            helper = runtime.spawn(lock.__enter__, name="the other")
            helper.join()

    with pytest.raises(SimulatedDeadlock) as caught:
        runtime.run(main)
    message = str(caught.value)
    assert "seed 3" in message
    assert "the other waits for a lock held by" in message
    assert "waits for the end of the other" in message
    assert "test_simulated.py:" in message
    runtime.crash()


def test_a_main_that_hangs_while_others_tick_is_noticed() -> None:
    runtime = SimulatedRuntime(1, SimulationOptions(limit_seconds=10))

    def tick() -> None:
        while True:
            runtime.sleep(0.5)

    def main() -> None:
        runtime.spawn(tick, name="ticker")
        runtime.event().wait()

    with pytest.raises(SimulatedDeadlock, match="no end within 10 s"):
        runtime.run(main)
    runtime.crash()


def test_a_crash_ends_every_task_at_its_switch_point() -> None:
    runtime = SimulatedRuntime(1)
    seen: list[str] = []

    def work(name: str) -> None:
        try:
            runtime.sleep(1.0)
            seen.append(f"{name} went on")
        finally:
            seen.append(f"{name} cleaned up")
            runtime.sleep(0)
            seen.append(f"{name} waited in its clean-up")

    def main() -> None:
        for name in "ab":
            runtime.spawn(work, name)
        runtime.sleep(0.5)
        runtime.spawn(seen.append, "begun after the crash")

    runtime.run(main)
    runtime.crash()
    assert sorted(seen) == ["a cleaned up", "b cleaned up"]
    assert runtime.crashed
    with pytest.raises(SimulatedCrash):
        runtime.run(main)
    runtime.run_for(5.0)
    assert len(seen) == 2


def test_a_task_may_crash_the_process_once_more_on_its_way_out() -> None:
    """As a file system does that crashes at its next call, and a clean-up makes that call."""
    runtime = SimulatedRuntime(1)
    seen: list[str] = []

    def work(name: str) -> None:
        try:
            runtime.event().wait()
        finally:
            seen.append(name)
            runtime.crash()

    def main() -> None:
        for name in "abc":
            runtime.spawn(work, name)
        runtime.sleep(0.5)

    runtime.run(main)
    runtime.crash()
    assert sorted(seen) == ["a", "b", "c"]


def test_a_task_that_crashes_its_own_process_stops_there() -> None:
    runtime = SimulatedRuntime(1)
    seen: list[str] = []

    def main() -> None:
        try:
            runtime.crash()
        except Exception:  # a program's catch-all must not survive the crash
            seen.append("caught")
        seen.append("went on")

    with pytest.raises(SimulatedCrash):
        runtime.run(main)
    assert seen == []


def test_the_other_processes_outlive_a_crash() -> None:
    first = SimulatedRuntime(1, name="first")
    second = first.another_process("second")
    seen: list[str] = []

    def server() -> None:
        first.sleep(100.0)

    def client() -> str:
        task = first.spawn(server, name="server")
        second.sleep(1.0)
        first.crash()
        assert task.join(), "those who wait for a task of the dead process are told"
        late = first.spawn(seen.append, "too late")
        assert late.join()
        second.sleep(1.0)
        return "alive"

    assert second.run(client) == "alive"
    assert seen == []
    assert first.clock_seconds() == second.clock_seconds()


def test_offloaded_work_of_a_crashed_process_has_no_effect_later() -> None:
    effects_after_crash = set()
    for seed in range(30):
        runtime = SimulatedRuntime(seed)
        done: list[bool] = []

        def main(runtime: SimulatedRuntime = runtime, done: list[bool] = done) -> None:
            runtime.spawn(runtime.offload, "log-sync", done.append, True)
            runtime.sleep(0.003)

        runtime.run(main)
        before = len(done)
        runtime.crash()
        runtime.run_for(1.0)
        assert len(done) == before
        effects_after_crash.add(before)
    assert effects_after_crash == {0, 1}, "crashes fall before and after the effect"


def test_offloaded_work_goes_on_when_its_caller_is_killed() -> None:
    runtime = SimulatedRuntime(1)
    done: list[bool] = []

    def main() -> None:
        task = runtime.spawn(runtime.offload, "log-sync", done.append, True)
        runtime.sleep(0)
        runtime.sleep(0)
        task.kill()
        runtime.sleep(1.0)

    runtime.run(main)
    assert done == [True]


def test_waiting_outside_of_a_task_says_what_to_do() -> None:
    with pytest.raises(RuntimeError, match=r"SimulatedRuntime.run\(\)"):
        SimulatedRuntime(1).sleep(1)


def test_the_wall_clock_jumps_alone() -> None:
    runtime = SimulatedRuntime(1)
    wall, clock = runtime.wall_millis(), runtime.clock_seconds()
    runtime.wall_offset_millis = -5000
    assert runtime.wall_millis() == wall - 5000
    assert runtime.clock_seconds() == clock


def product_functions(source: str) -> dict[str, Any]:
    """As if they stood in the product. Code objects are equal when their text is."""
    names: dict[str, Any] = {}
    exec(compile(source, str(Path(hbtable.__file__).with_name("product.py")), "exec"), names)
    return names


def product_function(source: str) -> Any:
    return product_functions(source)["waits"]


def test_a_marked_function_of_the_product_may_switch() -> None:
    runtime = SimulatedRuntime(1)
    waits = switches(product_function("def waits(runtime):\n    runtime.sleep(1.0)\n    return 'marked'\n"))
    assert runtime.run(lambda: waits(runtime)) == "marked"


def test_a_function_of_the_product_without_the_mark_may_not_switch() -> None:
    runtime = SimulatedRuntime(1)
    waits = product_function("def waits(runtime):\n    runtime.sleep(1.0)\n")
    with pytest.raises(UnmarkedFunction, match=r"marked @switches: waits \(.*product.py:2\)"):
        runtime.run(lambda: waits(runtime))


def test_a_switch_without_the_mark_is_found_whatever_the_program_catches() -> None:
    runtime = SimulatedRuntime(1)
    source = """
def waits(runtime):
    try:
        runtime.sleep(1.0)
    except BaseException:
        pass
"""
    waits = product_function(source)

    def main() -> None:
        runtime.spawn(waits, runtime)
        runtime.sleep(10.0)

    with pytest.raises(UnmarkedFunction, match=r"waits \(.*product.py:4\)"):
        runtime.run(main)


def test_an_unmarked_function_above_functions_that_were_seen_before_is_found_soon() -> None:
    source = """
def innermost(runtime): runtime.sleep(1.0)
def third(runtime): innermost(runtime)
def second(runtime): third(runtime)
def first(runtime): second(runtime)
def waits(runtime): first(runtime)
def waits_as_well(runtime): first(runtime)
"""
    names = product_functions(source)
    for marked in ("innermost", "third", "second", "first", "waits"):
        switches(names[marked])

    def main() -> None:
        for _ in range(8):
            names["waits"](runtime)
        for _ in range(8):
            names["waits_as_well"](runtime)

    runtime = SimulatedRuntime(1)
    with pytest.raises(UnmarkedFunction, match=r"marked @switches: waits_as_well \([^,]*$"):
        runtime.run(main)


def test_what_switches_only_inside_of_an_argument_leaves_the_mark_to_who_hands_it_over() -> None:
    source = """
def passes_on(call): call()
def waits(runtime): passes_on(lambda: runtime.sleep(1.0))
def careful(runtime): passes_on(lambda: runtime.sleep(1.0))
"""
    names = product_functions(source)
    switches_if_given(names["passes_on"])
    switches(names["careful"])
    runtime = SimulatedRuntime(1)
    runtime.run(lambda: names["careful"](runtime))
    with pytest.raises(UnmarkedFunction, match=r"marked @switches: waits \([^,]*$"):
        runtime.run(lambda: names["waits"](runtime))
