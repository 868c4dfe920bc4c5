"""What can be damaged of a single server's folder between two of its lives: a block or the end of a file, a lost file,
one that is replaced by another or by an older copy of itself, or all of it, put back from a backup.

Each kind is a method of Damager: it damages something and says what (StoreDamage), or returns None where there is
nothing of that kind.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass

from hbtable.commitlog.segments.high_water import decode_high_water, high_water_path
from hbtable.commitlog.segments.segment import segment_number
from hbtable.fs.memory_disk import MemoryContent, MemoryDisk
from tests.harness.disks import change_one, cut, disk_copy, put, zero

METADATA, LOCKS = "sstables/00000000/", "lockservice/files/"
KINDS = (
    "sstable flipped", "sstable cut", "sstable zeroed", "sstable lost", "sstable swapped",
    "metadata flipped", "metadata lost", "log flipped", "log cut", "log zeroed", "log lost",
    "lock file lost", "lock file older", "root older", "locks lost", "locks older", "all older",
)  # fmt: skip
CLOSING = (f"{LOCKS}root-tablet", f"{LOCKS}cluster")
"""Without them nothing can be served: which tablets there are, and whose they are, is known to them alone."""


@dataclass(frozen=True)
class StoreDamage:
    """`what`: for a message. `path`: what a refusal must name; "": nothing may be refused."""

    what: str
    path: str = ""
    unsaid: bool = False
    """It looks like an end that was never longer: rows may be older, and nothing need be said."""
    restored: bool = False
    """Everything is as it was in the backup."""
    right: tuple[str, MemoryContent] | None = None
    """The file that was spoiled, where putting it back makes everything right again."""


class Damager:
    """One damage to the folder on `disk`, of which no process runs. `backup`: the same folder, earlier."""

    def __init__(self, disk: MemoryDisk, backup: MemoryDisk | None, chance: random.Random) -> None:
        self._files = disk.files
        self._backup = backup
        self._chance = chance

    def do(self, kind: str) -> StoreDamage | None:
        """One of KINDS."""
        what, how = kind.rsplit(" ", 1)
        change = {"flipped": _flip, "cut": cut, "zeroed": zero}.get(how)
        if change is not None:
            return self._changed(how, self._paths(what), change)
        done: StoreDamage | None = getattr(self, "_" + kind.replace(" ", "_"))()
        return done

    def _paths(self, what: str) -> list[str]:
        chosen: dict[str, Callable[[str], bool]] = {
            "sstable": lambda path: path.startswith("sstables/") and not path.startswith(METADATA),
            "metadata": lambda path: path.startswith(METADATA),
            "log": lambda path: path.startswith("logs/") and not path.endswith("/synced"),
            "lock file": lambda path: path.startswith(LOCKS),
        }
        return sorted(path for path, file in self._files.items() if chosen[what](path) and file.content)

    # ------------------------------------------------------------ one file

    def _sstable_lost(self) -> StoreDamage | None:
        return self._lost(self._paths("sstable"))

    def _metadata_lost(self) -> StoreDamage | None:
        return self._lost(self._paths("metadata"))

    def _log_lost(self) -> StoreDamage | None:
        return self._lost(self._paths("log"))

    def _lock_file_lost(self) -> StoreDamage | None:
        paths = self._paths("lock file")
        path = self._chance.choice(paths)
        del self._files[path]
        return StoreDamage(f"{path} is lost", path if path in CLOSING else "")

    def _lock_file_older(self) -> StoreDamage | None:
        return self._older(self._paths("lock file"))

    def _root_older(self) -> StoreDamage | None:
        return self._older([CLOSING[0]])

    def _older(self, paths: list[str]) -> StoreDamage | None:
        kept = self._backup.files if self._backup is not None else {}
        older = [path for path in paths if path in kept and kept[path].content != self._files[path].content]
        if not older:
            return None
        path = self._chance.choice(older)
        put(self._files, path, bytes(kept[path].content))
        return StoreDamage(f"{path} is an older one", path if path in CLOSING else "")

    def _sstable_swapped(self) -> StoreDamage | None:
        paths = self._paths("sstable")
        pairs = [(one, other) for one in paths for other in paths]
        pairs = [(one, other) for one, other in pairs if self._files[one].content != self._files[other].content]
        if not pairs:
            return None
        path, other = self._chance.choice(pairs)
        right = self._files[path]
        put(self._files, path, bytes(self._files[other].content))
        return self._told(f"{path} is another one", path, 0, right)

    def _changed(self, how: str, paths: list[str], change: Callable[[bytearray, int], None]) -> StoreDamage | None:
        one = change_one(self._files, paths, self._chance, change)
        return one and self._told(one.told(how), one.path, one.at, one.right)

    def _lost(self, paths: list[str]) -> StoreDamage | None:
        if not paths:
            return None
        path = self._chance.choice(paths)
        return self._told(f"{path} is lost", path, 0, self._files.pop(path))

    def _told(self, what: str, path: str, at: int, right: MemoryContent) -> StoreDamage:
        if path.startswith("logs/"):  # what recovery found at once counts for good
            return StoreDamage(what, path, unsaid=is_behind_the_mark(self._files, path, at))
        return StoreDamage(what, path, right=(path, right))

    # ------------------------------------------------------------ all of it

    def _locks_lost(self) -> StoreDamage | None:
        """With the copy of the root tablet's record left, from which it is put back."""
        for path in self._paths("lock file"):
            del self._files[path]
        return StoreDamage("the lock service is lost", CLOSING[0])

    def _locks_older(self) -> StoreDamage | None:
        if self._backup is None:
            return None
        for path in self._paths("lock file"):
            del self._files[path]
        kept = disk_copy(self._backup).files
        self._files.update({path: file for path, file in kept.items() if path.startswith(LOCKS)})
        return StoreDamage("the lock service is older", CLOSING[0])

    def _all_older(self) -> StoreDamage | None:
        if self._backup is None:
            return None
        self._files.clear()
        self._files.update(disk_copy(self._backup).files)
        return StoreDamage("everything is older", restored=True)


def _flip(content: bytearray, at: int) -> None:
    content[at] ^= 1 << at % 8


def is_behind_the_mark(files: dict[str, MemoryContent], path: str, at: int) -> bool:
    """Of a log: nothing outside of it tells that there was anything from this byte on."""
    folder, _, _ = path.rpartition("/")
    number = segment_number(folder, path) if path.startswith("logs/") else None
    if number is None:
        return False
    synced = files.get(high_water_path(folder))
    if synced is None:
        return True
    mark = decode_high_water(bytes(synced.content), path)
    # A mark that was taken while the next group was on its way does not say a length.
    return (number, at) >= (mark.segment, mark.length_bytes)
