"""A paused process does nothing while time, and what it asked of others before, goes on."""

from hbtable.testing.simulated.runtime import SimulatedRuntime


def test_no_task_of_a_paused_process_runs_and_its_clock_goes_on() -> None:
    runtime = SimulatedRuntime(1)
    process = runtime.another_process("paused")
    seen: list[float] = []

    def tick() -> None:
        while True:
            process.sleep(1.0)
            seen.append(process.clock_seconds())

    def body() -> None:
        process.spawn(tick)
        runtime.sleep(2.5)
        process.pause()
        runtime.sleep(10)
        assert len(seen) == 2
        process.resume()
        runtime.sleep(1.5)

    runtime.run(body)
    assert seen[2] > 12.0  # the sleep that ended during the pause ends when it is over
    assert len(seen) == 4


def test_an_offloaded_call_takes_effect_during_a_pause_and_is_answered_after_it() -> None:
    runtime = SimulatedRuntime(2)
    process = runtime.another_process("paused")
    effects: list[str] = []

    def work() -> None:
        process.offload("disk", effects.append, "written")
        effects.append("answered")

    def body() -> None:
        process.spawn(work)
        runtime.sleep(0.00001)
        process.pause()
        runtime.sleep(5)
        assert effects == ["written"]
        process.resume()
        runtime.sleep(1)

    runtime.run(body)
    assert effects == ["written", "answered"]


def test_a_paused_process_can_be_crashed() -> None:
    runtime = SimulatedRuntime(3)
    process = runtime.another_process("paused")
    ends: list[str] = []

    def work() -> None:
        try:
            process.sleep(1)
        finally:
            ends.append("cleaned up")

    def body() -> None:
        process.spawn(work)
        runtime.sleep(0.5)
        process.pause()
        runtime.sleep(5)
        process.crash()
        process.resume()
        runtime.sleep(1)

    runtime.run(body)
    assert ends == ["cleaned up"]
