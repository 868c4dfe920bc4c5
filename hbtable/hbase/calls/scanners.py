"""Open scanners: a resume position and its parameters, nothing else.

A scanner holds no file, no lease and no connection. It outlives an hour of silence, splits, moves and the death of
tablet servers; an orderly stop saves it for the next start. Ids can be used from any connection of this gateway.
Parameters are bounded in bytes: when too many are open, whoever has most of them loses those that he did not use for
longest (scanner_shares.py).
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, final

from hbtable.access.tries import address_of
from hbtable.access.user import acting_user
from hbtable.errors import Corruption, LimitExceeded, ScannerNotFound, UnsupportedFormat
from hbtable.hbase.audit import calling_client
from hbtable.hbase.calls.scanner_ids import ScannerIds
from hbtable.hbase.calls.scanner_shares import ScannerShares
from hbtable.model.ranges import RowRange
from hbtable.model.read import ANSWER_BYTES, ReadSpec, ScanPosition, ScanRequest
from hbtable.runtime.interface import Lock, Runtime
from hbtable.switches import switches, switches_if_given

_FORMAT: Final = 1
_WITH_FAMILY_TIMES: Final = 2
"""Written only where a scanner has those: a release that does not know them would show other cells."""
_OVERHEAD_BYTES: Final = 1000
"""Objects around the parameters, about."""
_COLUMNS_BETWEEN_PAUSES: Final = 1024
_DROPPED_BETWEEN_PAUSES: Final = 16 << 10
"""Bytes of scanners: one of 100,000 columns takes as long as 8,000 small ones."""


@dataclass(frozen=True, slots=True)
class ScannerOptions:
    """Options: for how long scanners are kept, and how many."""

    idle_seconds: float = 3600.0
    """An unused scanner is closed after this. Raising it keeps parameters of clients that went away for longer."""
    memory_bytes: int = 64 << 20
    """All parameters together; beyond it whoever has most of them loses the scanner that he did not use for longest.
    60,000 plain scanners fit."""


@final
class Scanner:
    """One open scanner. `request` as opened, without a position; `position` None before the first fetch."""

    __slots__ = (
        "address",
        "ended",
        "full_pages",
        "goes_ahead",
        "last_used",
        "lock",
        "owner",
        "position",
        "request",
        "rows_left",
        "size_bytes",
        "sorted_columns",
        "table",
        "was_plain",
    )

    def __init__(
        self, table: bytes, request: ScanRequest, sorted_columns: bool, lock: Lock, ended: bool = False
    ) -> None:
        self.table = table
        self.request = request
        self.sorted_columns = sorted_columns
        self.lock = lock
        """Held during a fetch: two connections may use one id, and must not get the same rows."""
        self.position: ScanPosition | None = None
        self.ended = ended
        self.rows_left: int | None = None
        """None: all there are."""
        self.full_pages = 0
        """Fetches in a row that gave as many rows as were asked for."""
        self.was_plain = False
        """The last page had rows as bytes."""
        self.goes_ahead = True
        """No page of it was made ahead in vain yet."""
        self.owner = ""
        """The name of the user who opened it, whose alone it is; empty: of somebody who did not say who he is."""
        self.address = ""
        """The one that it was opened from."""
        self.last_used = 0.0
        self.size_bytes = 0
        """Counted while it is kept."""

    @property
    def holder(self) -> str:
        """In whose share it is. No user's name has a space."""
        return self.owner or f"from {self.address}"


@final
class Scanners:
    """All open scanners of this gateway, by id."""

    def __init__(
        self,
        runtime: Runtime,
        ids: ScannerIds,
        options: ScannerOptions,
        refused: Callable[[int, bytes, str], object] = lambda number, table, owner: None,
    ) -> None:
        """`refused`: told of each use by another one than the owner; must not switch."""
        self._runtime = runtime
        self._clock: Callable[[], float] = runtime.clock_seconds
        self._ids = ids
        self._options = options
        self._refused = refused
        self._open: dict[int, Scanner] = {}  # ascending by last use
        self._shares = ScannerShares()

    def __len__(self) -> int:
        return len(self._open)

    def highest(self) -> int:
        """The highest id of an open scanner, -1 when none is."""
        return max(self._open, default=-1)

    @switches
    def open(
        self, table: bytes, request: ScanRequest, sorted_columns: bool = False, rows_left: int | None = None
    ) -> int:
        """The new scanner's id. LimitExceeded when there is no room for it even among those of the others."""
        size_bytes = _size(table, request, self._runtime.pause_when_due)
        number = self._ids.take(self._open)
        scanner = Scanner(table, request, sorted_columns, self._runtime.lock())
        scanner.rows_left, scanner.size_bytes = rows_left, size_bytes
        user = acting_user()
        scanner.owner = "" if user is None else user.name
        scanner.address = address_of(calling_client().rpartition(":")[0])
        self._keep(number, scanner, self._clock())
        self._make_room()
        if number not in self._open:
            raise LimitExceeded(
                f"a scanner with {size_bytes} bytes of columns and filter has no room: all open scanners together "
                f"may have {self._options.memory_bytes}; ask for fewer columns, or raise "
                "thrift.scanner_memory_bytes"
            )
        return number

    @switches
    def _make_room(self) -> None:
        """*Switches*, as one scanner of 100,000 columns takes the place of 8,000 others. Others may close and open
        scanners meanwhile."""
        left = _DROPPED_BETWEEN_PAUSES
        while self._shares.size_bytes > self._options.memory_bytes and len(self._open) > 1:
            left -= self._drop(self._shares.next_to_go())
            if left <= 0:
                self._runtime.pause_when_due()
                left = _DROPPED_BETWEEN_PAUSES

    def unnumbered(self, table: bytes, request: ScanRequest, rows_left: int | None) -> Scanner:
        """A scanner that nobody else can use, and that is not kept."""
        scanner = Scanner(table, request, False, self._runtime.lock())
        scanner.rows_left = rows_left
        return scanner

    def use(self, number: int | None) -> Scanner:
        """Restarts its hour. ScannerNotFound when it was closed, expired or never given out; also to all but its owner,
        who could otherwise lose rows to them."""
        scanner = self._open.get(number)  # type: ignore[arg-type]  # None is never a key
        if scanner is None or number is None:
            raise ScannerNotFound(f"scanner {number} is not open")
        if scanner.owner and not _is_caller(scanner.owner):
            self._refused(number, scanner.table, scanner.owner)
            raise ScannerNotFound(f"scanner {number} is not open")
        now = self._clock()
        if now - scanner.last_used > self._options.idle_seconds:
            self._drop(number)
            raise ScannerNotFound(f"scanner {number} was not used for {self._options.idle_seconds:.0f} seconds")
        scanner.last_used = now
        del self._open[number]
        self._open[number] = scanner
        self._shares.used(scanner.holder, number)
        return scanner

    def find(self, number: int | None) -> Scanner | None:
        """Does not count as a use."""
        return self._open.get(number)  # type: ignore[arg-type]  # None is never a key

    def close(self, number: int | None) -> None:
        """ScannerNotFound."""
        self.use(number)
        if number is not None:
            self._drop(number)

    def table_of(self, number: int) -> bytes | None:
        """The table of a scanner that may be gone; does not count as a use."""
        scanner = self._open.get(number)
        return scanner.table if scanner is not None else None

    @switches
    def expire(self) -> int:
        """Closes what was not used for too long; how many those were. *Switches* between many."""
        oldest = self._clock() - self._options.idle_seconds
        expired, left = 0, _DROPPED_BETWEEN_PAUSES
        while self._open:
            number = next(iter(self._open))  # of the longest ago
            if self._open[number].last_used >= oldest:
                break
            left -= self._drop(number)
            expired += 1
            if left <= 0:
                self._runtime.pause_when_due()
                left = _DROPPED_BETWEEN_PAUSES
        return expired

    def save(self) -> bytes:
        """All open scanners, for restore() in the next process: ids stay valid over an orderly restart."""
        now = self._clock()
        records = [_to_json(number, scanner, now - scanner.last_used) for number, scanner in self._open.items()]
        number = _WITH_FAMILY_TIMES if any("family_times" in record for record in records) else _FORMAT
        return json.dumps({"format": number, "scanners": records}).encode("ascii")

    def restore(self, saved: bytes) -> None:
        """UnsupportedFormat when a newer hbtable wrote it; Corruption when nobody did. Then none is open."""
        now = self._clock()
        restored = []
        try:
            content = json.loads(saved)
            if content["format"] not in (_FORMAT, _WITH_FAMILY_TIMES):
                raise UnsupportedFormat(
                    f"saved scanners have format {content['format']}, this hbtable knows {_FORMAT} and "
                    f"{_WITH_FAMILY_TIMES}; remove the file"
                )
            for record in content["scanners"]:
                scanner = _from_json(record, self._runtime.lock())
                restored.append((int(record["id"]), scanner, now - float(record["idle_seconds"])))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Corruption("saved scanners", 0, f"{type(error).__name__}: {error}") from error
        for number, scanner, last_used in restored:
            self._keep(number, scanner, last_used)

    def _keep(self, number: int, scanner: Scanner, last_used: float) -> None:
        scanner.last_used = last_used
        self._open[number] = scanner
        self._shares.add(scanner.holder, number, scanner.size_bytes)

    def _drop(self, number: int) -> int:
        """The bytes that it had."""
        scanner = self._open.pop(number)
        self._shares.remove(scanner.holder, number, scanner.size_bytes)
        return scanner.size_bytes


def _is_caller(owner: str) -> bool:
    """Whether the call is of this user, or nobody has to say who he is any more."""
    user = acting_user()
    return user is None or user.name == owner


@switches_if_given
def _size(table: bytes, request: ScanRequest, pause: Callable[[], object] | None = None) -> int:
    """`pause` lets others run between many columns."""
    total = _OVERHEAD_BYTES + len(table) + len(request.range.start) + len(request.range.stop)
    total += len(request.spec.filter or b"")
    for family, qualifiers in (request.spec.columns or {}).items():
        total += 250 + len(family)
        for number, qualifier in enumerate(qualifiers or (), 1):
            total += 100 + len(qualifier)
            if pause is not None and not number % _COLUMNS_BETWEEN_PAUSES:
                pause()
    total += sum(250 + len(family) for family in request.family_times or ())
    return total


# ---------------------------------------------------------------- as JSON, bytes as Latin-1 text


def _to_json(number: int, scanner: Scanner, idle_seconds: float) -> dict[str, Any]:
    request, spec, position = scanner.request, scanner.request.spec, scanner.position
    return {
        "id": number,
        "idle_seconds": idle_seconds,
        "table": _text(scanner.table),
        "sorted": scanner.sorted_columns,
        "ended": scanner.ended,
        "start": _text(request.range.start),
        "stop": _text(request.range.stop),
        "reversed": request.reversed,
        "cells_per_row": request.cells_per_row,
        "columns": None
        if spec.columns is None
        else [[_text(f), None if q is None else sorted(map(_text, q))] for f, q in spec.columns.items()],
        "max_timestamp": spec.max_timestamp,
        "filter": None if spec.filter is None else _text(spec.filter),
        "cache_blocks": spec.cache_blocks,
        **({} if spec.max_bytes == ANSWER_BYTES else {"max_bytes": spec.max_bytes}),
        **({} if spec.min_timestamp == 0 else {"min_timestamp": spec.min_timestamp}),
        **({} if spec.max_versions == 1 else {"max_versions": spec.max_versions}),
        **_times_to_json(request),
        **({} if scanner.rows_left is None else {"rows_left": scanner.rows_left}),
        **({"owner": scanner.owner} if scanner.owner else {}),
        **({"address": scanner.address} if scanner.address else {}),
        "position": position
        and {
            "row": _text(position.row),
            "cells_done": position.cells_done,
            "filter_state": _text(position.filter_state),
            **_cell_to_json(position),
        },
    }


def _from_json(record: dict[str, Any], lock: Lock) -> Scanner:
    columns = record["columns"]
    spec = ReadSpec(
        columns=None
        if columns is None
        else {_bytes(f): None if q is None else frozenset(map(_bytes, q)) for f, q in columns},
        min_timestamp=record.get("min_timestamp", 0),
        max_timestamp=record["max_timestamp"],
        max_versions=record.get("max_versions", 1),
        filter=None if record["filter"] is None else _bytes(record["filter"]),
        cache_blocks=record["cache_blocks"],
        max_bytes=record.get("max_bytes", ANSWER_BYTES),
    )
    request = ScanRequest(
        RowRange(_bytes(record["start"]), _bytes(record["stop"])),
        spec,
        reversed=record["reversed"],
        cells_per_row=record["cells_per_row"],
        family_times={_bytes(f): (int(low), int(high)) for f, low, high in record.get("family_times", ())} or None,
    )
    scanner = Scanner(_bytes(record["table"]), request, record["sorted"], lock, record["ended"])
    scanner.size_bytes = _size(scanner.table, request)
    scanner.rows_left = record.get("rows_left")
    scanner.owner = str(record.get("owner", ""))
    scanner.address = str(record.get("address", ""))
    place = record["position"]
    if place is not None:
        scanner.position = ScanPosition(
            _bytes(place["row"]),
            place["cells_done"],
            _bytes(place["filter_state"]),
            _bytes(place.get("column", "")),
            place.get("timestamp", 0),
            place.get("versions", 0),
        )
    return scanner


def _times_to_json(request: ScanRequest) -> dict[str, Any]:
    if not request.family_times:
        return {}
    return {"family_times": [[_text(family), *times] for family, times in request.family_times.items()]}


def _cell_to_json(position: ScanPosition) -> dict[str, Any]:
    """The last cell given out, where the scan stands inside a row."""
    if not position.column:
        return {}
    return {"column": _text(position.column), "timestamp": position.timestamp, "versions": position.versions}


def _text(data: bytes) -> str:
    return data.decode("latin-1")


def _bytes(text: str) -> bytes:
    return text.encode("latin-1")
