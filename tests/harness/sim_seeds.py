"""Seeds of a simulation side by side, one process for each processor that the tests beside this one leave.

A seed uses nothing but its own virtual time and memory, so how many run at once changes nothing but how long it takes.
"""

import gc
import logging
import multiprocessing
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from functools import partial
from typing import Final, TypeVar

T = TypeVar("T")

_PRELOADED: Final = ["tests.harness.sim_bugs", "tests.harness.sim_damage_bugs"]
"""They import all that a seed runs. One server process imports it, once; each fresh process is a fork of that one, and
spares the half second of the processor that this takes. The server has no threads whose locks a fork could copy. Where
it cannot import them, each process does."""

_AHEAD: Final = 2
"""Seeds handed to each process: one that runs, one that is next. More would run in vain when a caller stops early."""


def _begin() -> None:
    """In a fresh process: what it was forked with stays, so no collection needs to look at it again and again."""
    logging.disable(logging.CRITICAL)
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def outcomes(run: Callable[[int], T], seeds: Iterable[int]) -> Iterator[T]:
    """What `run` returns for each seed, in their order; what it raises is raised. Both must be picklable; what is
    logged is dropped. Seeds not yet begun when the caller stops are not run."""
    beside = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))  # tests at the same time, each with its own seeds
    processors = max(1, (os.cpu_count() or 1) // beside)
    # Fresh processes: a fork of this one would copy the locks that its other threads hold.
    fresh = multiprocessing.get_context("forkserver")
    fresh.set_forkserver_preload(_PRELOADED)
    with ProcessPoolExecutor(processors, fresh, _begin) as pool:
        running: deque[Future[T]] = deque()
        try:
            for seed in seeds:
                running.append(pool.submit(run, seed))
                if len(running) >= _AHEAD * processors:
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)


def outcomes_within(run: Callable[[int], T], seeds: Iterable[int], processor_seconds: float) -> Iterator[T]:
    """As outcomes(), but no more than were begun when the seeds that ended had taken `processor_seconds` together, and
    prints which they were. A slow machine looks at fewer of them, and not for longer."""
    every, spent, ended = list(seeds), 0.0, 0
    for outcome, seconds in outcomes(partial(timed, run), every):
        yield outcome
        spent, ended = spent + seconds, ended + 1
        if spent >= processor_seconds:
            break
    print(f"seeds {every[0]} to {every[0] + ended - 1}: {ended} of {len(every)} in {spent:.1f} s of the processor")


def timed(run: Callable[[int], T], seed: int) -> tuple[T, float]:
    """In the process of the seed, which is no child of the one that asks; with what the processor took for it."""
    begin = time.process_time()
    return run(seed), time.process_time() - begin
