"""The files that a process last read or wrote in a folder that it has for itself: so it sees that somebody else changed
one since, as when a backup is copied over them.

Two kinds of files. Segments of logs only grow, never change once they are closed, and their names are never used again:
one of the same length has the same bytes. The others are small and replaced whole: the checksum of each is kept. A
missing file of a log is no alarm: memory still has what is in it, and an end of the process would lose that.

SSTables are not looked after: an older copy has the same bytes, or was cut and is refused by who reads it.

All but look_at_growing() is called in one thread, but files change in others, too: while this process changes a path,
nothing is known of it.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from typing import Final, NamedTuple, Protocol, final

from hbtable.crc32 import crc32

_SMALL_BYTES: Final = 1 << 20
_LOOKS: Final = 50
"""Files that one look is for, and deleted ones as well: some 2 us each on a local disk."""
_LOOK_SECONDS: Final = 0.0005
"""A look ends after this with fewer: where the folder lies on another machine each file costs as much, and all requests
wait meanwhile."""
_ROUND_SECONDS: Final = 1.0
"""A round over all files begins this long after the one before: few files were looked at ten times a second."""
_GONE_NAMES: Final = 1000
_LOGS: Final = "logs/"
_STATE: Final = (_LOGS, "lockservice/", "metadata/")
"""A deleted file of these that is back changes what the next start finds."""
_UNWATCHED: Final = ("sstables/", "trash/", "unfinished/")


class _Replaced(NamedTuple):
    """A file that is replaced whole."""

    inode: int
    length_bytes: int
    modified_nanos: int
    checksum: int


class GrowingFile(Protocol):
    """One that is open for appending."""

    path: str

    def is_other(self) -> bool:
        """Whether somebody else changed it. OSError: that is not known."""


@final
class KnownFiles:
    """Paths are relative to `root`."""

    def __init__(self, root: str, clock_seconds: Callable[[], float] = time.perf_counter) -> None:
        self.alone = False
        """Whether nobody else writes there. If somebody may, nothing is kept in mind."""
        self.growing: set[GrowingFile] = set()
        self._root = root
        self._clock_seconds = clock_seconds
        self._files: dict[str, int | _Replaced] = {}
        """By path; of a file that only grew, its length."""
        self._gone: dict[str, None] = {}
        """Paths of deleted files, the newest last."""
        self._changing: dict[str, int] = {}
        """The number of tasks that are changing each just now. One that was killed counts on: its thread may go on."""
        self._mixed: set[str] = set()
        """Those that several tasks are changing, or where one failed."""
        self._folders: list[str] = []
        """Those of which everything is just being deleted."""
        self._rounds: list[Iterator[str]] = [iter(()), iter(())]
        """The files that are next to be looked at, and the deleted ones."""
        self._next_rounds = [0.0, 0.0]
        """The times from which the next ones may begin."""

    def opened(self, path: str, length_bytes: int) -> None:
        """Notes a file that is opened to be read: nothing more is appended to it."""
        if self._is_watched(path):
            self._files.setdefault(path, length_bytes)

    def closed(self, file: GrowingFile, length_bytes: int | None) -> None:
        """Nothing more is appended to it. `length_bytes`: None when it is not known."""
        if file in self.growing:
            self.growing.discard(file)
            if length_bytes is not None and self._is_watched(file.path):
                self._files[file.path] = length_bytes

    def whole(self, path: str, data: bytes) -> None:
        """This was read from it, or written."""
        if isinstance(self._files.get(path), _Replaced):
            return  # if it has other data now, somebody else wrote them
        if self._is_watched(path) and len(data) <= _SMALL_BYTES:
            with suppress(OSError):
                status = os.stat(f"{self._root}/{path}")
                self._files[path] = _Replaced(status.st_ino, len(data), status.st_mtime_ns, crc32(data))

    @contextmanager
    def change(self, *paths: str, folder: str = "", data: bytes | None = None) -> Iterator[None]:
        """Meanwhile this process changes them, and all below `folder`. Afterwards each is gone, or holds `data`, or has
        to be read to be known. The last holds after an error, too, and where several tasks changed one at once."""
        for file in tuple(self.growing):
            if file.path in paths or _is_below(file.path, folder):
                self.growing.discard(file)
        below = [path for path in self._files if _is_below(path, folder)] if folder else []
        changed = [*paths, *below]
        for path in changed:
            if path in self._changing:
                self._mixed.add(path)
            self._changing[path] = self._changing.get(path, 0) + 1
            self._files.pop(path, None)
            self._gone.pop(path, None)
        if folder:
            self._folders.append(folder)
        try:
            yield
        except Exception:
            self._mixed.update(changed)
            self._changed(changed, folder, None)
            raise
        self._changed(changed, folder, data)

    def _changed(self, paths: Sequence[str], folder: str, data: bytes | None) -> None:
        if folder:
            self._folders.remove(folder)
        for path in paths:
            self._changing[path] -= 1
            if self._changing[path]:
                continue
            del self._changing[path]
            if path in self._mixed:
                self._mixed.discard(path)
            elif data is not None:
                self.whole(path, data)
            elif self.alone and path.startswith(_STATE) and not os.path.exists(f"{self._root}/{path}"):
                self._gone[path] = None
                if len(self._gone) > _GONE_NAMES:
                    del self._gone[next(iter(self._gone))]

    def look_at_growing(self) -> str:
        """The path of a file that is open for appending and that somebody else changed, or "". In any thread."""
        try:
            return next((file.path for file in tuple(self.growing) if file.is_other()), "")
        except OSError:
            return ""  # nothing is known

    def look(self) -> str:
        """The path of a file that somebody else changed, or "". Looks at some files, and the next call at others. Does
        not switch."""
        files, gone = self._next(0, self._files), self._next(1, self._gone)
        other = (path for path in files if path in self._files and self._is_other(path))
        back = (path for path in gone if path in self._gone and os.path.isfile(f"{self._root}/{path}"))
        return next(chain(other, back), "")

    def _is_watched(self, path: str) -> bool:
        if not self.alone or path in self._changing or path.startswith(_UNWATCHED):
            return False
        changing = any(_is_below(path, folder) for folder in self._folders)
        return not changing and all(file.path != path for file in self.growing)

    def _next(self, kind: int, paths: Iterable[str]) -> Iterator[str]:
        """One at least, until the round is over, and none until the next one may begin."""
        now = self._clock_seconds()
        ends = now + _LOOK_SECONDS
        for _ in range(_LOOKS):
            path = next(self._rounds[kind], None)
            if path is None:
                if now >= self._next_rounds[kind]:
                    self._rounds[kind] = iter(tuple(paths))
                    self._next_rounds[kind] = now + _ROUND_SECONDS
                return
            yield path
            if self._clock_seconds() >= ends:
                return

    def _is_other(self, path: str) -> bool:
        was = self._files[path]
        try:
            status = os.stat(f"{self._root}/{path}")
            if isinstance(was, int):
                return status.st_size != was
            if status.st_size != was.length_bytes:
                return True
            now = (status.st_ino, status.st_size, status.st_mtime_ns)
            if now == was[:3]:
                return False
            with open(f"{self._root}/{path}", "rb") as file:
                checksum = crc32(file.read(_SMALL_BYTES + 1))
        except FileNotFoundError:
            return not path.startswith(_LOGS)
        except OSError:
            return False  # nothing is known
        if checksum != was.checksum:
            return True
        self._files[path] = _Replaced(*now, checksum)  # it was only touched
        return False


def _is_below(path: str, folder: str) -> bool:
    """In no folder for ""."""
    return bool(folder) and path.startswith(f"{folder}/")
