"""The seed of this run, from which the long simulations of `make verify` take theirs: another one each time, so that
every run of CI sees what none saw before. `make verify SEED=N` replays one."""

import os
import random
from typing import Final

_VARIABLE: Final = "SEED"
_fresh_examples = False


def choose_seed() -> int:
    """Once, before the tests are handed to several processes: those find it in their environment."""
    seed = int(os.environ.get(_VARIABLE, "0")) or random.randrange(1_000_000, 1 << 30)
    os.environ[_VARIABLE] = str(seed)
    return seed


def fresh_seed() -> int:
    """What choose_seed() chose."""
    return int(os.environ[_VARIABLE])


def take_fresh_examples(fresh: bool) -> None:
    """Whether tests of Hypothesis take theirs from a seed of the run."""
    global _fresh_examples
    _fresh_examples = fresh


def fresh_examples() -> bool:
    """What take_fresh_examples() was told."""
    return _fresh_examples


def takes_all() -> bool:
    """Whether this run takes all that runs of CI take in turns: `make verify-all`."""
    return os.environ.get("TURNS") == "all"


def slice_of(usual: int) -> int:
    """How many seeds that no run has seen a test looks at: `usual` in `make verify-all`, and a quarter in CI."""
    return usual if takes_all() else -(-usual // 4)


def examples(usual: int) -> int:
    """How many programs a test of hypothesis that takes fresh_seed() generates: slice_of(usual), or what PROGRAMS
    says."""
    return int(os.environ.get("PROGRAMS", "0")) or slice_of(usual)
