"""The records of a log, damaged or not, and the gaps between them.

A log that was sorted is read from its runs, as recovery does; any other from its files, of which commitlog.salvage
takes everything whose checksums hold. Where neither is whole, both are taken: a record that is there twice counts once.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from hbtable.commitlog.records import LogRecord, decode_records
from hbtable.commitlog.recovery.gaps import Gap
from hbtable.commitlog.recovery.manifest import Manifest, list_log, settled
from hbtable.commitlog.recovery.reading import sound_groups
from hbtable.commitlog.recovery.recovered_edits import sorted_gaps, sorted_runs, verify_run
from hbtable.commitlog.recovery.salvage import salvage
from hbtable.commitlog.recovery.sorted_runs import run_path
from hbtable.errors import Corruption, FileNotFound
from hbtable.fs.interface import FileSystem
from hbtable.switches import switches

_LEAD: Final = struct.Struct(">II")


@dataclass(slots=True)
class LogSalvage:
    """The records of one log, in no order that matters, and its gaps. A sequence may be there twice."""

    records: list[LogRecord] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)


@switches
def salvage_log(fs: FileSystem, folder: str, pause: Callable[[], None] = lambda: None) -> LogSalvage:
    """*Switches.* UnsupportedFormat, Unavailable: nothing is known."""
    if (paths := _whole_runs(fs, folder, pause)) is not None:
        found = LogSalvage(gaps=sorted_gaps(fs, folder))
        for path in paths:
            found.records += _records_of_run(fs.read_file(path), path)
        return found
    saved = salvage(fs, folder, _manifest(fs, folder), pause)
    found = LogSalvage(gaps=saved.gaps)
    for segment in saved.stretches:
        buffer = fs.read_file(segment.path)
        for group in sound_groups(buffer, segment):
            found.records += decode_records(buffer, group.payload, group.end, segment.path)
    for loose in saved.loose:
        found.records += decode_records(loose.stored, 0, len(loose.stored), folder)
    for status in fs.list_files(f"{folder}/sorted"):
        if status.path.endswith(".run"):
            found.records += _records_of_run(fs.read_file(status.path), status.path)
    return found


@switches
def _manifest(fs: FileSystem, folder: str) -> Manifest:
    """The log's manifest. If that cannot be read, the log's files as they are: nobody writes them any more."""
    try:
        return settled(fs, folder)
    except Corruption:
        return list_log(fs, folder)


@switches
def _whole_runs(fs: FileSystem, folder: str, pause: Callable[[], None]) -> list[str] | None:
    try:
        runs = sorted_runs(fs, folder)
        if runs is None:
            return None
        for run in runs:
            verify_run(fs, folder, run, pause)
    except (Corruption, FileNotFound):
        return None
    return [run_path(folder, run) for run in runs]


def _records_of_run(content: bytes, path: str) -> list[LogRecord]:
    """As far as it goes: the index behind them is no record."""
    records: list[LogRecord] = []
    offset = 0
    while offset + _LEAD.size <= len(content):
        _, size = _LEAD.unpack_from(content, offset)
        end = offset + _LEAD.size + size
        try:
            records += decode_records(content, offset, end, path)
        except Corruption:
            break
        offset = end
    return records
