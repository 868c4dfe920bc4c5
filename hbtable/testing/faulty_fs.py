"""A file system that fails as told: full disks, failing syncs, lost answers, slow calls. For tests and simulation.

    plan = FaultPlan()
    fs = FaultyFileSystem(inner, plan, runtime)
    plan.fail("sync", StorageFailed("the disk says no"), path="logs/", nth=3)
    plan.fail("append", OutOfSpace("full"), partial_bytes=7, times=-1)       # until plan.clear()
    plan.delay("sync", seconds=2.0)

Operations: create, append, sync, open, read_at, read_file, write_file, exists, status, list_files, rename, delete,
delete_folder. A rename is matched by its source.
"""

from dataclasses import dataclass
from typing import TypeVar, final

from hbtable.errors import HbtableError
from hbtable.fs.interface import NO_HINTS, AppendFile, FileStatus, FileSystem, PutHints, RandomReadFile
from hbtable.runtime.interface import Runtime

T = TypeVar("T")


@dataclass
class FaultRule:
    """A fault that meets some of the calls of one operation on paths that begin with `path`."""

    operation: str
    path: str
    nth: int
    """The first call it happens to, counted from 1 among those it matches, from when the rule was made."""
    times: int
    """To how many calls from there on; -1: to all."""
    error: HbtableError | None = None
    applied: bool = False
    """The operation is done before the error is raised: the answer was lost."""
    partial_bytes: int = 0
    """Of a failing append so many bytes are written."""
    delay_seconds: float = 0.0
    seen: int = 0

    def strikes(self, operation: str, path: str) -> bool:
        if operation != self.operation or not path.startswith(self.path):
            return False
        self.seen += 1
        return self.seen >= self.nth and (self.times < 0 or self.seen < self.nth + self.times)


@final
class FaultPlan:
    """The rules, in the order of making; all that match are counted, the first error among them is raised."""

    def __init__(self) -> None:
        self.rules: list[FaultRule] = []
        self.calls: list[tuple[str, str]] = []
        """Every operation and path so far, for tests that fail at each in turn."""

    def fail(
        self,
        operation: str,
        error: HbtableError,
        path: str = "",
        nth: int = 1,
        times: int = 1,
        applied: bool = False,
        partial_bytes: int = 0,
    ) -> None:
        self.rules.append(FaultRule(operation, path, nth, times, error, applied, partial_bytes))

    def delay(self, operation: str, seconds: float, path: str = "", nth: int = 1, times: int = -1) -> None:
        self.rules.append(FaultRule(operation, path, nth, times, delay_seconds=seconds))

    def clear(self) -> None:
        """Everything works again."""
        self.rules.clear()

    def striking(self, operation: str, path: str) -> list[FaultRule]:
        self.calls.append((operation, path))
        return [rule for rule in self.rules if rule.strikes(operation, path)]


@final
class FaultyFileSystem:
    """Implements fs.interface.FileSystem over another one."""

    def __init__(self, inner: FileSystem, plan: FaultPlan, runtime: Runtime) -> None:
        self.inner = inner
        self.log_kind = inner.log_kind
        self.plan = plan
        self._runtime = runtime

    def before(self, operation: str, path: str) -> FaultRule | None:
        """Delays; raises the error of a call that is not to be applied, and returns the rule of one that is."""
        failing: FaultRule | None = None
        for rule in self.plan.striking(operation, path):
            if rule.delay_seconds > 0:
                self._runtime.sleep(rule.delay_seconds)
            if rule.error is not None and failing is None:
                failing = rule
        if failing is not None and failing.error is not None and not failing.applied and not failing.partial_bytes:
            raise failing.error.with_traceback(None)
        return failing

    def create(self, path: str) -> AppendFile:
        rule = self.before("create", path)
        file = self.inner.create(path)
        _lose_answer(rule)
        return FaultyAppendFile(self, file)

    def open(self, path: str) -> RandomReadFile:
        _lose_answer(self.before("open", path))
        return FaultyReadFile(self, self.inner.open(path))

    def read_file(self, path: str) -> bytes:
        _lose_answer(self.before("read_file", path))
        return self.inner.read_file(path)

    def write_file(self, path: str, data: bytes) -> None:
        rule = self.before("write_file", path)
        self.inner.write_file(path, data)
        _lose_answer(rule)

    def put_new(self, path: str, data: bytes, hints: PutHints = NO_HINTS) -> None:
        rule = self.before("put_new", path)
        self.inner.put_new(path, data, hints)
        _lose_answer(rule)

    def seal(self, path: str) -> int:
        _lose_answer(self.before("seal", path))
        return self.inner.seal(path)

    def exists(self, path: str) -> bool:
        _lose_answer(self.before("exists", path))
        return self.inner.exists(path)

    def status(self, path: str) -> FileStatus:
        _lose_answer(self.before("status", path))
        return self.inner.status(path)

    def list_files(self, folder: str) -> list[FileStatus]:
        _lose_answer(self.before("list_files", folder))
        return self.inner.list_files(folder)

    def rename(self, source: str, target: str) -> None:
        rule = self.before("rename", source)
        self.inner.rename(source, target)
        _lose_answer(rule)

    def delete(self, path: str) -> None:
        rule = self.before("delete", path)
        self.inner.delete(path)
        _lose_answer(rule)

    def delete_folder(self, folder: str) -> None:
        rule = self.before("delete_folder", folder)
        self.inner.delete_folder(folder)
        _lose_answer(rule)


@final
class FaultyAppendFile:
    """An append file under the plan's rules."""

    __slots__ = ("_inner", "_system", "path")

    def __init__(self, system: FaultyFileSystem, inner: AppendFile) -> None:
        self.path = inner.path
        self._system = system
        self._inner = inner

    def append(self, data: bytes) -> None:
        rule = self._system.before("append", self.path)
        self._inner.append(data if rule is None or rule.applied else data[: rule.partial_bytes])
        _lose_answer(rule)

    def sync(self) -> None:
        rule = self._system.before("sync", self.path)
        self._inner.sync()
        _lose_answer(rule)

    def close(self) -> None:
        self._inner.close()


@final
class FaultyReadFile:
    """A read file under the plan's rules."""

    __slots__ = ("_inner", "_system", "length_bytes", "path")

    def __init__(self, system: FaultyFileSystem, inner: RandomReadFile) -> None:
        self.path = inner.path
        self.length_bytes = inner.length_bytes
        self._system = system
        self._inner = inner

    def read_at(self, offset: int, size: int) -> bytes:
        _lose_answer(self._system.before("read_at", self.path))
        return self._inner.read_at(offset, size)

    def close(self) -> None:
        self._inner.close()


def _lose_answer(rule: FaultRule | None) -> None:
    if rule is not None and rule.error is not None:
        raise rule.error.with_traceback(None)  # or one that strikes for ever would collect tracebacks
