"""The records of a log, damaged or not, and the gaps between them.

A log that was sorted is read from its runs, as recovery does; any other from its segments, of which commitlog.salvage
takes everything whose checksums hold; on WebHDFS, where each group is a file, from those files that are sound. Where
neither is whole, both are taken: a record that is there twice counts once.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from hbtable.commitlog.group_files.group_file import decode_group_file, group_name, payload_span
from hbtable.commitlog.records import LogRecord, decode_records
from hbtable.commitlog.recovery.gaps import Gap
from hbtable.commitlog.recovery.manifest import Manifest, list_log, settled
from hbtable.commitlog.recovery.reading import read_log, sound_groups
from hbtable.commitlog.recovery.recovered_edits import sorted_gaps, sorted_runs, verify_run
from hbtable.commitlog.recovery.salvage import salvage
from hbtable.commitlog.recovery.sorted_runs import run_path
from hbtable.errors import Corruption, FileNotFound
from hbtable.fs.interface import FileSystem
from hbtable.switches import switches

_LEAD: Final = struct.Struct(">II")


@dataclass(slots=True)
class LogSalvage:
    """`records` in no order that matters; a sequence may be there twice."""

    records: list[LogRecord] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)


@switches
def salvage_log(fs: FileSystem, folder: str, pause: Callable[[], None] = lambda: None) -> LogSalvage:
    """*Switches.* UnsupportedFormat, Unavailable: nothing is known. Corruption: nothing of it can be read."""
    if (paths := _whole_runs(fs, folder, pause)) is not None:
        found = LogSalvage(gaps=sorted_gaps(fs, folder))
        for path in paths:
            found.records += _records_of_run(fs.read_file(path), path)
        return found
    manifest = _manifest(fs, folder)
    saved = salvage(fs, folder, manifest, pause)
    if saved is None:
        return LogSalvage(_records_of_groups(fs, folder, manifest, pause))
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
    """Where it cannot be read, the log's files as they are: nobody writes them any more."""
    try:
        return settled(fs, folder)
    except Corruption:
        return list_log(fs, folder)


@switches
def _records_of_groups(fs: FileSystem, folder: str, manifest: Manifest, pause: Callable[[], None]) -> list[LogRecord]:
    """Of a log of a file for each group: as recovery reads it, or else every group that is sound."""
    try:
        return list(read_log(fs, folder, manifest))
    except Corruption:
        pass
    groups: dict[int, tuple[int, list[LogRecord]]] = {}
    for file in manifest.files:
        path = f"{folder}/{file.name}"
        name = group_name(folder, path)
        try:
            buffer = fs.read_file(path) if name is not None else b""
        except FileNotFound:
            continue
        pause()
        if name is None or decode_group_file(buffer, path, manifest.incarnation, name) is None:
            continue
        if name.round >= groups.get(name.lsn, (0, []))[0]:  # of an LSN's files those of the highest round count
            start, end = payload_span(buffer)
            groups[name.lsn] = name.round, list(decode_records(buffer, start, end, path))
    return [record for _, records in groups.values() for record in records]


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
