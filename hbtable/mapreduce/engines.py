"""Runs the tasks of a job: on processes of this machine, on Dask, or on Spark. The tasks are the same. What lies
between map and reduce is in files of the job's folder, or moved by the engine where there is no folder that lasts."""

from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final, Protocol, final

from hbtable.dataflow.frames import needed
from hbtable.errors import InvalidRequest
from hbtable.mapreduce.job import MapReduceJob, Pair
from hbtable.mapreduce.tasks import TaskYield, map_task, part_name, reduce_task, total
from hbtable.mapreduce.work_folder import JOB_FILE, WorkFolder
from hbtable.runtime.processes.parent_death import end_with
from hbtable.runtime.processes.temporary_folder import temporary_folder

Progress = Callable[[str, int, int], object]
"""Is told "map" or "reduce", how many tasks of these are done, and how many there are."""
Task = Callable[[int], None]


class JobEngine(Protocol):
    """Runs the tasks that are not done, and gives the sum of what all of them counted. `work` None: nothing is kept."""

    def __call__(
        self, job: MapReduceJob, work: WorkFolder | None, workers: int, progress: Progress
    ) -> Counter[str]: ...


# ---------------------------------------------------------------------------------------------- tasks in files


def _in_files(job: MapReduceJob, work: WorkFolder, run: Callable[[Task, str, list[int], int], None]) -> Counter[str]:
    """`run` does the tasks of these numbers, of so many, and returns when all are done. Each is kept when it is."""
    maps, reduces = range(len(job.pieces)), range(job.reducers)
    run(partial(_map_to_files, job, work), "map", [one for one in maps if not _is_mapped(job, work, one)], len(maps))
    undone = [one for one in reduces if not _is_reduced(job, work, one)]
    run(partial(_reduce_files, job, work), "reduce", undone, len(reduces))
    done = [f"map-{number}" for number in maps] + [f"reduce-{number}" for number in reduces]
    return total(next(work.kept(name)) for name in done)


def _map_to_files(job: MapReduceJob, work: WorkFolder, number: int) -> None:
    done = map_task(job, number)
    for part, pairs in enumerate(done.parts):
        work.keep(_pairs(number, part), pairs)
    work.keep(f"map-{number}", [done.counters])


def _is_mapped(job: MapReduceJob, work: WorkFolder, number: int) -> bool:
    return work.is_whole(f"map-{number}") and all(work.is_whole(_pairs(number, part)) for part in range(job.reducers))


def _pairs(number: int, part: int) -> str:
    return f"pairs-{number}-{part}"


class _Kept:
    """Pairs of a file, which is read anew each time."""

    def __init__(self, work: WorkFolder, name: str) -> None:
        self._work = work
        self._name = name

    def __iter__(self) -> "Any":
        return self._work.kept(self._name)


def _reduce_files(job: MapReduceJob, work: WorkFolder, number: int) -> None:
    runs = [_Kept(work, _pairs(piece, number)) for piece in range(len(job.pieces))]
    work.keep(f"reduce-{number}", [reduce_task(job, number, runs).counters])


def _is_reduced(job: MapReduceJob, work: WorkFolder, number: int) -> bool:
    is_there = not isinstance(job.output, str) or Path(job.output, part_name(number)).is_file()
    return is_there and work.is_whole(f"reduce-{number}")


# ---------------------------------------------------------------------------------------------- processes


def on_processes(job: MapReduceJob, work: WorkFolder | None, workers: int, progress: Progress) -> Counter[str]:
    with _Processes(workers, progress) as processes:
        if work is not None:
            return _in_files(job, work, processes.run)
        with temporary_folder("hbtable-job-") as (folder, _):
            return _in_files(job, WorkFolder(folder), processes.run)


_DEATHS: Final = 3


@final
class _Processes:
    """Made when there is a task. An error in the with block, or the end of this process, ends them in the midst of
    their tasks: these may be done again."""

    def __init__(self, workers: int, progress: Progress) -> None:
        self._workers = workers
        self._progress = progress
        self._context = get_context("spawn")
        self._pool: ProcessPoolExecutor | None = None
        self._held, self._holds = self._context.Pipe(duplex=False)

    def __enter__(self) -> "_Processes":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, traceback: object) -> None:
        if kind is not None:
            self._holds.close()
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        self._holds.close()
        self._held.close()

    def run(self, task: Task, kind: str, numbers: list[int], tasks: int) -> None:
        """A process that is killed ends the pool: what was under way is begun again in another one, so often as tasks
        are tried."""
        left = set(numbers)
        self._progress(kind, tasks - len(left), tasks)
        deaths = 0
        while left:
            try:
                pool = self._pool = self._pool or self._made()
                futures = {pool.submit(task, number): number for number in sorted(left)}
                for future in as_completed(futures):
                    future.result()
                    left.discard(futures[future])
                    self._progress(kind, tasks - len(left), tasks)
            except BrokenProcessPool:
                deaths += 1
                if deaths == _DEATHS:
                    raise
                self._pool = None

    def _made(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(self._workers, self._context, end_with, (self._held,))


# ---------------------------------------------------------------------------------------------- Dask


def on_dask(job: MapReduceJob, work: WorkFolder | None, workers: int, progress: Progress) -> Counter[str]:
    dask = needed("dask")
    given = {} if dask.config.get("scheduler", None) else {"scheduler": "processes", "num_workers": workers}
    if work is not None:
        return _in_files(job, work, partial(_delayed, work, given, progress))
    tasks = [dask.delayed(map_task, pure=False)(job, number) for number in range(len(job.pieces))]
    parts = [
        dask.delayed(_reduce_parts, pure=False)(job, number, [dask.delayed(_part)(one, number) for one in tasks])
        for number in range(job.reducers)
    ]
    counted: list[Counter[str]] = list(dask.compute(dask.delayed(_counters_of)(tasks), *parts, **given))
    progress("map", len(tasks), len(tasks))
    progress("reduce", len(parts), len(parts))
    return total(counted)


def _delayed(
    work: WorkFolder, given: dict[str, Any], progress: Progress, task: Task, kind: str, numbers: list[int], tasks: int
) -> None:
    """All of them, then it is told that they are done."""
    dask = needed("dask")
    progress(kind, tasks - len(numbers), tasks)
    if numbers:
        dask.compute(*(dask.delayed(_at_worker, pure=False)("Dask", work, task, number) for number in numbers), **given)
        progress(kind, tasks, tasks)


def _at_worker(engine: str, work: WorkFolder, task: Task, number: int) -> None:
    if not work.has(JOB_FILE):
        raise InvalidRequest(
            f"a worker of {engine} has no folder {work.path} with the job: the 'work' folder has to be one that all "
            "workers share"
        )
    task(number)


def _part(done: TaskYield, number: int) -> list[Pair]:
    return done.parts[number]


def _counters_of(several: list[TaskYield]) -> Counter[str]:
    return total(one.counters for one in several)


def _reduce_parts(job: MapReduceJob, number: int, runs: Iterable[list[Pair]]) -> Counter[str]:
    return reduce_task(job, number, list(runs)).counters


# ---------------------------------------------------------------------------------------------- Spark


def on_spark(job: MapReduceJob, work: WorkFolder | None, workers: int, progress: Progress) -> Counter[str]:
    context = _spark_context()
    if work is not None:
        return _in_files(job, work, partial(_spark_tasks, context, work, progress))
    maps = len(job.pieces)
    progress("map", 0, maps)
    mapped = context.parallelize(range(maps), max(maps, 1)).flatMap(partial(_mapped_parts, job))
    moved = mapped.partitionBy(job.reducers + 1, _itself)
    counted: list[Counter[str]] = moved.mapPartitionsWithIndex(partial(_reduced_part, job)).collect()
    progress("map", maps, maps)
    progress("reduce", job.reducers, job.reducers)
    return total(counted)


def _spark_context() -> Any:
    """Of the session that there is; else of one that Spark makes by its own settings."""
    session = needed("pyspark.sql", "spark").SparkSession
    found = session.getActiveSession() or session.builder.getOrCreate()
    if not hasattr(found, "sparkContext"):
        raise InvalidRequest("a session of Spark Connect runs no Python tasks of a job: make one of Spark itself")
    return found.sparkContext


def _spark_tasks(
    context: Any, work: WorkFolder, progress: Progress, task: Task, kind: str, numbers: list[int], tasks: int
) -> None:
    """All of them, then it is told that they are done."""
    progress(kind, tasks - len(numbers), tasks)
    if numbers:
        context.parallelize(numbers, len(numbers)).foreach(partial(_at_worker, "Spark", work, task))
        progress(kind, tasks, tasks)


def _mapped_parts(job: MapReduceJob, number: int) -> Iterable[tuple[int, tuple[int, Any]]]:
    """By reduce task; what was counted goes to one more."""
    done = map_task(job, number)
    for part, pairs in enumerate(done.parts):
        yield part, (number, pairs)
    yield job.reducers, (number, done.counters)


def _reduced_part(job: MapReduceJob, part: int, found: Iterable[tuple[int, tuple[int, Any]]]) -> list[Counter[str]]:
    by_map = [value for _, (_, value) in sorted(found, key=lambda one: one[1][0])]
    return by_map if part == job.reducers else [reduce_task(job, part, by_map).counters]


def _itself(part: int) -> int:
    return part
