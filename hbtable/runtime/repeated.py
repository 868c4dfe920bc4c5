"""Time in the caller's own thread, where no runtime of ours runs: attempts that are made again, and the clock."""

import time
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

_PAUSE_SECONDS: Final = 0.05


def repeated(seconds: float, refusal: type[Exception] | tuple[type[Exception], ...], attempt: Callable[[], T]) -> T:
    """The result of the first attempt that is not refused. The last refusal, once so many seconds are over."""
    until = time.monotonic() + seconds
    while True:
        try:
            return attempt()
        except refusal:
            left = until - time.monotonic()
            if left <= 0:
                raise
            time.sleep(min(left, _PAUSE_SECONDS))


def wall_millis() -> int:
    """Milliseconds since 1970, by this machine's clock."""
    return time.time_ns() // 1_000_000
