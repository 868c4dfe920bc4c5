"""Whole rows of blocks, wherever blocks end: those that hold the pairs of one row are joined there."""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from hbtable.sstable.reader import SSTableReader
from hbtable.switches import switches

_MOST_CARRIED: Final = 10_000
"""Pairs of a row that goes on from block to block."""


class RowPairs(NamedTuple):
    """Pairs of whole rows, ascending. Nobody may change the lists."""

    keys: list[bytes]
    values: list[bytes]


@switches
def joined_rows(
    reader: SSTableReader, start: bytes, stop: bytes, cache_blocks: bool, is_alone: Callable[[bytes, bytes], bool]
) -> Iterator[tuple[RowPairs, bytes]]:
    """As SSTableReader.blocks_of_whole_rows, with pairs in the place of blocks: a block's part of a row that goes on in
    the next one comes with that one. Ends before a row of more than _MOST_CARRIED pairs."""
    numbers = reader.numbers(start, stop)
    blocks = reader.blocks(numbers.start, numbers.stop, cache_blocks)
    before = start
    keys: list[bytes] = []
    values: list[bytes] = []
    for number in numbers:
        behind = reader.between_rows(number)
        if (behind > before and not is_alone(before, behind)) or len(keys) > _MOST_CARRIED:
            return
        _, block = next(blocks)
        if cache_blocks:
            block.keep_decoded()
            reader.recount(block)
        new_keys, new_values = block.decoded()
        keys, values = (keys + new_keys, values + new_values) if keys else (new_keys, new_values)
        cut = len(keys) if reader.row_behind(number) else bisect_left(keys, behind)
        if cut and behind > start:
            yield RowPairs(keys[:cut], values[:cut]), behind
            before = behind
        keys, values = keys[cut:], values[cut:]
