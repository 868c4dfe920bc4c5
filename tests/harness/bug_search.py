"""Looks for a seed by which a planted bug is found, and tries the one first by which it was found last."""

from collections.abc import Callable
from itertools import chain

from tests.harness.sim_schedule import Outcome
from tests.harness.sim_seeds import outcomes


def found_by(run: Callable[[int], Outcome], likely: int, enough: int) -> Outcome | None:
    """The outcome of a seed up to `enough` that found something; None: none did. `likely` is tried alone before all
    others, for each costs seconds of the processor; 0: none is. A change of the program makes other schedules of the
    same seeds: then the search takes as long as without it, and who reads its print writes the new seed down."""
    others = (seed for seed in range(1, enough + 1) if seed != likely)
    first = outcomes(run, (likely,) if likely else ())
    return next((outcome for outcome in chain(first, outcomes(run, others)) if outcome.violations), None)
