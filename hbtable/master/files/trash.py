"""The folder in which garbage waits before it is deleted, so that a mistake can be undone; bounded by age and bytes.

trash/<wall millis of the move>/<the file's old path>
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, final

from hbtable.errors import FileNotFound
from hbtable.fs.interface import FileSystem
from hbtable.switches import switches

TRASH: Final = "trash"


class _Move(NamedTuple):
    """The files that one collection moved here."""

    millis: int
    files: int
    length_bytes: int


@final
class Trash:
    """Keeps deleted files for a while. `limit_bytes` 0: bounded by age alone."""

    def __init__(self, wall_millis: Callable[[], int], fs: FileSystem, keep_seconds: float, limit_bytes: int) -> None:
        """`wall_millis` does not jump: what a jump ahead made old would be deleted."""
        self._wall_millis = wall_millis
        self._fs = fs
        self._keep_millis = int(keep_seconds * 1000)
        self._limit_bytes = limit_bytes

    @switches
    def make_room(self, coming_bytes: int, keep: bool = True) -> tuple[int, int]:
        """Deletes the files that are too old, then the oldest until `coming_bytes` fit as well; all of them unless
        `keep`. Returns how many files were deleted, and how many are left."""
        oldest = self._wall_millis() - self._keep_millis
        moves = self._moves()
        held = sum(move.length_bytes for move in moves)
        gone = 0
        for move in moves:
            too_many = 0 < self._limit_bytes < held + coming_bytes
            if keep and move.millis > oldest and not too_many:
                break
            # The folder and those below it, too: a NameNode keeps each of them in memory.
            self._fs.delete_folder(f"{TRASH}/{move.millis}")
            held -= move.length_bytes
            gone += move.files
        return gone, sum(move.files for move in moves) - gone

    @switches
    def take(self, garbage: Mapping[str, int], keep: bool = True) -> int:
        """Files by path and length: those that fit are moved here, the others are deleted, and so are all unless
        `keep`. After make_room(). How many were moved."""
        folder = f"{TRASH}/{self._wall_millis()}"
        taken = moved = 0
        for path, length_bytes in garbage.items():
            fits = keep and (not self._limit_bytes or taken + length_bytes <= self._limit_bytes)
            try:
                if fits:
                    self._fs.rename(path, f"{folder}/{path}")
                    taken, moved = taken + length_bytes, moved + 1
                else:
                    self._fs.delete(path)
            except FileNotFound:
                continue  # another master was faster
        return moved

    @switches
    def _moves(self) -> list[_Move]:
        """Ascending by time."""
        sizes: dict[int, tuple[int, int]] = {}
        for status in self._fs.list_files(TRASH):
            millis = status.path.split("/")[1]
            if millis.isdigit():
                files, length_bytes = sizes.get(int(millis), (0, 0))
                sizes[int(millis)] = files + 1, length_bytes + status.length_bytes
        return [_Move(millis, files, length_bytes) for millis, (files, length_bytes) in sorted(sizes.items())]
