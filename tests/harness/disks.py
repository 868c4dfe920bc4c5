"""Disks of simulated machines, for tests that damage one."""

import random
from collections.abc import Callable
from typing import NamedTuple

from hbtable.fs.memory_disk import MemoryContent, MemoryDisk


def disk_copy(disk: MemoryDisk) -> MemoryDisk:
    """As it is after everything on it was synced."""
    copy = MemoryDisk()
    for name, content in disk.files.items():
        copy.files[name] = MemoryContent(bytes(content.content), len(content.content), content.modified_millis)
    return copy


def put(files: dict[str, MemoryContent], path: str, content: bytes) -> None:
    """Another content for this file, as old as the one before."""
    files[path] = MemoryContent(content, len(content), files[path].modified_millis)


class ChangedFile(NamedTuple):
    """A file that was changed: from which byte on, and what it was before."""

    path: str
    at: int
    right: MemoryContent

    def told(self, how: str) -> str:
        """For messages. `how`: a participle."""
        return f"{self.path} is {how} at byte {self.at} of {len(self.right.content)}"


def change_one(
    files: dict[str, MemoryContent],
    paths: list[str],
    chance: random.Random,
    change: Callable[[bytearray, int], None],
) -> ChangedFile | None:
    """Changes one of `paths`, from a byte by `chance` on; None when all of them are empty, or nothing came of it."""
    paths = [path for path in paths if files[path].content]
    if not paths:
        return None
    path = chance.choice(paths)
    right = files[path]
    content = bytearray(right.content)
    at = chance.randrange(len(content))
    change(content, at)
    if content == right.content:
        return None
    put(files, path, bytes(content))
    return ChangedFile(path, at, right)


def cut(content: bytearray, at: int) -> None:
    del content[at:]


def zero(content: bytearray, at: int) -> None:
    content[at:] = bytes(len(content) - at)
