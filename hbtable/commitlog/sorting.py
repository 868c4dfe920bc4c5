"""Sorts the log of a dead tablet server, and hands each of its tablets to whoever recovers it (paper, section 6).

Every part of the log (parts.py) becomes one run sorted by (tablet, row, sequence), in which the records of a tablet are
contiguous: a hundred servers that take one tablet each read each byte of the log once, not a hundred times. (A tablet
belongs to one table, so sorting by tablet keeps the paper's order: table, row, sequence.) Parts are sorted by several
servers at once (master.log_sorting).

Invariants
* The log must be fenced: its manifest says what it is. What recovery sees is settled by the list of runs, written once
  all runs are durable; each tablet of the log is recovered from the same set (bug class 4).
* A part gives the same run under the same name whoever sorts it, so it may be sorted twice, also at the same time.
* A crash at any point leaves the log untouched, and no list: sorting again gives the same runs.
"""

from collections.abc import Callable, Iterable, Iterator
from heapq import merge
from itertools import islice
from typing import Final
from zlib import crc32

from hbtable.commitlog.parts import Part
from hbtable.commitlog.reading import read_log, sound_groups
from hbtable.commitlog.records import LogRecord, decode_records, places
from hbtable.commitlog.runs import (
    FOOTER_BYTES,
    Piece,
    Run,
    decode_footer,
    decode_index,
    decode_list,
    encode_end,
    encode_list,
    list_path,
    run_path,
)
from hbtable.errors import Corruption, FileNotFound
from hbtable.fs.interface import FileSystem
from hbtable.runtime.interface import Runtime
from hbtable.runtime.parallel import results, run_all

_STRETCH: Final = 1000
"""Records handled between two switches: a few milliseconds, so that the lease of this server stays alive."""
_PARALLEL_READS: Final = 8
"""Files of a part read at a time: a part of a log in whole files has thousands of them, each a request or two."""
_TAIL_BYTES: Final = 16384
"""Read at once from the end of a run: footer and index, if the index has no more than 400 tablets."""

_Place = tuple[bytes, int, int, int, int]
"""Row, sequence, and which bytes of which file of the part: plain comparison is the order within a tablet."""


def publish(fs: FileSystem, folder: str, runs: list[Run]) -> None:
    """`runs`, one of every part in log order, all durable, are what recovery reads from now on. *Switches.*"""
    # Last: the list says that all runs are complete. A reader that finds no list reads the log itself.
    fs.write_file(list_path(folder), encode_list(runs))


def sort_part(runtime: Runtime, fs: FileSystem, folder: str, part: Part) -> Run:
    """The run of this part, durable on return. *Switches*, also within. Corruption; FileNotFound."""
    reads = [lambda segment=segment: fs.read_file(segment.path) for segment in part]
    buffers = results(run_all(runtime, _PARALLEL_READS, reads, "read log"))
    tablets = _places_by_tablet(runtime, buffers, part)
    sorted_bytes: list[bytes] = []
    pieces: list[Piece] = []
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
        pieces.append(Piece(tablet_id, offset, length, checksum, first, last))
        offset += length
    end = encode_end(pieces)
    sorted_bytes.append(end)
    run = Run(part[0].number, part[-1].number, int.from_bytes(end[-4:], "big"), offset + len(end))
    fs.write_file(run_path(folder, run), b"".join(sorted_bytes))
    return run


def recovered(fs: FileSystem, folder: str, tablet_id: int, first_needed: int) -> Iterator[LogRecord]:
    """The tablet's records of sequence >= first_needed, ascending, each sequence once.

    From a sorted log reads one contiguous piece per run and holds one piece in memory (more only where pieces overlap
    in sequence). From an unsorted log, reads all of it and holds the tablet's share. May switch. Corruption.
    """
    runs = sorted_runs(fs, folder)
    if runs is None:
        unsorted = (record for record in read_log(fs, folder) if record.tablet_id == tablet_id)
        yield from _by_sequence([record for record in unsorted if record.sequence >= first_needed])
        return
    found = []
    for run in runs:
        for piece in _pieces(fs, folder, run):
            if piece.tablet_id == tablet_id and piece.last_sequence >= first_needed:
                found.append((run, piece))
    for cluster in _overlapping(found):
        records: list[LogRecord] = []
        for run, piece in cluster:
            records += (r for r in _read_piece(fs, folder, run, piece) if r.sequence >= first_needed)
        yield from _by_sequence(records)


def sorted_runs(fs: FileSystem, folder: str) -> list[Run] | None:
    """The runs that count, in log order; None when the log is not sorted. Corruption."""
    try:
        stored = fs.read_file(list_path(folder))
    except FileNotFound:
        return None
    return decode_list(stored, list_path(folder))


def verify_run(fs: FileSystem, folder: str, run: Run, pause: Callable[[], None]) -> int:
    """Records in it. Reads all of it, a tablet's piece at a time, and calls `pause` after each. Corruption,
    FileNotFound."""
    records = 0
    for piece in _pieces(fs, folder, run):
        records += sum(1 for _ in _read_piece(fs, folder, run, piece))
        pause()
    return records


def _by_sequence(records: list[LogRecord]) -> Iterator[LogRecord]:
    """Replay order is the sequence, never the place in a file (bug class 3). A sequence that is there twice was
    written twice (the paper's switched log writers): the later generation counts, else the later copy."""
    records.sort(key=_order)
    for index, record in enumerate(records):
        if index + 1 == len(records) or records[index + 1].sequence != record.sequence:
            yield record


def _order(record: LogRecord) -> tuple[int, int]:
    return record.sequence, record.generation


def _overlapping(found: list[tuple[Run, Piece]]) -> Iterator[list[tuple[Run, Piece]]]:
    """Pieces in ascending order of sequence, together where their sequences overlap: normally each alone."""
    cluster: list[tuple[Run, Piece]] = []
    last = -1
    for run, piece in sorted(found, key=lambda entry: entry[1].first_sequence):
        if cluster and piece.first_sequence > last:
            yield cluster
            cluster = []
        cluster.append((run, piece))
        last = max(last, piece.last_sequence)
    if cluster:
        # Log order within a cluster, so that of two equal sequences the later copy comes last.
        cluster.sort(key=lambda entry: entry[0].first)
        yield cluster


# ---------------------------------------------------------------- one run


def _pieces(fs: FileSystem, folder: str, run: Run) -> list[Piece]:
    path = run_path(folder, run)
    file = fs.open(path)
    try:
        if file.length_bytes != run.length_bytes or run.length_bytes < FOOTER_BYTES:
            raise Corruption(path, 0, f"a sorted run is not {run.length_bytes} bytes long")
        tail_start = max(0, run.length_bytes - _TAIL_BYTES)
        tail = file.read_at(tail_start, run.length_bytes - tail_start)
        size, checksum = decode_footer(tail[-FOOTER_BYTES:], run, path)
        start = run.length_bytes - FOOTER_BYTES - size
        if start < 0:
            raise Corruption(path, run.length_bytes, "the index of a sorted run is longer than the run")
        if start < tail_start:
            index = file.read_at(start, size)
        else:
            index = tail[start - tail_start : -FOOTER_BYTES]
        return decode_index(index, checksum, path, start)
    finally:
        file.close()


def _read_piece(fs: FileSystem, folder: str, run: Run, piece: Piece) -> Iterable[LogRecord]:
    path = run_path(folder, run)
    file = fs.open(path)
    try:
        buffer = file.read_at(piece.offset, piece.length_bytes)
    finally:
        file.close()
    if crc32(buffer) != piece.checksum:
        raise Corruption(path, piece.offset, f"the records of tablet {piece.tablet_id} fail their checksum")
    return decode_records(buffer, 0, len(buffer), path)


def _places_by_tablet(runtime: Runtime, buffers: list[bytes], part: Part) -> dict[int, list[_Place]]:
    tablets: dict[int, list[_Place]] = {}
    countdown = _STRETCH
    for file, segment in enumerate(part):
        for group in sound_groups(buffers[file], segment):
            for tablet_id, row, sequence, start, end in places(buffers[file], group.payload, group.end, segment.path):
                tablets.setdefault(tablet_id, []).append((row, sequence, file, start, end))
                countdown -= 1
                if not countdown:
                    countdown = _STRETCH
                    runtime.sleep(0)
    return tablets


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
