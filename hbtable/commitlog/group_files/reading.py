"""Finds the group files that make up a log (docs/faults.md: fencing; paper, section 6), without reading all of them.

A log may have ten thousand files, and each read costs a request. So the files are read from the newest down, as far as
no watermark reaches; below, a name and a length are enough, because whoever reads a file's records checks it then
(reading.sound_groups). Exceptions, all read: LSNs with more than one file, and those where a round begins.

What is missing or damaged above every watermark was never acknowledged: the log is the prefix before it. At or below
a watermark, and not older than the oldest LSN needed, it is Corruption.

Of one LSN the files of the highest round count. That a lower round's file, refused once, is not taken for a lost one
of a higher round: rounds never fall from one LSN to the next, and where they rise, the round begins there.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, final

from hbtable.commitlog.group_files.group_file import (
    GroupFile,
    GroupName,
    decode_group_file,
    group_name,
    group_path,
    least_bytes,
)
from hbtable.commitlog.groups import CLEAN_END
from hbtable.commitlog.segments.segment import Segment, incarnation_of
from hbtable.errors import Corruption, FileNotFound
from hbtable.fs.interface import FileSystem
from hbtable.switches import switches

_STRETCH: Final = 1000
"""Names looked at between two pauses."""


class _Try(NamedTuple):
    """One file: a try at writing one group."""

    name: GroupName
    path: str
    length_bytes: int


class _Found(NamedTuple):
    """A try that was read and is sound."""

    file: _Try
    group: GroupFile


@switches
def settled_group_files(
    fs: FileSystem,
    folder: str,
    lengths: Mapping[str, int],
    pause: Callable[[], None],
    tell: Callable[[int, str], None],
) -> list[Segment]:
    """A segment per group, ascending, of those that count; [] when not even the first one was written. `lengths`: of
    all files, by path. May switch. Corruption, UnsupportedFormat. `tell`: how loud, and what was dropped at the end."""
    return _Settling(fs, folder, lengths, pause, tell).run()


@final
class _Settling:
    """One look at a log that nobody writes any more."""

    def __init__(
        self,
        fs: FileSystem,
        folder: str,
        lengths: Mapping[str, int],
        pause: Callable[[], None],
        tell: Callable[[int, str], None],
    ) -> None:
        self._fs = fs
        self._tell = tell
        self._folder = folder
        self._pause = pause
        self._incarnation = incarnation_of(folder)
        self._tries: dict[int, list[_Try]] = {}
        for path, length_bytes in lengths.items():
            name = group_name(folder, path)
            if name is not None:
                self._tries.setdefault(name.lsn, []).append(_Try(name, path, length_bytes))
        self._watermark = 0
        self._oldest = 1
        self._ended_at = 0
        self._vanished: list[_Try] = []
        """Listed, and gone: let go by a writer that does not know yet that it was fenced, or lost."""

    @switches
    def run(self) -> list[Segment]:
        newest = self._newest()
        chosen: list[_Found | _Try] = []
        for lsn in range(self._oldest, self._watermark + 1):
            if lsn % _STRETCH == 0:
                self._pause()
            chosen.append(self._durable(lsn))
        above: list[_Found | _Try] = []
        lsn = self._watermark + 1
        while (found := self._live(newest, lsn)) is not None:
            above.append(found)
            lsn += 1
        chosen += above
        self._check_rounds(chosen)
        for file in self._vanished:
            if file.name.lsn >= self._oldest:
                raise Corruption(file.path, 0, "the log was fenced with this file, and it is missing")
        self._report(newest, lsn)
        return [_segment(entry) for entry in chosen]

    @switches
    def _newest(self) -> dict[int, list[_Found]]:
        """The sound files above every watermark. Sets watermark and oldest LSN."""
        newest: dict[int, list[_Found]] = {}
        for lsn in sorted(self._tries, reverse=True):
            # The oldest LSN is never above the watermark + 1, and what lies before it may be gone any moment.
            if lsn <= self._watermark or lsn < self._oldest:
                break
            newest[lsn] = [found for found in map(self._read, self._tries[lsn]) if found is not None]
            for _, group in newest[lsn]:
                self._watermark = max(self._watermark, group.watermark)
                self._oldest = max(self._oldest, group.oldest)
                if group.flags & CLEAN_END:
                    self._ended_at = max(self._ended_at, lsn)
            self._pause()
        return newest

    @switches
    def _durable(self, lsn: int) -> _Found | _Try:
        """The file of an LSN that was acknowledged."""
        tries = self._tries.get(lsn, [])
        if not tries:
            raise Corruption(self._first_path(lsn), 0, f"group {lsn} is missing; all up to {self._watermark} count")
        if len(tries) == 1 and tries[0].length_bytes >= least_bytes(self._incarnation):
            return tries[0]
        highest = max(file.name.round for file in tries)
        for file in tries:
            found = self._read(file) if file.name.round == highest else None
            if found is not None:
                return found
        raise Corruption(tries[-1].path, 0, f"group {lsn} is damaged; all up to {self._watermark} were durable")

    def _live(self, newest: dict[int, list[_Found]], lsn: int) -> _Found | None:
        """The file that counts of an LSN that no watermark covers, if there is a sound one."""
        rounds = [group.round for founds in newest.values() for _, group in founds if group.round_first <= lsn]
        current = max(rounds, default=-1)
        return next((found for found in newest.get(lsn, []) if found.group.round == current), None)

    @switches
    def _check_rounds(self, chosen: list[_Found | _Try]) -> None:
        previous: _Try | None = None
        for entry in chosen:
            file = entry.file if isinstance(entry, _Found) else entry
            if previous is not None and file.name.round != previous.name.round:
                found = entry if isinstance(entry, _Found) else self._read(file)
                if found is None:
                    raise Corruption(file.path, 0, f"group {file.name.lsn} is damaged, and it was durable")
                if file.name.round < previous.name.round or found.group.round_first != file.name.lsn:
                    raise Corruption(previous.path, 0, f"group {previous.name.lsn} of a later round is missing")
            previous = file

    @switches
    def _read(self, file: _Try) -> _Found | None:
        try:
            buffer = self._fs.read_file(file.path)
        except FileNotFound:
            # One that was listed without content was being put, and came to nothing: nobody was told that it is there.
            if file.length_bytes >= least_bytes(self._incarnation):
                self._vanished.append(file)
            return None
        if len(buffer) < file.length_bytes:
            raise Corruption(file.path, len(buffer), f"the log was fenced with {file.length_bytes} bytes of it")
        if len(buffer) > file.length_bytes:
            return None  # it was not complete when it was listed: nobody was told that it is
        group = decode_group_file(buffer, file.path, self._incarnation, file.name)
        return None if group is None else _Found(file, group)

    def _report(self, newest: dict[int, list[_Found]], end: int) -> None:
        """Reports the files behind the prefix that counts."""
        dropped = [file for lsn in newest if lsn >= end for file in self._tries[lsn]]
        if not dropped:
            return
        names = ", ".join(sorted(file.path for file in dropped[:8]))
        if 0 < self._ended_at < end:
            what = f"{names}: {len(dropped)} files after the clean end of the log were ignored"
        else:
            what = f"{names}: {len(dropped)} files dropped; nothing says that they were acknowledged"
        self._tell(logging.WARNING, what)

    def _first_path(self, lsn: int) -> str:
        return group_path(self._folder, GroupName(lsn, 0, 1))


def group_segment(path: str, name: GroupName, length_bytes: int) -> Segment:
    """A group file that counts, as those take it who read a log."""
    return Segment(path, name.lsn, name.round, 0, length_bytes, name.lsn, name.lsn)


def _segment(entry: _Found | _Try) -> Segment:
    file = entry.file if isinstance(entry, _Found) else entry
    return group_segment(file.path, file.name, file.length_bytes)
