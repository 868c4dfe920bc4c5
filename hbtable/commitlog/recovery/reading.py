"""Reads a log that nobody writes any more, and tells a torn tail from a loss (docs/faults.md: torn tails and losses).

What may be missing without reproach: the end of the log above every stored watermark (never acknowledged, or
acknowledged under durability "os" and lost with the machine). From the first damaged byte on everything is dropped,
sound groups behind it too: a log is recovered as a prefix, never with a hole. Everything else is Corruption; what that
is in each kind of log say segments/chain.py (open files) and group_files/reading.py (a file per group).

An error while listing or reading raises; nothing is ever left out because it could not be read (bug class 5), and no
file is changed or removed here.
"""

import logging
from collections.abc import Callable, Iterator

from hbtable.commitlog.group_files.group_file import SUFFIX, decode_group_file, group_name, payload_span
from hbtable.commitlog.group_files.reading import settled_group_files
from hbtable.commitlog.groups import CommitGroup, group_at
from hbtable.commitlog.records import LogRecord, decode_records, places
from hbtable.commitlog.recovery.manifest import Manifest, settled
from hbtable.commitlog.segments.chain import settled_chain
from hbtable.commitlog.segments.high_water import HighWater, read_high_water
from hbtable.commitlog.segments.segment import Segment, incarnation_of
from hbtable.errors import Corruption
from hbtable.fs.interface import FileSystem
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches

logger = logging.getLogger(__name__)

Tell = Callable[[int, str], None]
"""Says something to the operator: a level of logging, and the text."""


@switches
def read_log(
    fs: FileSystem, folder: str, manifest: Manifest | None = None, tell: Tell = logger.log
) -> Iterator[LogRecord]:
    """Every record in log order. Holds one segment in memory. May switch. Corruption, UnsupportedFormat, Unavailable:
    the log is not fenced."""
    for segment in log_segments(fs, folder, manifest=manifest, tell=tell):
        buffer = fs.read_file(segment.path)
        for group in sound_groups(buffer, segment):
            yield from decode_records(buffer, group.payload, group.end, segment.path)


@switches
def log_segments(
    fs: FileSystem,
    folder: str,
    pause: Callable[[], None] = lambda: None,
    manifest: Manifest | None = None,
    tell: Tell = logger.log,
    runtime: Runtime | None = None,
) -> list[Segment]:
    """The segments that make up the log, oldest first, their ends settled; [] when it never got a first header.

    `manifest`: the log's files; None: as they were published or, on a local disk, as they are. Reads all headers and
    the whole last segment, or the newest group files, and calls `pause` every few milliseconds. `tell` gets what was
    dropped at the end, and up to where the log is known to have gone, once. `runtime`: reads several segments at a
    time; None: one after the other. May switch. Corruption. Unavailable: the log is not fenced.
    """
    files = (settled(fs, folder) if manifest is None else manifest).files
    lengths = {f"{folder}/{file.name}": file.length_bytes for file in files}
    mark = read_high_water(fs, folder, tell)
    known = f"of the log {mark.reason()}" if mark is not None else "nothing says up to where the log was synced"
    in_whole_files = any(group_name(folder, path) is not None for path in lengths)

    def told(level: int, what: str) -> None:
        tell(level, f"{what}; {known}")

    if in_whole_files:
        segments = settled_group_files(fs, folder, lengths, pause, told)
    else:
        segments = settled_chain(fs, folder, lengths, pause, told, runtime)
    if mark is not None:
        check_high_water(fs, folder, segments, mark)
    return segments


@switches
def check_high_water(fs: FileSystem, folder: str, segments: list[Segment], mark: HighWater) -> None:
    """Corruption when the log ends before what its high-water mark says was synced: its end was cut off, or damaged. It
    says which tablets have lost which writes at least. May switch."""
    last = segments[-1] if segments else None
    end = last.last_lsn if last is not None else 0
    if mark.lsn <= end:
        return
    highest: dict[int, int] = dict.fromkeys(mark.tablets, 0)
    for segment in segments:
        buffer = fs.read_file(segment.path)
        for group in sound_groups(buffer, segment):
            for place in places(buffer, group.payload, group.end, segment.path):
                highest[place.tablet_id] = max(place.sequence, highest.get(place.tablet_id, 0))
    lost = [
        f"tablet {tablet_id} sequences {highest[tablet_id] + 1} to {sequence}"
        for tablet_id, sequence in sorted(mark.tablets.items())
        if sequence > highest[tablet_id]
    ]
    path, offset = (last.path, last.end) if last is not None else (folder, 0)
    where = f" (byte {mark.length_bytes} of segment {mark.segment})" if mark.segment else ""
    raise Corruption(
        path,
        offset,
        f"the log ends with group {end}, and was synced up to group {mark.lsn}{where}; of what was acknowledged "
        f"at least these are lost: {', '.join(lost) or 'markers only'}",
    )


def sound_groups(buffer: bytes, segment: Segment) -> Iterator[CommitGroup]:
    """The groups of a settled segment. Corruption unless they are sound and complete from start to end."""
    if segment.path.endswith(SUFFIX):
        yield _only_group(buffer, segment)
        return
    offset = segment.start
    lsn = segment.first_lsn
    while offset < segment.end:
        group = group_at(buffer, offset, segment.seed)
        if group is None or group.lsn != lsn or group.end > segment.end:
            raise Corruption(segment.path, offset, f"group {lsn} is damaged, and the log went on after it")
        yield group
        offset = group.end
        lsn += 1
    if lsn != segment.last_lsn + 1:
        raise Corruption(segment.path, offset, f"ends with group {lsn - 1} instead of {segment.last_lsn}")


def _only_group(buffer: bytes, segment: Segment) -> CommitGroup:
    folder, _, _ = segment.path.rpartition("/")
    incarnation = incarnation_of(folder)
    name = group_name(folder, segment.path)
    found = decode_group_file(buffer, segment.path, incarnation, name) if name and len(buffer) == segment.end else None
    if found is None:
        raise Corruption(segment.path, 0, f"group {segment.first_lsn} is damaged, and it was durable")
    start, end = payload_span(buffer)
    return CommitGroup(0, start, end, found.lsn, found.watermark, found.oldest, found.flags)
