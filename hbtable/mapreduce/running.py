"""mapreduce.run(): makes a job of its arguments, or finds the one that was broken off, and has it run."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Literal, Protocol
from uuid import uuid4

from hbtable.client.columns import Key, listed
from hbtable.client.given import at_least_one, bytes_of
from hbtable.dataflow import Split, WriteTarget, splits, target
from hbtable.errors import InvalidRequest, WrongType, WrongValue
from hbtable.library.table import Table
from hbtable.mapreduce import recognition
from hbtable.mapreduce.engines import JobEngine, Progress, on_dask, on_processes, on_spark
from hbtable.mapreduce.job import JobResult, Mapper, MapReduceJob, Reducer
from hbtable.mapreduce.work_folder import BEGUN, JOB_FILE, WorkFolder
from hbtable.model.values import shown
from hbtable.runtime.repeated import wall_millis
from hbtable.switches import switches


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
    on: 'Literal["processes", "dask", "spark"]' = "processes",
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
    files, which has to be empty. `combiner` does the same before the values are moved, and yields values; it may be
    called any number of times.

    `on`: `workers` processes of this machine; or Dask, by the scheduler that it is set to (without one: by as many
    processes); or Spark, by its active session (without one: by one that Spark's own settings make). The functions are
    pickled; for "processes" a module has to have them by name. A task that fails is tried `attempts` times; its error
    is the job's, and ends the other processes. All that a table gets has one time, so a task that ran twice leaves the
    same; what the job reads is older, so it does not read what it writes.

    With a folder `work`, which workers of Dask and Spark have to share, each task is kept when it is done: a job that
    was broken off goes on, where the same call is made again, with the rows and the time of the first run, and without
    these tasks. Once it has returned, the same call begins anew. Only this user may be able to write there.
    InvalidRequest: the folder is that of a job with other arguments, or of a table that was dropped, or truncated, and
    made anew since. Without `work` nothing is kept.
    """
    engine = _engine(on)
    workers, reducers = at_least_one("'workers'", workers), at_least_one("'reducers'", reducers)
    attempts = at_least_one("'attempts'", attempts)
    for name, function in (("mapper", mapper), ("reducer", reducer)):
        if not callable(function):
            raise WrongType(f"the {name} {shown(function)} is {type(function).__name__}, and has to be a function")
    source = _source(input, columns, row_prefix)
    to = target(output) if isinstance(output, Table) else None if output is None else _path(output)
    folder = None if work is None else WorkFolder(Path(fspath(work)))
    marks = {} if folder is None else _marks(source, mapper, reducer, combiner, output, reducers, on)
    begun = _resumed(folder, marks) or _begun(folder, marks, source, to, workers)
    if isinstance(to, str):
        Path(to).mkdir(parents=True, exist_ok=True)
    job = MapReduceJob(begun.pieces, mapper, combiner, reducer, to, reducers, attempts, begun.timestamp)
    kept = None if folder is None else folder.of_job(begun.id)
    try:
        counters = engine(job, kept, workers, progress or (lambda _, done, count: None))
    finally:
        _clear(*([to] if isinstance(to, str) else []), *([] if kept is None else [str(kept.path)]))
    if folder is not None:
        folder.remove(JOB_FILE)  # it has ended: the same call begins anew, and finds no task of its own
    return JobResult(dict(counters), begun.timestamp)


def _engine(on: object) -> JobEngine:
    engines: dict[object, JobEngine] = {"processes": on_processes, "dask": on_dask, "spark": on_spark}
    if on not in engines:
        raise WrongValue(f"'on' {shown(on)} has to be one of {', '.join(map(repr, engines))}")
    return engines[on]


# ---------------------------------------------------------------------------------------------- input and output


class _Source(Protocol):
    """The input of a job."""

    @switches
    def marks(self) -> recognition.Marks: ...

    def pieces(self, now: int, at_least: int) -> tuple[Split | str, ...]:
        """For a map task each, of what was there before `now`."""


@dataclass(frozen=True)
class _Rows:
    table: Table
    columns: tuple[bytes, ...] | None
    row_prefix: bytes | None

    @switches
    def marks(self) -> recognition.Marks:
        return {
            "input": recognition.of_table(self.table),
            "columns": recognition.of_columns(self.columns),
            "row_prefix": recognition.of_prefix(self.row_prefix),
        }

    @switches
    def pieces(self, now: int, at_least: int) -> tuple[Split | str, ...]:
        return tuple(
            splits(self.table, self.columns, row_prefix=self.row_prefix, timestamp=now, at_least=at_least),
        )


@dataclass(frozen=True)
class _Files:
    files: tuple[str, ...]

    def marks(self) -> recognition.Marks:
        return {"input": recognition.of_files(self.files)}

    def pieces(self, now: int, at_least: int) -> tuple[Split | str, ...]:
        return self.files


def _source(input: object, columns: Iterable[Key] | None, row_prefix: Key | None) -> _Source:
    if isinstance(input, Table):
        names = None if columns is None else tuple(listed(columns))
        return _Rows(input, names, None if row_prefix is None else bytes_of("'row_prefix'", row_prefix))
    if not isinstance(input, (list, tuple)) or not all(isinstance(one, (str, PathLike)) for one in input):
        raise WrongType(f"the input {shown(input)} has to be a table or a list of files")
    if columns is not None or row_prefix is not None:
        raise WrongType("'columns' and 'row_prefix' are for tables: the input are files")
    files = [Path(one).absolute() for one in input]
    for file in files:
        if not file.is_file():
            raise InvalidRequest(f"the input {file} is no file")
    return _Files(tuple(str(file) for file in files))


def _path(output: object) -> str:
    if not isinstance(output, (str, PathLike)):
        raise WrongType(f"the output {shown(output)} has to be a table or a folder")
    return str(Path(fspath(output)).absolute())


def _check_empty(output: str) -> None:
    """InvalidRequest: the folder has what its readers would take for files of this job."""
    found = sorted(one.name for one in Path(output).glob("[!._]*"))
    if found:
        raise InvalidRequest(
            f"the output folder {output} has files already ({found[0]}), which would be taken for this job's: give an "
            "empty one"
        )


def _clear(*folders: str) -> None:
    """Takes away the files that tasks began which were ended."""
    for folder in folders:
        for one in Path(folder).glob(f"{BEGUN}*"):
            one.unlink(missing_ok=True)


# ---------------------------------------------------------------------------------------------- a job that goes on


@dataclass(frozen=True)
class _Begun:
    """The part of a job that is kept when it begins."""

    id: str
    marks: recognition.Marks
    timestamp: int
    pieces: tuple[Split | str, ...]


@switches
def _marks(
    source: _Source, mapper: Mapper, reducer: Reducer, combiner: Reducer | None, output: object, reducers: int, on: str
) -> recognition.Marks:
    functions = {"mapper": mapper, "reducer": reducer, "combiner": combiner}
    return {
        **source.marks(),
        **{name: recognition.of_function(name, function) for name, function in functions.items()},
        "output": _output_mark(output),
        "reducers": str(reducers),
        "on": on,
    }


@switches
def _output_mark(output: object) -> str:
    if isinstance(output, Table):
        return recognition.of_table(output)
    return "none" if output is None else _path(output)


def _resumed(folder: WorkFolder | None, marks: recognition.Marks) -> _Begun | None:
    """The job that the folder holds, if it holds one. InvalidRequest: it is another one."""
    if folder is None or not folder.has(JOB_FILE):
        return None
    begun: _Begun = next(folder.kept(JOB_FILE))
    if others := recognition.differing(begun.marks, marks):
        raise InvalidRequest(f"the folder {folder.path} holds another job: {others}; give it a folder of its own")
    return begun


@switches
def _begun(
    folder: WorkFolder | None, marks: recognition.Marks, source: _Source, to: WriteTarget | str | None, workers: int
) -> _Begun:
    if isinstance(to, str):
        _check_empty(to)
    now = wall_millis() + 1  # behind what is there, but for times that are ahead of this machine's clock
    begun = _Begun(uuid4().hex, marks, now, source.pieces(now, workers))
    if folder is not None:
        folder.keep(JOB_FILE, [begun])
    return begun
