"""Sorts the log of a dead tablet server, and hands each of its tablets to whoever recovers it (paper, section 6).

Every segment becomes one run sorted by (tablet, row, sequence), in which the records of a tablet are contiguous: a
hundred servers that take one tablet each read each byte of the log once, not a hundred times. (A tablet belongs to
one table, so sorting by tablet keeps the paper's order: table, row, sequence.)

Invariants
* The log must be fenced: nobody appends any more. What recovery sees is settled by the list of runs, written once all
  runs are durable; it stays as it is, so each tablet of the log is recovered from the same set (bug class 4).
* A crash at any point leaves the log untouched, and no list: sorting again gives the same runs under the same names.
"""

from collections.abc import Callable, Iterable, Iterator
from heapq import merge
from itertools import islice
from typing import Final
from zlib import crc32

from hbtable.commitlog.reading import log_segments, read_log, sound_groups
from hbtable.commitlog.records import LogRecord, RecordPlace, decode_records, places
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
from hbtable.commitlog.segment import Segment
from hbtable.errors import Corruption, FileNotFound
from hbtable.fs.interface import FileSystem
from hbtable.runtime.interface import Runtime

_STRETCH: Final = 1000
"""Records handled between two switches: a few milliseconds, so that the lease of this server stays alive."""


def sort_log(runtime: Runtime, fs: FileSystem, folder: str) -> None:
    """All runs and their list are durable on return. Nothing to do when the list exists. Holds one segment and its
    sorted copy in memory. *Switches*, also within a segment. Corruption, UnsupportedFormat."""
    if fs.exists(list_path(folder)):
        return
    segments = log_segments(fs, folder, lambda: runtime.sleep(0))
    runs = [_sort_segment(runtime, fs, folder, segment) for segment in segments]
    # Last: the list says that all runs are complete. A reader that finds no list reads the log itself.
    fs.write_file(list_path(folder), encode_list(runs))


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
        cluster.sort(key=lambda entry: entry[0].segment)
        yield cluster


# ---------------------------------------------------------------- one run


def _pieces(fs: FileSystem, folder: str, run: Run) -> list[Piece]:
    path = run_path(folder, run)
    if fs.status(path).length_bytes != run.length_bytes or run.length_bytes < FOOTER_BYTES:
        raise Corruption(path, 0, f"a sorted run is not {run.length_bytes} bytes long")
    file = fs.open(path)
    try:
        footer_start = run.length_bytes - FOOTER_BYTES
        size, checksum = decode_footer(file.read_at(footer_start, FOOTER_BYTES), run, path)
        if size > footer_start:
            raise Corruption(path, footer_start, "the index of a sorted run is longer than the run")
        return decode_index(file.read_at(footer_start - size, size), checksum, path, footer_start - size)
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


def _sort_segment(runtime: Runtime, fs: FileSystem, folder: str, segment: Segment) -> Run:
    buffer = fs.read_file(segment.path)
    tablets = _places_by_tablet(runtime, buffer, segment)
    parts: list[bytes] = []
    pieces: list[Piece] = []
    offset = 0
    for tablet_id in sorted(tablets):
        checksum = length = last = 0
        first = tablets[tablet_id][0].sequence
        for stretch in _in_order(runtime, tablets.pop(tablet_id)):
            part = b"".join([buffer[place.start : place.end] for place in stretch])
            parts.append(part)
            length += len(part)
            checksum = crc32(part, checksum)
            sequences = [place.sequence for place in stretch]
            first = min(first, *sequences)
            last = max(last, *sequences)
        pieces.append(Piece(tablet_id, offset, length, checksum, first, last))
        offset += length
    end = encode_end(pieces)
    parts.append(end)
    run = Run(segment.number, int.from_bytes(end[-4:], "big"), offset + len(end))
    fs.write_file(run_path(folder, run), b"".join(parts))
    return run


def _places_by_tablet(runtime: Runtime, buffer: bytes, segment: Segment) -> dict[int, list[RecordPlace]]:
    tablets: dict[int, list[RecordPlace]] = {}
    countdown = _STRETCH
    for group in sound_groups(buffer, segment):
        for place in places(buffer, group.payload, group.end, segment.path):
            tablets.setdefault(place.tablet_id, []).append(place)
            countdown -= 1
            if not countdown:
                countdown = _STRETCH
                runtime.sleep(0)
    return tablets


def _in_order(runtime: Runtime, found: list[RecordPlace]) -> Iterator[list[RecordPlace]]:
    """By row, then sequence, then place, in stretches: one big sort would hold up the hub. Switches after each."""
    # RecordPlace compares as a tuple, tablet first, which is the same for all of them here.
    stretches = []
    for start in range(0, len(found), _STRETCH):
        stretches.append(sorted(found[start : start + _STRETCH]))
        runtime.sleep(0)
    merged = merge(*stretches)
    while stretch := list(islice(merged, _STRETCH)):
        yield stretch
        runtime.sleep(0)
