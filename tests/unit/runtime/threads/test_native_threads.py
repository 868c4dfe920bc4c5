"""Events that threads of the system wait for, and marks of who calls."""

import threading

from hbtable.runtime.threads.native_threads import CallerMark, NativeEvent


def test_many_threads_wait_for_an_event_and_find_it_set_afterwards() -> None:
    event, mark = NativeEvent(), CallerMark()
    answers: list[tuple[bool, bool]] = []
    begun = threading.Semaphore(0)

    def wait() -> None:
        begun.release()
        waits = mark.waits_for_the_caller()
        event.wait()
        answers.append((waits, event.is_set()))

    threads = [threading.Thread(target=wait, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
        assert begun.acquire(timeout=60)
    assert not event.is_set()
    assert answers == []
    event.set()
    for thread in threads:
        thread.join(60)
    assert answers == [(False, True)] * 4
    event.wait()


def test_who_interrupts_the_caller_is_told_so() -> None:
    assert CallerMark().waits_for_the_caller()
