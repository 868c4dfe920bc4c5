"""Sorts the log of a dead tablet server for those that recover its tablets (paper, section 6); recovered_edits.py reads
it.

Every part of the log (log_ranges.py) becomes one run sorted by (tablet, row, sequence), in which the records of a
tablet are contiguous: a hundred servers that take one tablet each read each byte of the log once, not a hundred times.
(A tablet belongs to one table, so sorting by tablet keeps the paper's order: table, row, sequence.) Parts are sorted by
several servers at once (master.log_sorting).

Invariants
* The log must be fenced: its manifest says what it is. What recovery sees is settled by the list of runs, written once
  all runs are durable; each tablet of the log is recovered from the same set (bug class 4).
* A part gives the same run under the same name whoever sorts it, so it may be sorted twice, also at the same time.
* A crash at any point leaves the log untouched, and no list: sorting again gives the same runs.
"""

from collections.abc import Iterator, Sequence
from heapq import merge
from itertools import islice
from typing import Final

from hbtable.commitlog.records import places
from hbtable.commitlog.recovery.gaps import Gap
from hbtable.commitlog.recovery.log_ranges import LogRange
from hbtable.commitlog.recovery.reading import sound_groups
from hbtable.commitlog.recovery.salvage import LooseRecord
from hbtable.commitlog.recovery.sorted_runs import (
    RunPiece,
    SortedRun,
    encode_end,
    encode_list,
    list_path,
    run_path,
)
from hbtable.crc32 import crc32
from hbtable.fs.interface import FileSystem
from hbtable.runtime.interface import Runtime
from hbtable.runtime.parallel import run_until_error
from hbtable.switches import switches

_STRETCH: Final = 1000
"""Records handled between two switches: a few milliseconds, so that the lease of this server stays alive."""
_PARALLEL_READS: Final = 8
"""Files of a part read at a time: a part of a log in whole files has thousands of them, each a request or two."""

_Place = tuple[bytes, int, int, int, int]
"""Row, sequence, and which bytes of which file of the part: plain comparison is the order within a tablet."""


@switches
def publish(fs: FileSystem, folder: str, runs: list[SortedRun], gaps: Sequence[Gap] = ()) -> None:
    """`runs`, one of every part in log order, all durable, are what recovery reads from now on; of a damaged log with
    these `gaps` between."""
    # Last: the list says that all runs are complete. A reader that finds no list reads the log itself.
    fs.write_file(list_path(folder), encode_list(runs, gaps))


@switches
def sort_range(runtime: Runtime, fs: FileSystem, folder: str, log_range: LogRange) -> SortedRun:
    """The run of this part, durable on return. *Switches*, also within. Corruption; FileNotFound."""
    reads = [lambda segment=segment: fs.read_file(segment.path) for segment in log_range]
    buffers = run_until_error(runtime, _PARALLEL_READS, reads, "read log")
    tablets = _records_by_tablet(runtime, buffers, log_range)
    return _write_run(runtime, fs, folder, (log_range[0].number, log_range[-1].number), buffers, tablets)


@switches
def sort_loose(runtime: Runtime, fs: FileSystem, folder: str, records: Sequence[LooseRecord]) -> SortedRun:
    """As sort_part, of records that were saved from damaged groups: a run of segment 0, which there is none of."""
    tablets: dict[int, list[_Place]] = {}
    for number, (place, stored) in enumerate(records):
        tablets.setdefault(place.tablet_id, []).append((place.row, place.sequence, number, 0, len(stored)))
    return _write_run(runtime, fs, folder, (0, 0), [record.stored for record in records], tablets)


@switches
def _write_run(
    runtime: Runtime,
    fs: FileSystem,
    folder: str,
    segments: tuple[int, int],
    buffers: list[bytes],
    tablets: dict[int, list[_Place]],
) -> SortedRun:
    sorted_bytes: list[bytes] = []
    pieces: list[RunPiece] = []
    offset = 0
    for tablet_id in sorted(tablets):
        checksum = length = 0
        found = tablets.pop(tablet_id)
        first, last = min(place[1] for place in found), max(place[1] for place in found)
        for stretch in _in_order(runtime, found):
            stored = b"".join([buffers[file][start:end] for _, _, file, start, end in stretch])
            sorted_bytes.append(stored)
            length += len(stored)
            checksum = crc32(stored, checksum)
        pieces.append(RunPiece(tablet_id, offset, length, checksum, first, last))
        offset += length
    end = encode_end(pieces)
    sorted_bytes.append(end)
    run = SortedRun(*segments, int.from_bytes(end[-4:], "big"), offset + len(end))
    fs.write_file(run_path(folder, run), b"".join(sorted_bytes))
    return run


@switches
def _records_by_tablet(runtime: Runtime, buffers: list[bytes], log_range: LogRange) -> dict[int, list[_Place]]:
    tablets: dict[int, list[_Place]] = {}
    countdown = _STRETCH
    for file, segment in enumerate(log_range):
        for group in sound_groups(buffers[file], segment):
            for tablet_id, row, sequence, start, end in places(buffers[file], group.payload, group.end, segment.path):
                tablets.setdefault(tablet_id, []).append((row, sequence, file, start, end))
                countdown -= 1
                if not countdown:
                    countdown = _STRETCH
                    runtime.sleep(0)
    return tablets


@switches
def _in_order(runtime: Runtime, found: list[_Place]) -> Iterator[list[_Place]]:
    """By row, then sequence, then place, in stretches: one big sort would hold up the hub. Switches after each."""
    stretches = []
    for start in range(0, len(found), _STRETCH):
        stretches.append(sorted(found[start : start + _STRETCH]))
        runtime.sleep(0)
    merged = merge(*stretches) if len(stretches) > 1 else iter(stretches[0])
    while stretch := list(islice(merged, _STRETCH)):
        yield stretch
        runtime.sleep(0)
