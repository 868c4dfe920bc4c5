"""Takes from a damaged log in whole files the groups that are sound, and finds the gaps between (salvage.py).

All files are read. A group is missing when no sound file of it is there and the log is known to have gone so far: a
watermark in a later file, the log's high-water mark, or the manifest, which names a file that is gone or was cut, says
so. Above that the log is the prefix before the first group that is not there, as for a sound one (group_files/reading).
What an earlier round left is void where a later round began.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple, final

from hbtable.commitlog.group_files.group_file import (
    GroupFile,
    GroupName,
    decode_group_file,
    group_name,
    group_path,
    least_bytes,
    payload_span,
)
from hbtable.commitlog.group_files.reading import group_segment
from hbtable.commitlog.records import places
from hbtable.commitlog.recovery.gaps import Gap, OpenGap
from hbtable.commitlog.segments.high_water import HighWater
from hbtable.commitlog.segments.segment import Segment, incarnation_of
from hbtable.errors import FileNotFound
from hbtable.fs.interface import FileSystem
from hbtable.switches import switches


class _Sound(NamedTuple):
    """A file that checks, and the highest sequence of each tablet in it, with the lowest."""

    path: str
    name: GroupName
    length_bytes: int
    group: GroupFile
    tablets: dict[int, tuple[int, int]]


@switches
def salvage_groups(
    fs: FileSystem, folder: str, lengths: Mapping[str, int], mark: HighWater | None, pause: Callable[[], None]
) -> tuple[list[Segment], list[Gap]]:
    """`lengths`: of the log's files, by path. *Switches.* UnsupportedFormat, Unavailable."""
    return _Salvaging(fs, folder, lengths, mark, pause).run()


@final
class _Salvaging:
    """One look at one log."""

    def __init__(
        self, fs: FileSystem, folder: str, lengths: Mapping[str, int], mark: HighWater | None, pause: Callable[[], None]
    ) -> None:
        self._fs = fs
        self._folder = folder
        self._lengths = lengths
        self._mark = mark
        self._pause = pause
        self._incarnation = incarnation_of(folder)
        self._until = mark.lsn if mark is not None else 0
        """Up to this LSN the log is known to have gone."""
        self._paths: dict[int, str] = {}
        """Of one file of each LSN, sound or not."""
        self._found: dict[int, list[_Sound]] = {}
        self._highest: dict[int, int] = {}
        self._stretches: list[Segment] = []
        self._gaps: list[OpenGap] = []

    @switches
    def run(self) -> tuple[list[Segment], list[Gap]]:
        for path in sorted(self._lengths):
            name = group_name(self._folder, path)
            if name is not None:
                self._paths[name.lsn] = path
                self._read(path, name)
                self._pause()
        files = [file for some in self._found.values() for file in some]
        oldest = max((file.group.oldest for file in files), default=1)
        self._until = max([self._until, *(file.group.watermark for file in files)])
        counts = {lsn: self._chosen(lsn, files) for lsn in self._found}
        lsn = oldest
        while (file := counts.get(lsn)) is not None or lsn <= self._until:
            if file is not None:
                self._count(file)
            else:
                self._miss(lsn)
            lsn += 1
        if not files and not self._gaps:
            self._miss(oldest, known=False)
        return self._stretches, [gap.closed() for gap in self._close_end(lsn - 1)]

    @switches
    def _read(self, path: str, name: GroupName) -> None:
        length = self._lengths[path]
        try:
            buffer = self._fs.read_file(path)
        except FileNotFound:
            buffer = b""
        if len(buffer) < length and length >= least_bytes(self._incarnation):
            self._until = max(self._until, name.lsn)  # the log was fenced with more of it
        group = decode_group_file(buffer, path, self._incarnation, name) if len(buffer) == length else None
        if group is None:
            return
        tablets: dict[int, tuple[int, int]] = {}
        for place in places(buffer, *payload_span(buffer), path):
            low, high = tablets.get(place.tablet_id, (place.sequence, place.sequence))
            tablets[place.tablet_id] = min(low, place.sequence), max(high, place.sequence)
        self._found.setdefault(name.lsn, []).append(_Sound(path, name, length, group, tablets))

    def _chosen(self, lsn: int, files: list[_Sound]) -> _Sound | None:
        """The file of the highest round of one LSN, unless a round that began at it or before is later still."""
        latest = max(file.group.round for file in files if file.group.round_first <= lsn)
        return next((file for file in self._found[lsn] if file.group.round == latest), None)

    def _count(self, file: _Sound) -> None:
        self._stretches.append(group_segment(file.path, file.name, file.length_bytes))
        for tablet_id, (low, high) in file.tablets.items():
            for gap in self._gaps:
                gap.after.setdefault(tablet_id, low)
            self._highest[tablet_id] = max(high, self._highest.get(tablet_id, 0))

    def _miss(self, lsn: int, known: bool = True) -> None:
        """A gap goes on, or begins. Not `known`: that there was a group at all."""
        if self._gaps and self._gaps[-1].last_lsn == lsn - 1:
            self._gaps[-1].last_lsn = lsn
            return
        path = self._paths.get(lsn, group_path(self._folder, GroupName(lsn, 0, 1)))
        self._gaps.append(
            OpenGap(path, 0, 0, lsn, lsn if known else 0, None, dict(self._highest), None, None, at_end=False)
        )

    def _close_end(self, last: int) -> list[OpenGap]:
        """The gaps, with what the mark says of each."""
        mark = self._mark
        listed = max(self._paths, default=0)
        for gap in self._gaps:
            if mark is not None and mark.lsn >= gap.last_lsn > 0:
                gap.marked = mark.tablets
            # Where nothing behind it is there, the log may have gone on, unless it ends right at the mark.
            gap.at_end = gap.last_lsn in (0, last) and not (mark is not None and listed == mark.lsn)
            if gap.at_end:
                gap.marked, gap.marked_part = None, gap.marked
        return self._gaps
