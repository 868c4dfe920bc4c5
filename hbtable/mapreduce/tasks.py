"""The work of one task: it maps a piece of the input, or reduces a part of the keys. It may be done twice, here or
there, and leaves the same."""

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from heapq import merge
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar
from uuid import uuid4

from hbtable.client.given import bytes_of
from hbtable.dataflow import Split, WriteTarget, read, write
from hbtable.fs.disk import sync_descriptor, sync_folder
from hbtable.mapreduce.counting import counting
from hbtable.mapreduce.job import OWN_COUNTERS, MapReduceJob, Pair, Reducer
from hbtable.mapreduce.work_folder import BEGUN

T = TypeVar("T")

_COMBINED_AT: Final = 100_000
"""So many pairs are combined, before a map task goes on."""
_key = itemgetter(0)


class TaskYield(NamedTuple):
    """The yield of a task, and its counters."""

    parts: list[list[Pair]]
    """Of a map task: pairs by reduce task, ascending by key. Of a reduce task none."""
    counters: Counter[str]


def map_task(job: MapReduceJob, number: int) -> TaskYield:
    """The piece with this number. A map task's pairs lie in memory: cut the input finer where they are too many."""

    def work(counters: Counter[str]) -> list[list[Pair]]:
        parts: list[list[Pair]] = [[] for _ in range(job.reducers)]
        held = 0
        for key, value in _records(job.pieces[number]):
            counters["map input"] += 1
            for new_key, new_value in job.mapper(key, value):
                made = bytes_of("a mapper's key", new_key)
                parts[zlib.crc32(made) % job.reducers].append((made, new_value))
                counters["map output"] += 1
                held += 1
            if job.combiner is not None and held >= _COMBINED_AT:
                parts = [_combined(part, job.combiner) for part in parts]
                held = 0
        return [_combined(part, job.combiner) for part in parts]

    return _attempted(f"map task {number}, {_shown(job.pieces[number])}", job.attempts, work)


def reduce_task(job: MapReduceJob, number: int, runs: Iterable[Iterable[Pair]]) -> TaskYield:
    """The part with this number of what the map tasks gave. `runs` can be gone through again."""

    def work(counters: Counter[str]) -> list[list[Pair]]:
        def made() -> Iterator[Any]:
            for key, pairs in groupby(merge(*runs, key=_key), _key):
                counters["reduce input"] += 1
                for one in job.reducer(key, (value for _, value in pairs)):
                    counters["output"] += 1
                    yield one

        _put_out(job, number, made())
        return []

    return _attempted(f"reduce task {number}", job.attempts, work)


def total(counters: Iterable[Counter[str]]) -> Counter[str]:
    """Their sums, with all of a job's own."""
    found = Counter(dict.fromkeys(OWN_COUNTERS, 0))
    for one in counters:
        found.update(one)  # Counter's + would leave out what is not above 0
    return found


def _records(piece: Split | str) -> Iterator[tuple[Any, Any]]:
    if isinstance(piece, Split):
        for batch in read(piece):
            yield from batch
        return
    offset = 0
    with open(piece, "rb") as file:
        for line in file:
            yield offset, line.rstrip(b"\r\n")
            offset += len(line)


def _combined(pairs: list[Pair], combiner: Reducer | None) -> list[Pair]:
    pairs.sort(key=_key)
    if combiner is None:
        return pairs
    return [
        (key, value) for key, alike in groupby(pairs, _key) for value in combiner(key, (value for _, value in alike))
    ]


def _put_out(job: MapReduceJob, number: int, made: Iterator[Any]) -> None:
    if isinstance(job.output, WriteTarget):
        write(job.output, [made], job.timestamp)
    elif job.output is None:
        for _ in made:
            pass
    else:
        _write_part(job.output, part_name(number), made)


def part_name(number: int) -> str:
    """The name of a reduce task's file in a folder of the output."""
    return f"part-{number:05}"


def _write_part(folder: str, name: str, made: Iterator[Any]) -> None:
    """It comes whole, also when the task runs twice at once, and is durable before anybody says that it is done."""
    part = Path(folder, f"{BEGUN}{uuid4().hex}")
    try:
        with part.open("xb") as file:
            file.writelines(bytes_of("a line of the output", line) + b"\n" for line in made)
            file.flush()
            sync_descriptor(file.fileno())
        part.rename(Path(folder, name))
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    sync_folder(folder)


def _attempted(task: str, attempts: int, work: Callable[[Counter[str]], list[list[Pair]]]) -> TaskYield:
    """The error of the last attempt, which says which task it was."""
    for attempt in range(attempts):
        with counting() as counters:
            try:
                parts = work(counters)
            except Exception as error:
                if attempt + 1 == attempts:
                    error.add_note(f"this was {task}, attempt {attempts} of {attempts}")
                    raise
            else:
                counters["retried tasks"] += bool(attempt)
                return TaskYield(parts, counters)
    raise AssertionError("there is at least one attempt")


def _shown(piece: Split | str) -> str:
    if isinstance(piece, Split):
        return f"rows {piece.row_start!r} to {piece.row_stop!r} of {piece.table.decode(errors='replace')}"
    return piece
