"""A wall clock of single processes that a test sets: as with a machine whose time server is wrong, or that nobody set.

The program asks Python for the time, and nobody else, so Python's own functions are replaced as the process starts. The
clocks that count on by themselves, of leases and pauses, stay right: they are never set on a machine either.
"""

import os
import struct
from pathlib import Path
from typing import Final

_HOOK: Final = Path(__file__).parent / "wall_clocks"


class WrongClock:
    """The clock of a process, its children and those that follow it, by a file that all of them have mapped."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.seconds = 0.0
        """By which it is ahead of the machine's; below 0: behind."""
        file.write_bytes(bytes(8))

    def environment(self) -> dict[str, str]:
        """What a process that has this clock finds in its environment besides."""
        before = os.environ.get("PYTHONPATH")
        return {
            "PYTHONPATH": os.pathsep.join([str(_HOOK), *([before] if before else [])]),
            "HBTABLE_TESTS_CLOCK": str(self._file),
        }

    def set(self, seconds: float) -> None:
        """On return every process sees it."""
        self.seconds = seconds
        with self._file.open("r+b") as file:
            file.write(struct.pack("<q", int(seconds * 1e9)))
