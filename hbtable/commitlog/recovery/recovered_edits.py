"""Reading a sorted log (paper, section 6): each tablet of a dead server is recovered from one contiguous piece per run.

sorting.py makes the runs. Their list says which runs count. Neither the list nor a run ever changes, so an index that
was read is kept for the next tablet.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, final

from hbtable.commitlog.records import LogRecord, decode_records
from hbtable.commitlog.recovery.gaps import Gap
from hbtable.commitlog.recovery.reading import read_log
from hbtable.commitlog.recovery.sorted_runs import (
    FOOTER_BYTES,
    RunPiece,
    SortedRun,
    decode_footer,
    decode_index,
    decode_list,
    decode_list_and_gaps,
    list_path,
    run_path,
)
from hbtable.crc32 import crc32
from hbtable.errors import Corruption, FileNotFound
from hbtable.fs.interface import FileSystem
from hbtable.switches import switches

_TAIL_BYTES: Final = 16384
"""Read at once from the end of a run: footer and index, if the index has no more than 400 tablets."""
_KEPT_LOGS: Final = 4
_KEPT_PIECES: Final = 20_000

_Found = list[tuple[SortedRun, RunPiece]]


@final
class SortedRunIndexes:
    """Indexes of the sorted logs read last: the places of tablets' pieces. Without it a server that takes fifty tablets
    of a dead one would read each index fifty times."""

    def __init__(self) -> None:
        self._logs: dict[str, dict[int, _Found]] = {}

    @switches
    def pieces(self, fs: FileSystem, folder: str, tablet_id: int) -> _Found | None:
        """The tablet's pieces in log order; None when the log is not sorted. May switch. Corruption."""
        tablets = self._logs.get(folder)
        if tablets is None:
            runs = sorted_runs(fs, folder)
            if runs is None:
                return None
            tablets = {}
            for run in runs:
                for piece in _pieces(fs, folder, run):
                    tablets.setdefault(piece.tablet_id, []).append((run, piece))
            self._keep(folder, tablets)
        return tablets.get(tablet_id, [])

    def _keep(self, folder: str, tablets: dict[int, _Found]) -> None:
        if sum(map(len, tablets.values())) > _KEPT_PIECES:
            return
        self._logs[folder] = tablets
        if len(self._logs) > _KEPT_LOGS:
            del self._logs[next(iter(self._logs))]


@switches
def recovered(
    fs: FileSystem, folder: str, tablet_id: int, first_needed: int, indexes: SortedRunIndexes | None = None
) -> Iterator[LogRecord]:
    """The tablet's records of sequence >= first_needed, ascending, each sequence once.

    From a sorted log reads one contiguous piece per run and holds one piece in memory (more only where pieces overlap
    in sequence). From an unsorted log, reads all of it and holds the tablet's share. May switch. Corruption.
    """
    pieces = (indexes or SortedRunIndexes()).pieces(fs, folder, tablet_id)
    if pieces is None:
        unsorted = (record for record in read_log(fs, folder) if record.tablet_id == tablet_id)
        yield from _by_sequence([record for record in unsorted if record.sequence >= first_needed])
        return
    found = [entry for entry in pieces if entry[1].last_sequence >= first_needed]
    for cluster in _overlapping(found):
        records: list[LogRecord] = []
        # In log order, so that of two equal sequences the later copy comes last.
        for run, piece in sorted(cluster, key=lambda entry: entry[0].first):
            records += (r for r in _read_piece(fs, folder, run, piece) if r.sequence >= first_needed)
        yield from _by_sequence(records)


@switches
def sorted_gaps(fs: FileSystem, folder: str) -> list[Gap]:
    """The gaps of a damaged log that was sorted all the same; [] for every other. May switch. Corruption."""
    try:
        stored = fs.read_file(list_path(folder))
    except FileNotFound:
        return []
    return decode_list_and_gaps(stored, list_path(folder))[1]


@switches
def sorted_runs(fs: FileSystem, folder: str) -> list[SortedRun] | None:
    """The runs that count, in log order; None when the log is not sorted. Corruption."""
    try:
        stored = fs.read_file(list_path(folder))
    except FileNotFound:
        return None
    return decode_list(stored, list_path(folder))


@switches
def verify_run(fs: FileSystem, folder: str, run: SortedRun, pause: Callable[[], None]) -> int:
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


def _overlapping(found: list[tuple[SortedRun, RunPiece]]) -> Iterator[list[tuple[SortedRun, RunPiece]]]:
    """Pieces in ascending order of sequence, together where their sequences overlap: normally each alone."""
    cluster: list[tuple[SortedRun, RunPiece]] = []
    last = -1
    for run, piece in sorted(found, key=lambda entry: entry[1].first_sequence):
        if cluster and piece.first_sequence > last:
            yield cluster
            cluster = []
        cluster.append((run, piece))
        last = max(last, piece.last_sequence)
    if cluster:
        yield cluster


@switches
def _pieces(fs: FileSystem, folder: str, run: SortedRun) -> list[RunPiece]:
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


@switches
def _read_piece(fs: FileSystem, folder: str, run: SortedRun, piece: RunPiece) -> Iterable[LogRecord]:
    path = run_path(folder, run)
    file = fs.open(path)
    try:
        buffer = file.read_at(piece.offset, piece.length_bytes)
    finally:
        file.close()
    if crc32(buffer) != piece.checksum:
        raise Corruption(path, piece.offset, f"the records of tablet {piece.tablet_id} fail their checksum")
    return decode_records(buffer, 0, len(buffer), path)
