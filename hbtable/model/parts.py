"""Cuts long lists of operations or pairs into parts, bounded in number and in bytes: between two of them others run."""

from collections.abc import Iterator, Sequence
from typing import Final, TypeVar

T = TypeVar("T", bound="tuple[object, ...]")

PART_BYTES: Final = 256 << 10
"""Copied or looked at in one go: about a quarter of a millisecond."""


def parts_of(things: Sequence[T], most: int) -> Iterator[Sequence[T]]:
    """Consecutive parts of at most `most` things. The last member of each thing is its value; those of a part have
    PART_BYTES together at most, or it is a single one."""
    for first in range(0, len(things), most):
        part = things[first : first + most]
        sizes = [len(thing[-1]) for thing in part]  # type: ignore[arg-type]  # bytes, or what is refused for that
        if sum(sizes) <= PART_BYTES:
            yield part
        else:
            yield from _parts_by_bytes(part, sizes)


def _parts_by_bytes(things: Sequence[T], sizes: Sequence[int]) -> Iterator[Sequence[T]]:
    first = held = 0
    for place, size in enumerate(sizes):
        if held + size > PART_BYTES and place > first:
            yield things[first:place]
            first, held = place, 0
        held += size
    yield things[first:]
