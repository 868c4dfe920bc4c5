"""A signal handler that uses or closes a portal, at each step of the call or the close that it interrupts.

Between two of Python's instructions the interpreter may run a signal handler in the thread that it interrupts. What the
thread holds is held until the handler has returned, so a handler that needs it would wait for ever.
"""

from collections.abc import Callable

import pytest

from hbtable.errors import Unavailable
from hbtable.runtime.threads import native_threads, portal
from hbtable.runtime.threads.portal import Portal
from tests.harness.interruption import Interruption, WaitsForEver
from tests.harness.planted_bugs import is_found

FILES = {portal.__file__, native_threads.__file__}


def called(portal: Portal) -> object:
    try:
        return portal.call(divmod, 7, 2)
    except Unavailable as error:
        return str(error)


def closed(portal: Portal) -> object:
    portal.close()
    return "closed"


@pytest.mark.parametrize("handler", [called, closed])
@pytest.mark.parametrize("work", [called, closed])
def test_a_handler_at_any_step_is_answered_and_so_is_what_it_interrupts(
    work: Callable[[Portal], object], handler: Callable[[Portal], object]
) -> None:
    seen: set[tuple[str, object]] = set()
    for step in range(1, 1000):
        portal = Portal()
        try:
            answers = Interruption(lambda: work(portal), lambda: handler(portal), step, FILES).answers  # noqa: B023  run at once
        except WaitsForEver:
            raise
        except AssertionError:
            portal.close()
            raise
        portal.close()
        seen |= set(answers.items())
        if "handler" not in answers:
            break
    else:
        raise AssertionError("the work has an end")
    refused = "this is closed: open it again"
    outcomes: dict[Callable[[Portal], object], set[object]] = {called: {(3, 1)}, closed: {"closed"}}
    for of, by, what in ((work, handler, "work"), (handler, work, "handler")):
        possible = outcomes[of] | ({refused} if of is called and by is closed else set())
        assert {answer for name, answer in seen if name == what} == possible


def test_the_planted_bug_is_found() -> None:
    is_found("interrupted", lambda: test_a_handler_at_any_step_is_answered_and_so_is_what_it_interrupts(called, called))
