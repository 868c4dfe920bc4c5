"""A thread that is not the hub's wakes it up."""

import threading

from hbtable.runtime.gevent_runtime import GeventRuntime


def test_a_foreign_thread_wakes_a_hub_that_waits() -> None:
    runtime = GeventRuntime()
    rung = runtime.event()
    waker = runtime.waker(rung.set)
    threads = [threading.Thread(target=waker.wake) for _ in range(5)]
    for thread in threads:
        thread.start()
    assert rung.wait(60)
    for thread in threads:
        thread.join()
    waker.close()
    runtime.close()
