"""Runs a job: on processes of this machine, or on Dask. Each engine moves what lies between map and reduce in its own
way; the tasks are the same."""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing import get_context
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Final, Literal, Protocol

from hbtable.client.columns import Key
from hbtable.client.given import at_least_one
from hbtable.dataflow import Split, splits, target
from hbtable.dataflow.frames import needed
from hbtable.errors import InvalidRequest, WrongType, WrongValue
from hbtable.library.table import Table
from hbtable.mapreduce.job import JobResult, Mapper, MapReduceJob, Pair, Reducer, WorkFolder
from hbtable.mapreduce.tasks import TaskYield, map_task, reduce_task, total
from hbtable.model.values import shown
from hbtable.runtime.repeated import wall_millis
from hbtable.switches import switches

Progress = Callable[[str, int, int], object]
"""Is told "map" or "reduce", how many tasks of these are done, and how many there are."""
_JOB: Final = "job"


class JobEngine(Protocol):
    """Runs the tasks that are not done, and gives the sum of what all of them counted."""

    def __call__(self, job: MapReduceJob, work: WorkFolder, workers: int, progress: Progress) -> Counter[str]: ...


@switches
def run(
    input: "Table | Sequence[str | PathLike[str]]",
    mapper: Mapper,
    reducer: Reducer,
    output: "Table | str | PathLike[str] | None",
    combiner: Reducer | None = None,
    *,
    columns: "Iterable[Key] | None" = None,
    row_prefix: Key | None = None,
    on: 'Literal["processes", "dask"]' = "processes",
    workers: int = 2,
    reducers: int = 4,
    attempts: int = 3,
    work: "str | PathLike[str] | None" = None,
    progress: Progress | None = None,
) -> JobResult:
    """Maps `input`, sorts what comes of it by key, and reduces it to `output`.

    `input`: a table (its `columns`, of rows with `row_prefix`), by tablets, or names of files of lines. `mapper` is
    called with each row and its {column: value}, or with a line's offset and the line, and yields pairs of a key (text
    or bytes) and any value that can be pickled. `reducer` is called with each key, as bytes, and an iterator of its
    values, in no order that can be relied on, and yields (row, {column: value}) for a table, or lines for a folder of
    files. `combiner` does the same before the values are moved, and yields values; it may be called any number of
    times.

    `on`: `workers` processes of this machine, or Dask, by the scheduler that it is set to (without one: by as many
    processes). The functions are pickled; for "processes" a module has to have them by name. A task that fails is tried
    `attempts` times; its error is the job's. All that a table gets has one time, so a task that ran twice leaves the
    same. With a folder `work` a job that was broken off goes on, where the same call is made again: with the rows and
    the time of the first run, and without the tasks that are done. Only this user may be able to write there.
    InvalidRequest: the folder is another job's. Without `work` nothing is kept.
    """
    engine = _engine(on)
    workers, reducers = at_least_one("'workers'", workers), at_least_one("'reducers'", reducers)
    attempts = at_least_one("'attempts'", attempts)
    for name, function in (("mapper", mapper), ("reducer", reducer)):
        if not callable(function):
            raise WrongType(f"the {name} {shown(function)} is {type(function).__name__}, and has to be a function")
    if isinstance(output, Table):
        to: Any = target(output)
    else:
        to = None if output is None else _made_folder(output)
    with tempfile.TemporaryDirectory(prefix="hbtable-job-") as own:
        folder = WorkFolder(Path(own if work is None else work))
        named = (on, reducers, to, _named(input), _named(mapper), _named(reducer), _named(combiner))
        if folder.has(_JOB):
            pieces, now, before = folder.kept(_JOB)
            if before != named:
                raise InvalidRequest(
                    f"the folder {folder.path} holds another job, of {before}, and this one is of {named}: give it a "
                    "folder of its own"
                )
        else:
            now = wall_millis()
            pieces = _pieces(input, columns, row_prefix, workers)
            folder.keep(_JOB, [pieces, now, named])
        job = MapReduceJob(tuple(pieces), mapper, combiner, reducer, to, reducers, attempts, now)
        counters = engine(job, folder, workers, progress or (lambda _, done, count: None))
    return JobResult(dict(counters), now)


def _named(part: object) -> str:
    """A part of a job, by which the job is known again in its folder."""
    if isinstance(part, Table):
        return part.name.decode(errors="backslashreplace")
    if isinstance(part, Sequence):
        return ", ".join(str(Path(one).absolute()) for one in part)
    return str(getattr(part, "__qualname__", part))


def _engine(on: object) -> JobEngine:
    engines: dict[object, JobEngine] = {"processes": on_processes, "dask": on_dask}
    if on not in engines:
        raise WrongValue(f"'on' {shown(on)} has to be one of {', '.join(map(repr, engines))}")
    return engines[on]


def _made_folder(path: object) -> str:
    if not isinstance(path, (str, PathLike)):
        raise WrongType(f"the output {shown(path)} has to be a table or a folder")
    made = Path(fspath(path)).absolute()
    made.mkdir(parents=True, exist_ok=True)
    return str(made)


@switches
def _pieces(input: object, columns: Iterable[Key] | None, row_prefix: Key | None, at_least: int) -> list[Split | str]:
    if isinstance(input, Table):
        return list(splits(input, columns, row_prefix=row_prefix, at_least=at_least))
    if not isinstance(input, (list, tuple)) or not all(isinstance(one, (str, PathLike)) for one in input):
        raise WrongType(f"the input {shown(input)} has to be a table or a list of files")
    if columns is not None or row_prefix is not None:
        raise WrongType("'columns' and 'row_prefix' are for tables: the input are files")
    files = [Path(one).absolute() for one in input]
    for file in files:
        if not file.is_file():
            raise InvalidRequest(f"the input {file} is no file")
    return [str(file) for file in files]


# -------------------------------------------------------------------------------------------------------- processes


def on_processes(job: MapReduceJob, work: WorkFolder, workers: int, progress: Progress) -> Counter[str]:
    """Pairs of the map tasks lie in the folder `work`, a file for each reduce task."""
    maps, reduces = range(len(job.pieces)), range(job.reducers)
    _all(partial(_map_to_files, job, work), "map", maps, work, workers, progress)
    _all(partial(_reduce_files, job, work), "reduce", reduces, work, workers, progress)
    done = [f"map-{number}" for number in maps] + [f"reduce-{number}" for number in reduces]
    return total(next(work.kept(name)) for name in done)


def _map_to_files(job: MapReduceJob, work: WorkFolder, number: int) -> None:
    done = map_task(job, number)
    for part, pairs in enumerate(done.parts):
        work.keep(f"pairs-{number}-{part}", pairs)
    work.keep(f"map-{number}", [done.counters])


class _Kept:
    """Pairs of a file, which is read anew each time."""

    def __init__(self, work: WorkFolder, name: str) -> None:
        self._work = work
        self._name = name

    def __iter__(self) -> "Any":
        return self._work.kept(self._name)


def _reduce_files(job: MapReduceJob, work: WorkFolder, number: int) -> None:
    runs = [_Kept(work, f"pairs-{piece}-{number}") for piece in range(len(job.pieces))]
    work.keep(f"reduce-{number}", [reduce_task(job, number, runs).counters])


def _all(
    task: Callable[[int], None], kind: str, numbers: Iterable[int], work: WorkFolder, workers: int, progress: Progress
) -> None:
    """A process that is killed ends the pool: what was under way is begun again in another one, so often as tasks are
    tried."""
    every = list(numbers)
    left = _undone(kind, every, work)
    progress(kind, len(every) - len(left), len(every))
    deaths = 0
    while left:
        try:
            with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
                for future in as_completed([pool.submit(task, number) for number in left]):
                    future.result()
                    progress(kind, len(every) - len(_undone(kind, every, work)), len(every))
        except BrokenProcessPool:
            deaths += 1
            if deaths == _DEATHS:
                raise
        left = _undone(kind, every, work)


_DEATHS: Final = 3


def _undone(kind: str, numbers: Iterable[int], work: WorkFolder) -> list[int]:
    return [number for number in numbers if not work.has(f"{kind}-{number}")]


# -------------------------------------------------------------------------------------------------- Dask


def on_dask(job: MapReduceJob, work: WorkFolder, workers: int, progress: Progress) -> Counter[str]:
    """A task of Dask's for each, which moves the pairs. Reduce tasks that are done are not done again."""
    dask = needed("dask")
    left = _undone("reduce", range(job.reducers), work)
    progress("reduce", job.reducers - len(left), job.reducers)
    if left:
        maps = [dask.delayed(map_task, pure=False)(job, number) for number in range(len(job.pieces))]
        parts = [
            dask.delayed(_reduce_parts, pure=False)(job, number, [dask.delayed(_part)(one, number) for one in maps])
            for number in left
        ]
        counted = dask.delayed(_counters_of)(maps)
        given = {} if dask.config.get("scheduler", None) else {"scheduler": "processes", "num_workers": workers}
        mapped, *reduced = dask.compute(counted, *parts, **given)
        work.keep("mapped", [mapped])
        for number, counters in zip(left, reduced, strict=True):
            work.keep(f"reduce-{number}", [counters])
            progress("reduce", job.reducers - len(_undone("reduce", range(job.reducers), work)), job.reducers)
    kept = [next(work.kept(f"reduce-{number}")) for number in range(job.reducers)]
    return total([next(work.kept("mapped")), *kept])


def _part(done: TaskYield, number: int) -> list[Pair]:
    return done.parts[number]


def _counters_of(several: list[TaskYield]) -> Counter[str]:
    return total(one.counters for one in several)


def _reduce_parts(job: MapReduceJob, number: int, runs: list[list[Pair]]) -> Counter[str]:
    return reduce_task(job, number, runs).counters
