"""Counters of a job, counted by the functions of its tasks. What a failed attempt counted is forgotten with it."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_counters: "ContextVar[Counter[str] | None]" = ContextVar("counters", default=None)


def count(name: str, amount: int = 1) -> None:
    """To be called by a mapper, combiner or reducer: the job's Result has the sums over all tasks. Outside a task
    nothing is counted."""
    counters = _counters.get()
    if counters is not None:
        counters[name] += amount


@contextmanager
def counting() -> "Iterator[Counter[str]]":
    """The counters of what runs in the with block, in this thread."""
    counters = Counter[str]()
    token = _counters.set(counters)
    try:
        yield counters
    finally:
        _counters.reset(token)
