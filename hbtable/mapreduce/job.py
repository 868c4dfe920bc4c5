"""A job, and the folder in which it is kept, so that a job that was broken off goes on."""

import os
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, final

from hbtable.dataflow import Split, WriteTarget
from hbtable.errors import InvalidRequest

Pair = tuple[bytes, Any]
"""A key and a value between map and reduce."""
Mapper = Callable[[Any, Any], Iterable[tuple[Any, Any]]]
Reducer = Callable[[bytes, Iterator[Any]], Iterable[Any]]

_PICKLED_AT_ONCE: Final = 1000


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
    """Milliseconds since 1970, of all that the job writes."""


@dataclass(frozen=True)
class JobResult:
    """Figures of a job that is done."""

    counters: Mapping[str, int] = field(default_factory=dict)
    """Those of mapreduce.count(), and the job's own: "map input", "map output", "reduce input", "output",
    "retried tasks"."""
    timestamp: int = 0
    """Milliseconds since 1970: the time of all cells that the job wrote."""


@final
class WorkFolder:
    """The progress of a job, as files: each comes whole, by renaming. Pickles are programs, so nobody else may write
    here."""

    def __init__(self, path: Path) -> None:
        """Made if it is not there. InvalidRequest: others can write to it."""
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.stat()
        if found.st_uid != os.getuid() or found.st_mode & 0o022:
            raise InvalidRequest(
                f"others than this user can write to the folder {path}, and what lies there is run: give another "
                "'work' folder, an empty one"
            )
        self.path = path

    def has(self, name: str) -> bool:
        return (self.path / name).exists()

    def keep(self, name: str, values: Iterable[Any]) -> None:
        """Nobody sees half of it, also when two tasks keep the same. What is there already is replaced."""
        part = self.path / f"{name}.{os.getpid()}.part"
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            some: list[Any] = []
            for value in values:
                some.append(value)
                if len(some) == _PICKLED_AT_ONCE:
                    pickle.dump(some, file)
                    some = []
            pickle.dump(some, file)
            file.flush()
            os.fsync(file.fileno())  # else a loss of power may leave the name and none of the values
        part.rename(self.path / name)

    def kept(self, name: str) -> Iterator[Any]:
        """In the order in which they were kept. InvalidRequest: it is somebody else's, put there before the folder was
        closed."""
        with open(os.open(self.path / name, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
            found = os.fstat(file.fileno())
            if found.st_uid != os.getuid() or found.st_mode & 0o022:
                raise InvalidRequest(
                    f"{self.path / name} is another user's, or others can write to it, and it would be run: give "
                    "another 'work' folder, an empty one"
                )
            while True:
                try:
                    some = pickle.load(file)  # noqa: S301  (nobody else writes here)
                except EOFError:
                    return
                yield from some
