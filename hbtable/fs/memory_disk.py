"""The medium under memory.py: file contents, how much of each is synced, and what a loss of power leaves of it.

Model of a crash (the port's promise, made as nasty as it allows): of each file everything synced stays; of the appends
after that a random prefix stays, cut anywhere, and the rest of the piece where it was cut may read as zeros or garbage.
Names change in the order of the calls, as in a journal: calls that returned have happened, of those under way a random
number of the first ones.
"""

import random
from collections.abc import Callable
from typing import Final, final

from hbtable.errors import OutOfSpace, Stalled

_ZEROS_IN: Final = 4
_GARBAGE_IN: Final = 8


@final
class MemoryContent:
    """One file's bytes. `synced_bytes` of them survive a loss of power."""

    __slots__ = ("append_ends", "content", "modified_millis", "sealed", "synced_bytes")

    def __init__(self, content: bytes, synced_bytes: int, modified_millis: int) -> None:
        self.content = bytearray(content)
        self.synced_bytes = synced_bytes
        self.modified_millis = modified_millis
        self.append_ends: list[int] = []
        """The length of the file after each append since the last sync."""
        self.sealed = False

    def seal(self) -> None:
        """Nobody may append any more: FileSystem.seal."""
        self.sealed = True

    def check_unsealed(self, path: str) -> None:
        if self.sealed:
            raise Stalled(f"{path} was sealed by another process, which ends this one's writing to it")

    def synced_up_to(self, length_bytes: int) -> None:
        """Notes the end of a sync. One that ends after a later one takes nothing back: what is durable stays so."""
        if length_bytes > self.synced_bytes:
            self.synced_bytes = length_bytes
            self.append_ends = [end for end in self.append_ends if end > length_bytes]

    def after_power_loss(self, chance: random.Random, tear: bool) -> "MemoryContent":
        """The disk as a reader finds it at the next start; all of that is on the medium, thus synced."""
        content = self.content
        ends = [self.synced_bytes, *self.append_ends]
        if not tear:
            kept = bytes(content[: chance.choice(ends)])
            return MemoryContent(kept, len(kept), self.modified_millis)
        cut = chance.randint(self.synced_bytes, len(content))
        piece_end = min(end for end in [*ends, len(content)] if end >= cut)
        kept = bytes(content[:cut])
        if chance.randrange(_ZEROS_IN) == 0:
            kept += bytes(piece_end - cut)  # the length was written, the block was not
        elif chance.randrange(_GARBAGE_IN) == 0:
            kept += chance.randbytes(piece_end - cut)
        return MemoryContent(kept, len(kept), self.modified_millis)


@final
class NameChange:
    """One call that changes names: what was there before, per path, so that it can be taken back."""

    __slots__ = ("before",)

    def __init__(self, before: dict[str, MemoryContent | None]) -> None:
        self.before = before


@final
class MemoryDisk:
    """All files by path. `capacity_bytes` may be changed at any time, to fill the disk or to make room again."""

    def __init__(self, capacity_bytes: int | None = None) -> None:
        self.files: dict[str, MemoryContent] = {}
        self.capacity_bytes = capacity_bytes
        self.crashed = False
        self.when_full: Callable[[], None] = _nobody
        self._under_way: list[NameChange] = []

    @property
    def used_bytes(self) -> int:
        return sum(len(file.content) for file in self.files.values())

    def room_for(self, size: int) -> int:
        """The number of bytes that fit, of `size` more."""
        if self.capacity_bytes is None:
            return size
        return max(0, min(size, self.capacity_bytes - self.used_bytes))

    def check_room(self, path: str, size: int) -> None:
        """OutOfSpace unless all of `size` fits."""
        if self.room_for(size) < size:
            self.when_full()
            raise OutOfSpace(f"no room left for {path}; make room, then try again")

    def change_names(self, after: dict[str, MemoryContent | None]) -> NameChange:
        """Visible at once, durable with names_settled()."""
        change = NameChange({path: self.files.get(path) for path in after})
        self._put(after)
        self._under_way.append(change)
        return change

    def names_settled(self, change: NameChange) -> None:
        """`change` and every earlier one are durable: a journal is written in order."""
        if change in self._under_way:
            del self._under_way[: self._under_way.index(change) + 1]

    def _put(self, contents: dict[str, MemoryContent | None]) -> None:
        for path, content in contents.items():
            if content is None:
                self.files.pop(path, None)
            else:
                self.files[path] = content

    def after_power_loss(self, chance: random.Random, tear: bool) -> "MemoryDisk":
        """The medium as the next start finds it. This one is unusable from now on."""
        self.crashed = True
        happened = chance.randint(0, len(self._under_way))
        for change in reversed(self._under_way[happened:]):
            self._put(change.before)
        self._under_way.clear()
        survivor = MemoryDisk(self.capacity_bytes)
        for path in sorted(self.files):
            survivor.files[path] = self.files[path].after_power_loss(chance, tear)
        return survivor


def _nobody() -> None:
    """Nobody keeps room back."""
