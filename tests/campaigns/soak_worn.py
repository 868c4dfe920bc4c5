"""What a pattern of `make soak` has cost, and which of it is out of bounds."""

import gc
import os
from dataclasses import dataclass


@dataclass
class Worn:
    """`first` and `last`: per operation, in the first and in the last fifth of them. `objects` and `descriptors`: more
    than after the first fifth."""

    name: str
    first_micros: float = 0.0
    last_micros: float = 0.0
    first_cells: float = 0.0
    last_cells: float = 0.0
    files: int = 0
    sstable_bytes: int = 0
    tablets: int = 0
    log_bytes: int = 0
    objects: int = 0
    descriptors: int = 0

    def __str__(self) -> str:
        return (
            f"{self.name:12} {self.first_micros:8.0f} {self.last_micros:8.0f} us   {self.first_cells:8.0f} "
            f"{self.last_cells:8.0f} cells   {self.files:4} files {self.sstable_bytes:10} bytes "
            f"in {self.tablets} tablets, log {self.log_bytes:8}, {self.objects:6} objects "
            f"{self.descriptors:4} descriptors"
        )


def bounds(worn: Worn) -> list[str]:
    """What is wrong with the counts, which depend on no clock."""
    wrong = []
    if worn.last_cells > 2 * worn.first_cells + 1000:
        wrong.append(f"{worn.name}: reads look at more and more cells: {worn}")
    if worn.files > 40:
        wrong.append(f"{worn.name}: files pile up: {worn}")
    if worn.sstable_bytes > 1_000_000:
        wrong.append(f"{worn.name}: what is deleted stays: {worn}")
    if worn.tablets > 3:
        wrong.append(f"{worn.name}: emptied tablets stay: {worn}")
    if worn.objects > 300:
        wrong.append(f"{worn.name}: objects stay: {worn}")
    if worn.descriptors > 5:
        wrong.append(f"{worn.name}: descriptors stay: {worn}")
    return wrong


def leave_out_what_is_there() -> None:
    """What this process holds now is never looked at again, neither for garbage nor by living_objects(). Patterns look
    often, and in a process that ran a thousand tests before, each look took as long as all of its objects take."""
    gc.collect()
    gc.freeze()


def living_objects() -> int:
    """Python objects that hold others, made since leave_out_what_is_there()."""
    gc.collect()
    return len(gc.get_objects())


def open_descriptors() -> int:
    """Of this process."""
    return len(os.listdir("/proc/self/fd"))
