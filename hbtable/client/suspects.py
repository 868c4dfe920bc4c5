"""Requests that servers died of: remembered by fingerprint, refused after the second death.

A read with a filter that kills the server which carries it out would be tried again at the next server, and the next.
So each such read is noted while it is under way:

* Where the server is another process, its caller outlives it. A call that got no answer, and whose tablet another
  server has taken over since, is a death.
* Where all roles are one process, a mark of each such request lies in a file (fs/under_way.py) that the next start
  finds.

The lock service keeps the number of deaths by request, for all processes and starts. An answer to the request clears
it: then something else was to blame. So does a day without a death. An operator clears all by deleting the file in
ZooKeeper, or, where all roles are one process, the file of the marks: both are read before each refusal. Reads without
a filter and writes are not watched, and cost nothing.
"""

import json
import logging
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any, Final, NamedTuple, Protocol, TypeVar, final

from hbtable.errors import Conflict, FileNotFound, HbtableError, LimitExceeded, ServerLost
from hbtable.fs.under_way import Mark
from hbtable.lockservice.interface import Session
from hbtable.lockservice.paths import SUSPECT_REQUESTS, SUSPECTS
from hbtable.model.cell import Row
from hbtable.model.read import ReadSpec, ScanPage, ScanRequest
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches

_LOG: Final = logging.getLogger(__name__)

FILE: Final = SUSPECT_REQUESTS
_FORMAT: Final = 1
_DEATHS: Final = 2
_KEPT_MILLIS: Final = 24 * 3600 * 1000
_KEPT: Final = 200
"""Requests. A server has few under way when it dies; beyond this the oldest are forgotten."""
_SHOWN: Final = 120

T = TypeVar("T")


class Marks(Protocol):
    """Notes which reads are under way in this process, for the process after it. Nothing here switches."""

    def left_over(self) -> list[Mark]:
        """The marks of the process before, if it died. To be called once, before the first take()."""

    def take(self, mark: Mark) -> int:
        """A place, to be given to free(). -1: all are taken."""

    def free(self, place: int) -> None: ...

    def was_removed(self) -> bool:
        """An operator's way to say that everything is to be forgotten. True once."""


class _Record(NamedTuple):
    """A suspect's state."""

    deaths: int
    millis: int
    shown: str


@final
class Suspects:
    """The requests of this process that servers may have died of. `marks`: None where servers are other processes than
    their callers."""

    def __init__(self, runtime: Runtime, session: Session, marks: Marks | None = None) -> None:
        self._runtime = runtime
        self._session = session
        self._marks = marks
        self._known: dict[bytes, _Record] = {}
        self._lost: dict[bytes, str] = {}  # whoever was asked last, and gave no answer
        self._is_stale = False

    @switches
    def start(self) -> None:
        """*Switches.* Counts what the process before this one died with."""
        self._session.watch(SUSPECTS, self._changed)
        self._read_again()
        left = self._marks.left_over() if self._marks is not None else []
        for mark in {mark.fingerprint: mark for mark in left}.values():
            self._count(mark)

    @switches
    def read_rows(
        self, owner: str, table: str, rows: Sequence[bytes], spec: ReadSpec, read: Callable[[], list[Row]]
    ) -> list[Row]:
        """`read`, which asks the server `owner`. LimitExceeded, for a request that servers died of."""
        return self._call(owner, _mark(table, list(rows), spec), read)

    @switches
    def mutate_if(self, owner: str, table: str, row: bytes, spec: ReadSpec, write: Callable[[], bool]) -> bool:
        """`write`, as of read_rows(): its condition is read."""
        return self._call(owner, _mark(table, [row], spec), write)

    @switches
    def scan(self, owner: str, table: str, request: ScanRequest, scan: Callable[[], ScanPage]) -> ScanPage:
        """`scan`, which asks the server `owner`. LimitExceeded, for a request that servers died of."""
        where = request.range, request.reversed, request.position, request.cells_per_row
        return self._call(owner, _mark(table, where, request.spec), scan)

    @switches
    def _call(self, owner: str, mark: Mark | None, function: Callable[[], T]) -> T:
        if mark is None:
            return function()  # which refuses it
        if self._lost.get(mark.fingerprint, owner) != owner:
            del self._lost[mark.fingerprint]
            self._count(mark)
        if self._is_stale:
            self._read_again()
        if mark.fingerprint in self._known:
            self._refuse(mark)
        place = self._marks.take(mark) if self._marks is not None else -1
        try:
            answer = function()
        except ServerLost:
            if len(self._lost) >= _KEPT:
                self._lost.clear()
            self._lost[mark.fingerprint] = owner
            raise
        finally:
            if self._marks is not None:
                self._marks.free(place)
        if mark.fingerprint in self._known:
            self._change(lambda known: known.pop(mark.fingerprint, None))
        if self._lost:
            self._lost.pop(mark.fingerprint, None)
        return answer

    @switches
    def _refuse(self, mark: Mark) -> None:
        """LimitExceeded, if there were deaths enough and nobody has cleared them."""
        if self._known[mark.fingerprint].deaths < _DEATHS:
            return
        if self._marks is not None and self._marks.was_removed():
            self._change(lambda known: known.clear())
        self._read_again()
        record = self._known.get(mark.fingerprint)
        if record is not None and record.deaths >= _DEATHS:
            raise LimitExceeded(
                f"this request on table {mark.shown} was under way when {record.deaths} tablet servers died, and is "
                "refused for a day; send another one, or see docs/operations.md, 'Requests that servers die of'"
            )

    @switches
    def _read_again(self) -> None:
        self._is_stale = False
        try:
            self._known = self._load()[0]
        except HbtableError as error:
            _LOG.warning("%s could not be read: %s", FILE, error)

    @switches
    def _count(self, mark: Mark) -> None:
        now = self._runtime.wall_millis()

        def one_more(known: dict[bytes, _Record]) -> None:
            before = known.get(mark.fingerprint, _Record(0, now, mark.shown))
            known[mark.fingerprint] = before._replace(deaths=before.deaths + 1, millis=now)

        _LOG.warning("a tablet server died while this request was under way: %s", mark.shown)
        self._change(one_more)

    @switches
    def _change(self, edit: Callable[[dict[bytes, _Record]], object]) -> None:
        """In the lock service, and here. What cannot be written there is known here only."""
        while True:
            try:
                known, version = self._load()
                edit(known)
                data = _encoded(known)
                if version:
                    self._session.write(FILE, data, version)
                else:
                    self._session.create(FILE, data)
                self._known = known  # not before: what could not be written is edited once more below
                return
            except (Conflict, FileNotFound):
                continue  # another process was quicker
            except HbtableError as error:
                edit(self._known)
                _LOG.warning("%s could not be changed: %s", FILE, error)
                return

    @switches
    def _load(self) -> tuple[dict[bytes, _Record], int]:
        """Without what is too old, and the version; 0: there is no file. One that cannot be read says nothing."""
        try:
            file = self._session.read(FILE)
        except FileNotFound:
            return {}, 0
        oldest = self._runtime.wall_millis() - _KEPT_MILLIS
        return {key: one for key, one in _decoded(file.data).items() if one.millis > oldest}, file.version

    def _changed(self) -> None:
        self._is_stale = True


def _mark(table: str, where: object, spec: ReadSpec) -> Mark | None:
    """Always the same for the same request, in any process. None for values that the tablet refuses."""
    try:
        families = spec.columns.items() if spec.columns is not None else ()
        columns = sorted((family, None if one is None else sorted(one)) for family, one in families)
        shown = (spec.filter or b"")[:_SHOWN].decode("utf-8", "replace")
    except (AttributeError, TypeError):
        return None
    rest = spec.min_timestamp, spec.max_timestamp, spec.max_versions, spec.raw
    what = repr((table, where, spec.filter, columns, rest))
    return Mark(blake2b(what.encode(), digest_size=16).digest(), f"{table} with the filter {shown}")


def _encoded(known: dict[bytes, _Record]) -> bytes:
    latest = sorted(known.items(), key=lambda item: -item[1].millis)[:_KEPT]
    requests = {fingerprint.hex(): record._asdict() for fingerprint, record in latest}
    return json.dumps({"format": _FORMAT, "requests": requests}, sort_keys=True).encode()


def _decoded(data: bytes) -> dict[bytes, _Record]:
    try:
        fields: dict[str, Any] = json.loads(data)
        if fields["format"] != _FORMAT:
            return {}  # of a later version, which looks after it
        return {
            bytes.fromhex(fingerprint): _Record(int(one["deaths"]), int(one["millis"]), str(one["shown"]))
            for fingerprint, one in fields["requests"].items()
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        _LOG.warning("%s is damaged, and is passed over: %s", FILE, error)
        return {}
