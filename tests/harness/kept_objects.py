"""Whether something that is done again and again keeps objects for ever."""

import gc
from collections.abc import Callable

from tests.harness.waiting import SOON_SECONDS, eventually

TIMES = 10


def _objects() -> int:
    gc.collect()
    return len(gc.get_objects())


def check_keeps_none(done: Callable[[], None]) -> None:
    """Fails unless all but a few objects of ten times `done` go again. They may go late: threads end when they do."""
    for _ in range(3):
        done()  # caches of this program are filled
    before = _objects()
    for _ in range(TIMES):
        done()
    eventually(lambda: _objects() - before < 10 * TIMES, SOON_SECONDS, "the objects of each time are gone")
