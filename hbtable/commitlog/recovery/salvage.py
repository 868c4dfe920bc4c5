"""Takes from a damaged log of segments (in whole files: group_salvage.py) sound stretches and single records of damaged
groups, and finds the gaps between.

Recovery takes a log as a prefix without a hole (reading.py). Where it cannot, a master that would otherwise leave all
tablets of a dead server unserved comes here: everything whose checksums hold is taken, and each gap is described so
closely that the tablets it does not concern can be told from those it may concern (gaps.py).

What the successor of a segment does not count of it was refused, and is not taken; nor is a group whose LSN comes again
in a later segment. No file is changed.
"""

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple, final

from hbtable.commitlog.group_files.group_file import group_name
from hbtable.commitlog.groups import HEADER_BYTES, MAGIC, CommitGroup, next_group
from hbtable.commitlog.records import RecordPlace, places
from hbtable.commitlog.recovery.gaps import Gap, OpenGap
from hbtable.commitlog.recovery.group_salvage import salvage_groups
from hbtable.commitlog.recovery.manifest import Manifest
from hbtable.commitlog.segments.high_water import HighWater, read_high_water
from hbtable.commitlog.segments.segment import (
    Segment,
    SegmentHeader,
    decode_header,
    header_bytes,
    incarnation_of,
    seed,
    segment_number,
    segment_path,
)
from hbtable.errors import Corruption, FileNotFound
from hbtable.fs.interface import WEBHDFS, FileSystem
from hbtable.switches import switches

_LEAD: Final = struct.Struct(">II")
_HEAD: Final = struct.Struct(">QIQ")
_LEAST_RECORD: Final = 32


class LooseRecord(NamedTuple):
    """A sound record of a damaged group."""

    place: RecordPlace
    stored: bytes


@dataclass(frozen=True, slots=True)
class SegmentSalvage:
    """The sound parts of a damaged log, and its gaps. `stretches` are segments as reading.sound_groups takes them:
    several of one file, where damage lies between."""

    stretches: list[Segment]
    loose: list[LooseRecord]
    gaps: list[Gap]


class _Sound(NamedTuple):
    """A sound group and where it lies."""

    number: int
    group: CommitGroup


@switches
def salvage(fs: FileSystem, folder: str, manifest: Manifest, pause: Callable[[], None]) -> SegmentSalvage:
    """*Switches*, reads all of it twice. UnsupportedFormat, Unavailable."""
    mark = read_high_water(fs, folder)
    by_path = {f"{folder}/{file.name}": file.length_bytes for file in manifest.files}
    if any(group_name(folder, path) is not None for path in by_path) or fs.log_kind == WEBHDFS:
        stretches, gaps = salvage_groups(fs, folder, by_path, mark, pause)
        return SegmentSalvage(stretches, [], gaps)
    lengths = {}
    for path, length in by_path.items():
        number = segment_number(folder, path)
        if number is not None:
            lengths[number] = length
    return _Salvaging(fs, folder, lengths, mark, pause).run()


@final
class _Salvaging:
    """One look at one log."""

    def __init__(
        self, fs: FileSystem, folder: str, lengths: dict[int, int], mark: HighWater | None, pause: Callable[[], None]
    ) -> None:
        self._fs = fs
        self._folder = folder
        self._lengths = lengths
        self._mark = mark
        self._pause = pause
        self._incarnation = incarnation_of(folder)
        self._header_bytes = header_bytes(self._incarnation)
        self._headers: dict[int, SegmentHeader] = {}
        self._good: dict[int, int] = {}
        """By segment: how much of it counts, as its successor says."""
        self._watermark = 0
        self._oldest = 1
        self._highest: dict[int, int] = {}
        self._stretches: list[Segment] = []
        self._loose: list[LooseRecord] = []
        self._gaps: list[OpenGap] = []

    @switches
    def run(self) -> SegmentSalvage:
        found = self._sound_groups()
        previous: _Sound | None = None
        buffers: dict[int, bytes] = {}
        for sound in found:
            buffer = self._buffer(sound.number, buffers)
            self._look_before(previous, sound, buffers)
            self._count(buffer, sound)
            previous = sound
        self._look_at_the_end(previous, buffers)
        return SegmentSalvage(self._stretches, self._loose, [gap.closed() for gap in self._gaps])

    # ------------------------------------------------------------ groups

    @switches
    def _sound_groups(self) -> list[_Sound]:
        """In the order of their LSNs, from the oldest segment that recovery needs."""
        for number in sorted(self._lengths):
            header = decode_header(self._read(number)[:512], self._path(number), self._incarnation, number)
            if header is not None:
                self._headers[number] = header
                self._watermark = max(self._watermark, header.watermark)
                self._oldest = max(self._oldest, header.oldest_segment)
                if header.previous:
                    self._good[header.previous] = header.previous_bytes
        found: list[_Sound] = []
        for number in sorted(self._lengths):
            of_segment = list(self._groups_of(number))
            if of_segment:
                # What was refused at the end of an earlier segment has an LSN that was used again.
                first = of_segment[0].group.lsn
                while found and found[-1].group.lsn >= first:
                    found.pop()
                found += of_segment
            self._pause()
        return [sound for sound in found if sound.number >= self._oldest]

    @switches
    def _groups_of(self, number: int) -> Iterator[_Sound]:
        buffer = self._read(number)
        lsn = 0
        group = next_group(buffer, self._header_bytes, seed(self._incarnation, number))
        while group is not None:
            if group.lsn > lsn:
                self._watermark = max(self._watermark, group.watermark)
                self._oldest = max(self._oldest, group.oldest_segment)
                lsn = group.lsn
                yield _Sound(number, group)
            group = next_group(buffer, group.end, seed(self._incarnation, number))

    def _count(self, buffer: bytes, sound: _Sound) -> None:
        number, group = sound
        for place in places(buffer, group.payload, group.end, self._path(number)):
            self._see(place.tablet_id, place.sequence)
        last = self._stretches[-1] if self._stretches else None
        if last is not None and (last.number, last.end, last.last_lsn + 1) == (number, group.start, group.lsn):
            self._stretches[-1] = last._replace(end=group.end, last_lsn=group.lsn)
        else:
            segment_seed = seed(self._incarnation, number)
            self._stretches.append(
                Segment(self._path(number), number, segment_seed, group.start, group.end, group.lsn, group.lsn)
            )

    def _see(self, tablet_id: int, sequence: int) -> None:
        for gap in self._gaps:
            gap.after.setdefault(tablet_id, sequence)
        if sequence > self._highest.get(tablet_id, 0):
            self._highest[tablet_id] = sequence

    # ------------------------------------------------------------ gaps

    @switches
    def _look_before(self, previous: _Sound | None, sound: _Sound, buffers: dict[int, bytes]) -> None:
        if previous is not None:
            expected, number, start = previous.group.lsn + 1, previous.number, previous.group.end
        else:
            number = min(self._oldest, sound.number)
            expected, start = self._first_lsn(number, sound), self._header_bytes
        if sound.group.lsn != expected:
            missing = 0 if expected == 0 else sound.group.lsn - expected
            self._gap(number, start, sound.number, sound.group.start, expected, sound.group.lsn - 1, missing, buffers)

    def _first_lsn(self, number: int, sound: _Sound) -> int:
        """The first LSN of the oldest segment needed; 0: not known, and something is missing."""
        header = self._headers.get(number)
        if header is not None:
            return header.first_lsn
        if number == 1:
            return 1
        at_once = sound.number == number and sound.group.start == self._header_bytes
        return sound.group.lsn if at_once else 0

    @switches
    def _look_at_the_end(self, previous: _Sound | None, buffers: dict[int, bytes]) -> None:
        mark = self._mark
        number, start = (previous.number, previous.group.end) if previous else (self._oldest, self._header_bytes)
        newest = max([number, *self._lengths, mark.segment if mark is not None else 0])
        found = stop = len(self._buffer(newest, buffers))
        stop = max(stop, self._lengths.get(newest, 0))
        if mark is not None and mark.segment == newest:
            stop = max(stop, mark.length_bytes)
        last = previous.group.lsn if previous is not None else 0
        until = max(self._watermark, mark.lsn if mark is not None else 0)
        if until > last:
            self._gap(number, start, newest, stop, last + 1, until, until - last, buffers, at_end=True)
        elif not self._lengths or found < self._lengths.get(newest, 0) or self._is_another_file(newest, previous):
            self._gap(number, start, newest, stop, last + 1, 0, 0, buffers, at_end=True)

    def _is_another_file(self, number: int, last: _Sound | None) -> bool:
        """It has neither a sound header nor a sound group, and is longer than a header: there were groups in it."""
        if number in self._headers or (last is not None and last.number == number):
            return False
        return self._lengths.get(number, 0) > self._header_bytes

    @switches
    def _ends_at(self, mark: HighWater) -> bool:
        """Nothing followed what the mark covers: the last file is as long as that. No cut is there by chance."""
        return mark.segment == max(self._lengths, default=0) and len(self._read(mark.segment)) == mark.length_bytes > 0

    @switches
    def _gap(
        self, number: int, start: int, last_number: int, stop: int, first_lsn: int, last_lsn: int, missing: int,
        buffers: dict[int, bytes], at_end: bool = False,
    ) -> None:  # fmt: skip
        """From a byte of one segment to a byte of another, or the same. `missing`: how many groups; 0: not known."""
        lost, loose = self._identified(number, start, last_number, stop, missing, buffers)
        if lost is not None and not lost:
            self._take(loose)
            return  # only what held the records together was damaged
        before = dict(self._highest)
        self._take(loose)
        for record in sorted(loose, key=lambda one: one.place.sequence):
            if record.place.sequence == before.get(record.place.tablet_id, 0) + 1:
                before[record.place.tablet_id] = record.place.sequence
        mark = self._mark
        marked = mark.tablets if mark is not None and mark.lsn >= last_lsn > 0 else None
        marked_part = None
        at_end = at_end and lost is None and not (mark is not None and self._ends_at(mark))
        if at_end:
            # The log may have gone on behind its mark, and with writes of any tablet.
            marked, marked_part = None, marked
        length = self._good.get(number, self._lengths.get(number, start))
        end = stop if number == last_number else max(length, start)
        lsns = first_lsn, last_lsn
        self._gaps.append(OpenGap(self._path(number), start, end, *lsns, lost, before, marked, marked_part, at_end))

    def _take(self, loose: list[LooseRecord]) -> None:
        self._loose += loose
        for record in loose:
            self._see(record.place.tablet_id, record.place.sequence)

    @switches
    def _identified(
        self, number: int, start: int, last_number: int, stop: int, missing: int, buffers: dict[int, bytes]
    ) -> tuple[dict[int, int] | None, list[LooseRecord]]:
        """(what is lost, if that is known for sure; the sound records in between)."""
        if number != last_number:
            return None, self._loose_in_pieces(number, start, last_number, stop, buffers)
        walk = _Walk(self._buffer(number, buffers), self._path(number), start, stop)
        walk.run()
        is_tail = number == max(self._lengths, default=0) and stop >= self._lengths[number]
        if not missing or not walk.passed(missing, is_tail):
            return None, walk.loose
        lost: dict[int, int] = {}
        for tablet_id, sequence in walk.suspects:
            if not self._is_plausible(tablet_id, sequence, len(walk.suspects) + len(walk.loose)):
                return None, walk.loose
            lost[tablet_id] = max(sequence, lost.get(tablet_id, 0))
        return lost, walk.loose

    def _is_plausible(self, tablet_id: int, sequence: int, records: int) -> bool:
        """Whether a record that does not check is what it says, which may be what is wrong: a sequence that goes on
        where the tablet's records end is hardly there by chance."""
        known = self._highest.get(tablet_id)
        if known is not None:
            return known < sequence <= known + records
        mark = self._mark
        return mark is not None and 0 < sequence <= mark.tablets.get(tablet_id, 0)

    @switches
    def _loose_in_pieces(
        self, number: int, start: int, last_number: int, stop: int, buffers: dict[int, bytes]
    ) -> list[LooseRecord]:
        found: list[LooseRecord] = []
        for between in range(number, last_number + 1):
            if between not in self._lengths:
                continue
            buffer = self._buffer(between, buffers)
            first = start if between == number else self._header_bytes
            walk = _Walk(buffer, self._path(between), first, stop if between == last_number else len(buffer))
            walk.run()
            found += walk.loose
        return found

    # ------------------------------------------------------------ files

    @switches
    def _buffer(self, number: int, buffers: dict[int, bytes]) -> bytes:
        """The bytes of a segment, by way of `buffers`, which keeps those that were read last."""
        if number not in buffers or number not in self._lengths:
            buffers.clear()
            buffers[number] = self._read(number)
            self._pause()
        return buffers[number]

    @switches
    def _read(self, number: int) -> bytes:
        if number not in self._lengths:
            return b""
        try:
            buffer = self._fs.read_file(self._path(number))
        except FileNotFound:
            return b""
        return buffer[: min(self._lengths[number], self._good.get(number, self._lengths[number]))]

    def _path(self, number: int) -> str:
        return segment_path(self._folder, number)


@final
class _Walk:
    """A walk over a damaged stretch of one segment, record by record, as if its groups' headers were where they
    belong."""

    def __init__(self, buffer: bytes, path: str, start: int, stop: int) -> None:
        self._buffer = buffer
        self._path = path
        self._stop = min(stop, len(buffer))
        self._cut = stop > len(buffer)
        self._at = start
        self.groups = 0
        self.loose: list[LooseRecord] = []
        self.suspects: list[tuple[int, int]] = []
        """(tablet, sequence) as a record that does not check says."""

    def run(self) -> None:
        buffer, stop = self._buffer, self._stop
        while self._at + HEADER_BYTES <= stop:
            at = self._at + HEADER_BYTES
            while at < stop and buffer[at : at + 4] != MAGIC:
                end = self._record(at)
                if end == 0:
                    return
                at = end
            self.groups += 1
            self._at = at

    def passed(self, missing: int, is_tail: bool) -> bool:
        """So many groups were passed whole, and no bytes besides. At the end of a log more groups may follow than is
        known to be `missing`; they count too, as they may have been acknowledged."""
        if self._cut or self._at != self._stop:
            return False
        return self.groups >= missing if is_tail else self.groups == missing

    def _record(self, at: int) -> int:
        """Keeps the record at this position, if one is there. Returns its end; 0: there is none."""
        buffer = self._buffer
        if at + _LEAD.size > self._stop:
            return 0
        _, size = _LEAD.unpack_from(buffer, at)
        end = int(at + _LEAD.size + size)
        if size < _LEAST_RECORD or end > self._stop:
            return 0
        try:
            (place,) = places(buffer, at, end, self._path)
            self.loose.append(LooseRecord(place, buffer[at:end]))
        except Corruption:
            tablet_id, _, sequence = _HEAD.unpack_from(buffer, at + _LEAD.size)
            self.suspects.append((tablet_id, sequence))
        return end
