"""A job, as its tasks know it, and its result."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from hbtable.dataflow import Split, WriteTarget

Pair = tuple[bytes, Any]
"""A key and a value between map and reduce."""
Mapper = Callable[[Any, Any], Iterable[tuple[Any, Any]]]
Reducer = Callable[[bytes, Iterator[Any]], Iterable[Any]]


OWN_COUNTERS: Final = ("map input", "map output", "reduce input", "output", "retried tasks")
"""Each job has them, also where nothing was counted."""


@dataclass(frozen=True)
class MapReduceJob:
    """Everything that a task needs to know, to be pickled."""

    pieces: "tuple[Split | str, ...]"
    """A map task each: rows of a table, or a file of lines."""
    mapper: Mapper
    combiner: Reducer | None
    reducer: Reducer
    output: WriteTarget | str | None
    """A table, a folder of files, or nowhere."""
    reducers: int
    attempts: int
    timestamp: int
    """Milliseconds since 1970, of all that the job writes. What it reads is older."""


@dataclass(frozen=True)
class JobResult:
    """Figures of a job that is done."""

    counters: Mapping[str, int] = field(default_factory=dict)
    """Those of mapreduce.count() which any task counted, and the job's own, 0 included: "map input", "map output",
    "reduce input", "output", "retried tasks"."""
    timestamp: int = 0
    """Milliseconds since 1970: the time of all cells that the job wrote."""
