"""A record of the whole cluster in one file of the lock service, as Chubby keeps its lists. It is changed by
compare-and-set, and every process that goes by it watches it.

A watch is a hint that may be late or lost, so these processes read the file now and then as well.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, NamedTuple, TypeVar, final

from hbtable.errors import AlreadyExists, FileNotFound, LimitExceeded
from hbtable.lockservice.interface import Session
from hbtable.lockservice.paths import ACCESS
from hbtable.runtime.interface import Event, Runtime, Task
from hbtable.runtime.supervision import supervise
from hbtable.switches import switches

T = TypeVar("T")

MOST_BYTES: Final = 900_000
"""Of the record: a file of the lock service has no more than 1,000,000."""


@dataclass(frozen=True, slots=True)
class RecordKind(Generic[T]):
    """The path of a record's file, and the record's form."""

    path: str
    nothing: T
    """The record while there is no file."""
    encode: Callable[[T], bytes]
    decode: Callable[[bytes, str], T]
    """Corruption, UnsupportedFormat, which name the path that it is given."""
    things: str
    """The plural of what the record lists, for messages."""
    fewer: str
    """Advice for whoever has too many of them, in the imperative."""


class RecordChange(NamedTuple, Generic[T]):
    """A record as a change found it, and as it left it."""

    before: T
    after: T


@final
class RecordFile(Generic[T]):
    """Read and changed; nothing is remembered here."""

    def __init__(self, session: Session, kind: RecordKind[T]) -> None:
        self._session = session
        self._kind = kind

    @switches
    def read(self, latest: bool = False) -> T:
        """The record as it is now; `latest` as Session.read has it. Corruption, UnsupportedFormat."""
        try:
            return self._decoded(self._session.read(self._kind.path, latest).data)
        except FileNotFound:
            return self._kind.nothing

    @switches
    def change(self, edit: Callable[[T], T]) -> RecordChange[T]:
        """Durable on return. `edit` may *switch*, and what it looks up holds for the change; it is called again when
        somebody else was quicker. LimitExceeded when the record would be too long for one file; Corruption,
        UnsupportedFormat."""
        return self._change(edit, always=False)

    @switches
    def overtake(self, edit: Callable[[T], T]) -> RecordChange[T]:
        """As change(); and each other change that has read the file before, and has not written it yet, reads it again,
        even if this one changes nothing."""
        return self._change(edit, always=True)

    @switches
    def _change(self, edit: Callable[[T], T], always: bool) -> RecordChange[T]:
        while True:
            try:
                return self._changed(edit, always)
            except AlreadyExists:  # a Conflict is one, too
                continue

    @switches
    def _changed(self, edit: Callable[[T], T], always: bool) -> RecordChange[T]:
        path, nothing = self._kind.path, self._kind.nothing
        try:
            file = self._session.read(path)
        except FileNotFound:
            if edit(nothing) == nothing:
                return RecordChange(nothing, nothing)
            # Empty at first: a file that is made at once with its record could not be overtaken.
            self._session.create(path, self._encoded(nothing))
            file = self._session.read(path)
        known = self._decoded(file.data)
        edited = edit(known)
        if always or edited != known:
            self._session.write(path, self._encoded(edited), file.version)
        return RecordChange(known, edited)

    def _decoded(self, data: bytes) -> T:
        return self._kind.decode(data, self._kind.path)

    def _encoded(self, record: T) -> bytes:
        data = self._kind.encode(record)
        if len(data) > MOST_BYTES:
            raise LimitExceeded(
                f"the {self._kind.things} of this cluster would take {len(data)} bytes, and {MOST_BYTES} is the most: "
                f"{self._kind.fewer}"
            )
        return data


class RecordFollower(ABC):
    """Calls refresh() from start() to stop(): at once, when something changes in the folder of these records, and after
    `seconds` without a change."""

    def __init__(self, runtime: Runtime, session: Session, seconds: float, name: str) -> None:
        self._runtime = runtime
        self._session = session
        self._seconds = seconds
        self._name = name
        self._look: Event = runtime.event()
        self._task: Task | None = None

    @switches
    def start(self) -> None:
        """refresh() was called once on return."""
        self.refresh()
        self._session.watch(ACCESS, self._look.set)
        self._task = supervise(self._runtime, self._follow, name=self._name)

    @switches
    def stop(self) -> None:
        """Idempotent."""
        if self._task is not None:
            self._task.kill()
            self._task = None

    @switches
    def _follow(self) -> None:
        while True:
            self._look.wait(self._seconds)
            self._look.clear()
            self.refresh()

    @abstractmethod
    @switches
    def refresh(self) -> None:
        """Reads the file now. Raises no HbtableError: what is known stays in force."""
