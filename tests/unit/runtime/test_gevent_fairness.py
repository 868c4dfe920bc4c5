"""A task that computes in slices lets timers and sockets have their turn between any two of them, not after fifty."""

import gevent

from hbtable.runtime.gevent_runtime import GeventRuntime


def test_a_timer_fires_while_tasks_only_yield() -> None:
    runtime = GeventRuntime()
    rounds = 0
    fired: list[int] = []

    def compute() -> None:
        nonlocal rounds
        while not fired and rounds < 1000:
            rounds += 1
            for _ in range(20_000):
                pass
            runtime.sleep(0)

    gevent.spawn_later(0, lambda: fired.append(rounds))
    runtime.spawn(compute).join(60)
    assert fired, "the timer never fired"
    assert fired[0] < 40, "gevent looks at its timers only after fifty callbacks"
    runtime.close()
