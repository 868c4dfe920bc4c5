"""A commit log of a cluster's kind on a simulated machine: memory as file system, faults by plan, a fence by hand."""

from collections.abc import Callable
from typing import TypeVar

from hbtable.commitlog.interface import CommitLog
from hbtable.commitlog.opening import open_log
from hbtable.commitlog.options import LogOptions
from hbtable.commitlog.records import encode_record
from hbtable.commitlog.recovery.fencing import is_fenced, marker_path
from hbtable.commitlog.recovery.manifest import list_log
from hbtable.commitlog.recovery.reading import read_log
from hbtable.commitlog.segments.high_water import high_water_path
from hbtable.errors import HbtableError
from hbtable.fs.memory import MemoryFileSystem
from hbtable.metrics.registry import Registry
from hbtable.runtime.interface import Task
from hbtable.testing.faulty_fs import FaultPlan, FaultyFileSystem
from hbtable.testing.simulated.runtime import SimulatedRuntime

T = TypeVar("T")
Change = tuple[int, int]
INCARNATION = "server-1"
FOLDER = f"logs/{INCARNATION}"


class ClusterLog:
    """Everything committed is noted in `applied` or `refused` by its callbacks, `called` is what was asked for."""

    def __init__(self, kind: str, seed: int = 1) -> None:
        self.runtime = SimulatedRuntime(seed)
        self.memory = MemoryFileSystem(self.runtime)
        self.plan = FaultPlan()
        self.fs = FaultyFileSystem(self.memory, self.plan, self.runtime)
        self.fs.log_kind = kind
        self.called: list[Change] = []
        self.applied: list[Change] = []
        self.refused: list[Change] = []
        self.errors: dict[Change, HbtableError] = {}
        self.lost = 0

    def run(self, main: Callable[..., T], *arguments: object) -> T:
        return self.runtime.run(main, *arguments)

    def open(self, **options: object) -> CommitLog:
        """Inside run()."""
        return open_log(
            self.runtime,
            self.fs,
            INCARNATION,
            LogOptions(**options),  # type: ignore[arg-type]
            Registry(),
            lambda: is_fenced(self.fs, INCARNATION),
            self._lose,
        )

    def _lose(self) -> None:
        self.lost += 1

    def commit(self, log: CommitLog, tablet: int, sequence: int, value: bytes = b"value") -> None:
        change = (tablet, sequence)
        record = encode_record(tablet, 1, sequence, 0, [(b"row\x00\x01f\x00q\x00\x01" + bytes(18), value)])
        self.called.append(change)
        try:
            log.commit(
                tablet,
                sequence,
                record,
                lambda: self.applied.append(change),
                refused=lambda: self.refused.append(change),
            )
        except HbtableError as error:
            self.errors[change] = error
            raise

    def begin(self, log: CommitLog, tablet: int, sequence: int, value: bytes = b"value") -> Task:
        """A task that is inside commit() on return."""
        inside: list[bool] = []

        def client() -> None:
            inside.append(True)
            try:
                self.commit(log, tablet, sequence, value)
            except HbtableError:
                """In `errors`."""

        task = self.runtime.spawn(client)
        while not inside:
            self.runtime.sleep(0)
        return task

    def put_marker(self) -> None:
        self.memory.write_file(marker_path(INCARNATION), b"fenced")

    def written(self) -> list[Change]:
        """What recovery reads."""
        self.memory.log_kind = self.fs.log_kind
        manifest = list_log(self.memory, FOLDER)
        return [(record.tablet_id, record.sequence) for record in read_log(self.memory, FOLDER, manifest)]

    def files(self) -> list[str]:
        """Without its high-water mark."""
        paths = [path for path in sorted(self.memory.disk.files) if path.startswith(FOLDER + "/")]
        return [path[len(FOLDER) + 1 :] for path in paths if path != high_water_path(FOLDER)]

    def calls(self, operation: str) -> int:
        """Of this operation on files of the log, since it was opened."""
        return sum(name == operation and path.startswith(f"{FOLDER}/") for name, path in self.plan.calls)
