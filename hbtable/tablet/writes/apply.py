"""From row mutations to pairs and log records: the checks of a write, its times and its sequence (paper, section 5.3).

Everything is checked before anything is applied: build() changes nothing but the clock, so a refused call leaves no
trace. Types are, too, below every way in: the length of what is no `bytes` may not be that of its bytes, and what can
change afterwards would change without the log. It does not switch, and neither does its caller before the records are
in the log's queue; hence times and sequences are in log order.

Within one mutation operations count in their order: a server-timed put after a delete gets a time one past the
marker, so it survives; a server-timed delete after a put gets the put's time, so it masks it. Each row is one log
record and one sequence, so it is all or nothing; several rows of a call are not (bug class 19): the caller may send
them again, because what was applied already only gets newer versions of the same values.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, final

from hbtable.commitlog.records import encode_one_pair, encode_record, encode_record_in_parts, encode_single_pairs
from hbtable.encoding.cell_key import FLAG_TTL, INVERT, SUFFIX, TERMINATOR, Pair, row_prefix, suffix_start
from hbtable.encoding.checksum_in_parts import crc32_in_parts
from hbtable.encoding.pairs_checksum import checksum_in_parts
from hbtable.errors import HbtableError, InvalidRequest, LimitExceeded, NoSuchFamily, StaleLocation
from hbtable.merge.tally import UNREAD, Tally
from hbtable.model import names
from hbtable.model.additions import ADDITIONS
from hbtable.model.cell import MAX_TIMESTAMP, SERVER_TIME
from hbtable.model.mutation import (
    DELETE_COLUMN,
    DELETE_FAMILY,
    DELETE_FAMILY_VERSION,
    DELETE_VERSION,
    MAX_ROW_BYTES,
    PUT,
    Operation,
    RowMutation,
)
from hbtable.model.put_batch import PutBatch
from hbtable.model.ranges import RowRange
from hbtable.model.values import LARGEST_I64, check_bytes, shown, whole_number
from hbtable.runtime.slices import let_go
from hbtable.switches import switches, switches_if_given
from hbtable.tablet.layout import LocalityGroupLayout
from hbtable.tablet.writes.checked_write import CheckedWrite
from hbtable.tablet.writes.clock import TabletClock
from hbtable.tablet.writes.own_masking import stacks_of_own, take_unmasked
from hbtable.tablet.writes.prepared import prepared_memtables
from hbtable.tablet.writes.put_pairs import pairs_of_puts
from hbtable.tablet.writes.row_puts import RowPuts
from hbtable.tablet.writes.write_size import WriteSize

_MARKERS: Final = frozenset((DELETE_VERSION, DELETE_COLUMN, DELETE_FAMILY, DELETE_FAMILY_VERSION))
_FAMILY_KINDS: Final = (DELETE_FAMILY, DELETE_FAMILY_VERSION)
_LARGE_CELL_BYTES: Final = 4096
"""Only cells above it are counted, so that usual ones cost nothing."""
HEAVY_BYTES: Final = 8 << 20
"""Of large cells in one write. To copy, check and join more at once takes longer than others should wait."""

_NOT_COUNTED: Final = -(1 << 60)


class IsHeavy(Exception):
    """The write has so many bytes that it is to be built in turns with other tasks: nothing happened."""


class NeedsNewest(Exception):
    """A server-timed DELETE_VERSION masks the newest version, whose time a read must find first."""


@final
class WriteBuilder:
    """Makes pairs and a log record of mutations. What stays the same from one write of a tablet to the next."""

    __slots__ = (
        "_clock",
        "_counted_bytes",
        "_generation",
        "_layout",
        "_max_cell_bytes",
        "_max_row_bytes",
        "_max_write_bytes",
        "_range",
        "_row_puts",
        "_tablet_id",
        "_tally",
    )

    def __init__(
        self,
        layout: LocalityGroupLayout,
        row_range: RowRange,
        tablet_id: int,
        generation: int,
        clock: TabletClock,
        max_cell_bytes: int,
        max_row_bytes: int = MAX_ROW_BYTES,
        tally: Tally = UNREAD,
        max_write_bytes: int = 1 << 30,
    ) -> None:
        self._layout = layout
        self._range = row_range
        self._tablet_id = tablet_id
        self._generation = generation
        self._clock = clock
        self._tally = tally
        self._max_cell_bytes = max_cell_bytes
        self._counted_bytes = min(max_cell_bytes, _LARGE_CELL_BYTES)
        self._max_row_bytes = max_row_bytes
        self._max_write_bytes = max_write_bytes
        self._row_puts = RowPuts(layout.writable, self._counted_bytes)

    def build(self, mutations: Sequence[RowMutation], sequence: int) -> CheckedWrite:
        """The first mutation gets `sequence`, each later one the next. StaleLocation, NoSuchFamily, LimitExceeded,
        InvalidRequest, NeedsNewest, IsHeavy: nothing happened. Hot."""
        layout, clock = self._layout, self._clock
        places, (start, stop) = layout.writable, self._range
        now = clock.tick()
        longest, counted = self._max_row_bytes, self._counted_bytes
        tablet_id, generation = self._tablet_id, self._generation
        by_stack: list[list[Pair]] = [[] for _ in layout.keys]
        records: list[bytes] = []
        logged = time = large_bytes = assigned = 0
        known: tuple[object, ...] = ()
        middle = b""
        sequence -= 1
        for mutation in mutations:
            row, operations = mutation.row, mutation.operations
            if type(row) is not bytes or not row or len(row) > longest or row < start or (stop and row >= stop):
                raise self._refused_row(row)
            if len(operations) == 1:
                kind, family, qualifier, timestamp, value = operations[0]
                place = places.get(family) if type(family) is bytes else None
                # The common put: one cell, a usual time, no row ahead of the tablet's clock, nothing to escape.
                if (
                    kind == PUT
                    and place is not None
                    and (timestamp == SERVER_TIME or (type(timestamp) is int and 0 <= timestamp < MAX_TIMESTAMP))
                    and not clock.rows_ahead
                    and not mutation.ttl_millis
                    and mutation.ttls is None
                    and type(qualifier) is type(value) is bytes
                    and b"\x00" not in row
                    and b"\x00" not in qualifier
                ):
                    sequence += 1
                    if (column := (qualifier, family, timestamp)) != known:
                        known, assigned = column, now if timestamp == SERVER_TIME else 0
                        suffix = suffix_start(assigned or timestamp, PUT)
                        middle = b"".join((TERMINATOR, place[1], qualifier, TERMINATOR, suffix))
                    key = b"".join((row, middle, (INVERT - sequence).to_bytes(8, "big"), b"\x00"))
                    if len(key) + len(value) > counted:
                        large_bytes = self._large(mutation, operations[0], len(key) + len(value), large_bytes)
                    by_stack[place[0]].append((key, value))
                    time = time or assigned
                    if not mutation.skip_log:
                        logged += 1
                        records += encode_one_pair(tablet_id, generation, sequence, assigned, key, value)
                    continue
            elif not operations:
                continue
            sequence += 1
            pairs, row_time, large_bytes = self._row(mutation, now, sequence, by_stack, large_bytes)
            time = max(time, row_time)
            if not mutation.skip_log:
                logged += 1
                records.append(encode_record(tablet_id, generation, sequence, row_time, pairs))
        if time > clock.highest:
            clock.highest = time
        return CheckedWrite(
            layout, frozenset([mutation.row for mutation in mutations]), by_stack, records, logged, sequence, time
        )

    def build_puts(self, puts: PutBatch, sequence: int) -> CheckedWrite | None:
        """As build(), of puts in columns. None: build() has to, because one is not the common put or is to be refused,
        or they may be heavy. Hot."""
        now = self._clock.tick()
        place = self._layout.writable.get(puts.family) if type(puts.family) is bytes else None
        if place is None or puts.timestamp != SERVER_TIME or self._clock.rows_ahead:
            return None
        pairs = pairs_of_puts(puts, place[1], self._range, self._max_row_bytes, self._max_cell_bytes, now, sequence)
        if pairs is None or sum(map(len, puts.values)) > HEAVY_BYTES:
            return None
        records = encode_single_pairs(self._tablet_id, self._generation, sequence, now, pairs)
        by_stack: list[list[Pair]] = [[] for _ in self._layout.keys]
        by_stack[place[0]] = pairs
        if now > self._clock.highest:
            self._clock.highest = now
        last = sequence + len(pairs) - 1
        return CheckedWrite(self._layout, frozenset(puts.rows), by_stack, records, len(pairs), last, now)

    @switches
    def build_in_parts(
        self,
        mutations: Sequence[RowMutation],
        sequence: int,
        pause: Callable[[], None],
        join: Callable[[Sequence[bytes]], bytes] = b"".join,
        pause_refused: Callable[[], None] | None = None,
    ) -> CheckedWrite:
        """As build(), of very many operations or bytes. `join` puts the pieces of the records together. *Switches*: the
        caller sees to it that no other write of the tablet is built meanwhile, and looks whether all is as it was.
        `pause_refused`, which must not raise, is called instead while what a refused write had made is freed."""
        by_stack: list[list[Pair]] = [[] for _ in self._layout.keys]
        of_row: list[Pair] = []
        try:
            return self._built_in_parts(mutations, sequence, pause, join, by_stack, of_row)
        except Exception:
            for pairs in (*by_stack, of_row):
                let_go(pairs, pause_refused or pause)
            raise

    @switches
    def _built_in_parts(
        self,
        mutations: Sequence[RowMutation],
        sequence: int,
        pause: Callable[[], None],
        join: Callable[[Sequence[bytes]], bytes],
        by_stack: list[list[Pair]],
        of_row: list[Pair],
    ) -> CheckedWrite:
        """As build_in_parts(), which frees the lists after an error."""
        clock = self._clock
        start, stop = self._range
        longest = self._max_row_bytes
        now = clock.tick()
        records: list[bytes] = []
        logged = time = 0
        size = WriteSize(self._max_write_bytes, self._layout.table)
        sequence -= 1
        for mutation in mutations:
            row = mutation.row
            if type(row) is not bytes or not row or len(row) > longest or row < start or (stop and row >= stop):
                raise self._refused_row(row)
            if not mutation.operations:
                continue
            sequence += 1
            operations = size.paced(row, mutation.operations, pause)
            pairs, row_time, _ = self._any(mutation, operations, now, sequence, by_stack, _NOT_COUNTED, of_row, pause)
            time = max(time, row_time)
            if not mutation.skip_log:
                logged += 1
                records += encode_record_in_parts(self._tablet_id, self._generation, sequence, row_time, pairs, pause)
            let_go(of_row, pause)  # `by_stack` has them: to count down two million references at once takes 15 ms
            of_row.clear()
        records_checksum = None
        if records:
            records = [join(records)]  # before there are memtables: the pieces go
            if len(records[0]) > HEAVY_BYTES:
                records_checksum = crc32_in_parts(records[0], 0, pause)
        checksums = [checksum_in_parts(pairs, pause) for pairs in by_stack]
        prepared = [prepared_memtables(pairs, sequence, pause) for pairs in by_stack]
        if time > clock.highest:
            clock.highest = time
        rows = frozenset([mutation.row for mutation in mutations])
        return CheckedWrite(
            self._layout, rows, by_stack, records, logged, sequence, time, checksums, prepared, records_checksum
        )

    def _row(
        self, mutation: RowMutation, now: int, sequence: int, by_stack: list[list[Pair]], large_bytes: int
    ) -> tuple[list[Pair], int, int]:
        """As _any(), of operations that are not very many. Hot."""
        if not self._clock.rows_ahead:
            puts = self._row_puts.add(mutation, now, sequence, by_stack)
            if puts is not None:
                return *puts, large_bytes
        return self._any(mutation, mutation.operations, now, sequence, by_stack, large_bytes, [])

    @switches_if_given
    def _any(
        self,
        mutation: RowMutation,
        operations: Iterable[Operation],
        now: int,
        sequence: int,
        by_stack: list[list[Pair]],
        large_bytes: int,
        pairs: list[Pair],
        pause: Callable[[], None] | None = None,
    ) -> tuple[list[Pair], int, int]:
        """(the pairs, also added to `by_stack` and to `pairs`; the newest time assigned by the server, 0 when none was;
        `large_bytes` and those of its large cells)."""
        row = mutation.row
        clock = self._clock
        prefix = row_prefix(row)
        put_time = delete_time = now
        if clock.rows_ahead:
            put_floor, delete_floor = clock.floors(row)
            put_time, delete_time = max(now, put_floor), max(now, delete_floor)
        given_ttl = mutation.ttl_millis and whole_number("the time to live", mutation.ttl_millis, 0, LARGEST_I64)
        places = self._layout.writable
        assigned = 0
        counted = self._counted_bytes
        deleted = False
        ttls, by_sequence = mutation.ttls, self._layout.by_sequence
        own_by_stack = stacks_of_own(by_stack, by_sequence)
        for place_in_row, operation in enumerate(operations):
            kind, family, qualifier, timestamp, value = operation
            if type(qualifier) is not bytes or type(value) is not bytes:
                check_bytes("the qualifier", qualifier)
                check_bytes("the value", value)
            place = places.get(family) if type(family) is bytes else None
            if place is None:
                raise self._no_family(family)
            if timestamp in (SERVER_TIME, MAX_TIMESTAMP):
                if kind == PUT:
                    assigned = timestamp = put_time
                    delete_time = max(delete_time, put_time)  # a delete after this put masks it
                    deleted = False
                elif kind == DELETE_VERSION:
                    raise NeedsNewest
                else:
                    assigned = timestamp = delete_time
                    put_time = max(put_time, delete_time + 1)  # a put after this marker survives it
                    deleted = True
            elif type(timestamp) is not int or not 0 <= timestamp <= MAX_TIMESTAMP:
                raise bad_timestamp(timestamp)
            ttl_millis = given_ttl if ttls is None else ttls[place_in_row]
            pair = _pair(prefix, place[1], operation, timestamp, sequence, ttl_millis)
            if len(pair[0]) + len(pair[1]) > counted:
                large_bytes = self._large(mutation, operation, len(pair[0]) + len(pair[1]), large_bytes)
            pairs.append(pair)
            own_by_stack[place[0]].append(pair)
            if kind != PUT:
                self._tally.markers += 1
        if deleted or assigned > now:
            clock.note(row, assigned, deleted)
        found = take_unmasked(pairs, len(prefix), by_sequence, own_by_stack, by_stack, pause)
        return found, assigned, large_bytes

    def _large(self, mutation: RowMutation, operation: Operation, size: int, before: int) -> int:
        """The bytes of all large cells, with those `before` this one. LimitExceeded, IsHeavy."""
        if size > self._max_cell_bytes:
            raise self._too_large(mutation, operation, size)
        if before + size > HEAVY_BYTES:
            raise IsHeavy
        return before + size

    # ------------------------------------------------------------ messages

    def _refused_row(self, row: bytes) -> HbtableError:
        if type(row) is not bytes or not 0 < len(row) <= self._max_row_bytes:
            return bad_row(row, self._max_row_bytes)
        return StaleLocation(f"row {row!r} lies outside tablet {self._tablet_id} of table {self._layout.table}")

    def _no_family(self, family: bytes) -> InvalidRequest:
        if self._layout.read_only:
            return InvalidRequest(f"table {self._layout.table} is read only")
        return no_such_family(self._layout, family)

    def _too_large(self, mutation: RowMutation, operation: Operation, size: int) -> LimitExceeded:
        column = operation[1] + b":" + operation[2]
        return LimitExceeded(
            f"a cell of {size} bytes in row {mutation.row[:64]!r}, column {column[:64]!r} of table "
            f"{self._layout.table} is larger than the limit of {self._max_cell_bytes} bytes "
            "(tablet.max_cell_bytes): make it smaller, or have the limit raised"
        )


def _pair(prefix: bytes, family: bytes, operation: Operation, timestamp: int, sequence: int, ttl_millis: int) -> Pair:
    kind, _, qualifier, _, value = operation
    flags = 0
    if kind == PUT:
        kind = PUT  # 8.0 is equal to it, and cannot be packed
        if ttl_millis:
            flags = FLAG_TTL
            value = ttl_millis.to_bytes(8, "big") + value
    elif type(kind) is int and kind in _MARKERS:
        value = b""
        if kind in _FAMILY_KINDS:
            qualifier = b""  # family markers sit at the empty qualifier, where every read of the family looks first
    elif kind in ADDITIONS:
        raise InvalidRequest("increments and appends among other changes are made by a change on a condition alone")
    else:
        raise InvalidRequest(f"{shown(kind)} is not a kind of operation")
    if b"\x00" in qualifier:
        qualifier = qualifier.replace(b"\x00", b"\x00\xff")
    suffix = SUFFIX.pack(INVERT - timestamp, kind, INVERT - sequence, flags)
    return b"".join((prefix, family, qualifier, TERMINATOR, suffix)), value


def bad_row(row: bytes, longest: int) -> InvalidRequest:
    check_bytes("the row", row)
    if not row:
        return InvalidRequest("Row length is 0")
    return LimitExceeded(f"Row length {len(row)} is > {longest}")


def bad_timestamp(timestamp: object) -> InvalidRequest:
    if type(timestamp) is int and timestamp < 0:
        return InvalidRequest(f"Timestamp cannot be negative. ts={shown(timestamp)}")
    return InvalidRequest(f"the timestamp {shown(timestamp)} is no whole number from 0 to {MAX_TIMESTAMP}")


def no_such_family(layout: LocalityGroupLayout, family: bytes) -> NoSuchFamily:
    check_bytes("the column family", family)
    there = ", ".join(map(names.shown, sorted(layout.stored)))
    return NoSuchFamily(f"Column family {names.shown(family)} does not exist in table {layout.table}; it has {there}")
