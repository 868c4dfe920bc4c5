"""Reads an SSTable through `read_at` (paper, sections 4, 5.3 and 6).

The index, the filter and the properties stay in memory while it is open; blocks come from the block cache or the file.
`read_at` may switch: two tasks may then load the same block, which costs time but changes nothing. Every byte that is
used was checked against a checksum that METADATA's footer checksum vouches for. Raises Corruption wherever bytes do
not check, and whatever read_at raises.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import Final, Protocol, final

from hbtable.encoding.cell_key import SUFFIX_BYTES, TERMINATOR, Pair, check_known, row_of, row_prefix
from hbtable.errors import Corruption
from hbtable.model.ranges import RowRange, successor
from hbtable.sstable.block import Block
from hbtable.sstable.bloom import ROWCOL, BloomFilter, decode_bloom
from hbtable.sstable.cache import BlockCache
from hbtable.sstable.index import Index, decode_index
from hbtable.sstable.large_blocks import LARGE_BYTES, Checksum, read_large
from hbtable.sstable.layout import FOOTER_BYTES, Footer, decode_footer, unseal, unseal_in_place, unseal_out_of
from hbtable.sstable.properties import Properties, decode_properties
from hbtable.switches import switches

ReadAt = Callable[[int, int], bytes]

_OPENING_READ_BYTES: Final = 16384
"""Read from the end at once: footer, properties, index and filter of a small file in one trip to the file system."""

_READ_AHEAD_BYTES: Final = 512 * 1024
"""A scan reads up to so much at once after its first blocks: one trip to the file system costs milliseconds on HDFS."""


class DamagedBlock(Corruption):
    """A block whose bytes do not check; the other blocks of its file can be read. `first_key`: the first one in it.
    `stop_row`: the row behind those of which cells may lie in it."""

    def __init__(self, path: str, offset: int, reason: str, first_key: bytes, stop_row: bytes) -> None:
        super().__init__(path, offset, reason)
        self.first_key = first_key
        self._stop_row = stop_row

    def rows(self) -> RowRange:
        """The rows of which cells may lie in it."""
        return RowRange(row_of(self.first_key), self._stop_row)


class Meter(Protocol):
    """Hears of a scan's blocks as they are read."""

    def several_blocks(self) -> None:
        """Announces that there will be more than one."""

    def read(self, block_bytes: int) -> None:
        """Counts one more block that is in memory for the scan."""


@final
class SSTableReader:
    """One open SSTable. Immutable: any number of tasks may read. Holds no file of its own; nothing to close."""

    __slots__ = (
        "_cache",
        "_checksum",
        "_filter",
        "_in_memory",
        "_index",
        "_read_at",
        "footer",
        "length_bytes",
        "path",
        "properties",
    )

    def __init__(
        self,
        read_at: ReadAt,
        path: str,
        length_bytes: int,
        cache: BlockCache,
        footer: Footer,
        properties: Properties,
        index: Index,
        bloom: BloomFilter | None,
        in_memory: bool,
        checksum: Checksum | None,
    ) -> None:
        """Use `open`."""
        self._read_at = read_at
        self._cache = cache
        self._filter = bloom
        self._index = index
        self._in_memory = in_memory
        self._checksum = checksum
        self.path = path
        self.length_bytes = length_bytes
        self.footer = footer
        self.properties = properties

    @classmethod
    @switches
    def open(
        cls,
        read_at: ReadAt,
        path: str,
        length_bytes: int,
        cache: BlockCache,
        footer_checksum: int | None = None,
        in_memory: bool = False,
        checksum: Checksum | None = None,
    ) -> "SSTableReader":
        """`length_bytes` and `footer_checksum` as METADATA has them; without the latter any whole SSTable will do.

        `in_memory`: its blocks go to the cache's protected share. `checksum`: of large values, which are then read
        apart; None where each read is a trip over the network. May switch. Corruption, or UnsupportedFormat when a
        newer hbtable wrote it.
        """
        tail_offset = max(0, length_bytes - _OPENING_READ_BYTES)
        tail = _read(read_at, path, tail_offset, length_bytes - tail_offset)
        footer = decode_footer(path, tail, length_bytes)
        if footer_checksum is not None and footer.checksum != footer_checksum:
            raise Corruption(path, length_bytes - FOOTER_BYTES, "a whole SSTable, but not the one METADATA names")
        begin = footer.filter_part.offset
        if begin < tail_offset:
            tail = _read(read_at, path, begin, length_bytes - begin)
        else:
            tail = tail[begin - tail_offset :]
        bloom = decode_bloom(path, begin, unseal_out_of(path, footer.filter_part, tail, begin))
        index = decode_index(path, footer.index_part.offset, unseal_out_of(path, footer.index_part, tail, begin), begin)
        raw_properties = unseal_out_of(path, footer.properties_part, tail, begin)
        properties = decode_properties(path, footer.properties_part.offset, raw_properties)
        first_key = index.first_keys[0] if index.first_keys else b""
        if properties.blocks != len(index.first_keys) or properties.first_key != first_key:
            raise Corruption(path, footer.index_part.offset, "the index and the properties do not agree")
        return cls(read_at, path, length_bytes, cache, footer, properties, index, bloom, in_memory, checksum)

    @property
    def read_at(self) -> ReadAt:
        """The function that reads the file."""
        return self._read_at

    @switches
    def scan(self, start: bytes, stop: bytes, cache_blocks: bool = True, meter: Meter | None = None) -> Iterator[Pair]:
        """Pairs with start <= key < stop (b"": to the end), ascending.

        Without `cache_blocks` the block cache is used but stays as it was. `meter` hears of scans that need more than
        one block. May switch, here and at each block.
        """
        index = self._index
        first_keys = index.first_keys
        number = bisect_right(index.separators, start) - 1
        following = number + 1
        if following < len(first_keys) and (not stop or first_keys[following] < stop):
            end = bisect_left(first_keys, stop, following) if stop else len(first_keys)
            if meter is not None:
                meter.several_blocks()
            return self._scan_blocks(number, end, start, stop, cache_blocks, meter)
        if start > self.properties.last_key or (stop and stop <= self.properties.first_key) or number < 0:
            return iter(())
        if not cache_blocks:
            return self._block(number, False).between(start, stop, False)
        block = self._cache.get(self.path, index.offsets[number])
        if block is None:
            block = self._load(number)
        pairs = block.between(start, stop, True)
        if block.memory_bytes != block.charged_bytes:
            self._cache.recount(block)
        return pairs

    def may_hold_row(self, row_prefix: bytes) -> bool:
        """False: certainly no cell of this row. `row_prefix` as encoding.cell_key.row_prefix makes it."""
        if self._filter is None or self._filter.may_hold(row_prefix):
            return True
        self._cache.denied.value += 1
        return False

    def may_hold_column(self, column_prefix: bytes) -> bool:
        """False: certainly no version or marker of exactly this column. True when columns are not in the filter."""
        bloom = self._filter
        if bloom is None or bloom.kind != ROWCOL or bloom.may_hold(column_prefix):
            return True
        self._cache.denied.value += 1
        return False

    def reverse_hint(self, stop: bytes) -> bytes | None:
        """The first key of the block that holds the last key < `stop` (b"": the last key); None without such a key."""
        number = self._index.stop_block(stop) - 1
        return self._index.first_keys[number] if number >= 0 else None

    def middle_key(self) -> bytes | None:
        """A key with about half of the bytes before it, never the first key; None when there is but one block."""
        return self._index.middle_key()

    def bytes_between(self, start: bytes, stop: bytes) -> int:
        """Stored bytes of the blocks that [start, stop) touches."""
        return self._index.bytes_between(start, stop)

    @switches
    def verify(self, pause: Callable[[], None] | None = None) -> int:
        """Reads every byte of the file anew, past the cache, and checks all that can be checked. The number of cells.

        Corruption on any damage. `pause` is called after each block, for the caller to let other tasks run.
        """
        again = SSTableReader.open(self._read_at, self.path, self.length_bytes, self._cache, self.footer.checksum)
        cells = 0
        last_key = b""
        for number in range(len(again._index.first_keys)):
            last_key, block_cells = again._verify_block(number, last_key)
            cells += block_cells
            if pause is not None:
                pause()
        if cells != again.properties.cells or last_key != again.properties.last_key:
            raise Corruption(
                self.path, self.footer.properties_part.offset, f"{cells} cells are not what it says it holds"
            )
        return cells

    # ------------------------------------------------------------ blocks

    @switches
    def _scan_blocks(
        self, number: int, end: int, start: bytes, stop: bytes, cache_blocks: bool, meter: Meter | None
    ) -> Iterator[Pair]:
        """At least two blocks, [number, end): all of those between are given out whole."""
        for current, block in self.blocks(number, end, cache_blocks):
            if cache_blocks:
                block.keep_decoded()
                self.recount(block)
            keys, values = block.decoded()
            if meter is not None:
                meter.read(block.memory_bytes)
            if current == number:
                first = bisect_left(keys, start)
                keys, values = keys[first:], values[first:]
            if current == end - 1 and stop:
                last = bisect_left(keys, stop)
                keys, values = keys[:last], values[:last]
            yield from zip(keys, values, strict=False)

    @switches
    def blocks(self, number: int, end: int, cache_blocks: bool) -> Iterator[tuple[int, Block]]:
        """The blocks of [number, end), each with its number. May switch at each."""
        ahead: dict[int, Block] = {}
        run = 1
        for current in range(number, end):
            block = ahead.pop(current, None)
            if block is None:
                block = self._cached(current, cache_blocks)
            if block is None:
                ahead = self._load_run(current, min(current + run, end), cache_blocks)
                block = ahead.pop(current)
                run += run
            yield current, block

    def numbers(self, start: bytes, stop: bytes) -> range:
        """Of the blocks that may hold keys from `start` up to `stop` (b"": to the end)."""
        index = self._index
        first = max(bisect_right(index.separators, start) - 1, 0)
        return range(first, bisect_left(index.first_keys, stop, first) if stop else len(index.first_keys))

    def recount(self, block: Block) -> None:
        """Tells the cache what the block takes now."""
        if block.memory_bytes != block.charged_bytes:
            self._cache.recount(block)

    @switches
    def blocks_of_whole_rows(
        self, start: bytes, stop: bytes, cache_blocks: bool, is_alone: Callable[[bytes, bytes], bool]
    ) -> Iterator[tuple[Block, bytes]]:
        """The blocks from `start` on, up to one that ends inside a row, each with a key between those of its rows and
        of all others behind them. The first block may begin before `start`, and the last one go beyond `stop` (b"": to
        the end). `is_alone`: asked before a block is read whether nothing else holds anything from one key up to
        another. May switch, here and at each."""
        numbers = self.numbers(start, stop)
        behind = start
        blocks = self.blocks(numbers.start, numbers.stop, cache_blocks)
        for current in numbers:
            start, behind = behind, self.row_behind(current)
            if not behind or not is_alone(start, behind):
                return
            _, block = next(blocks)
            try:
                yield block, behind
            finally:
                if cache_blocks:
                    self.recount(block)

    def row_behind(self, number: int) -> bytes:
        """A key between those of the rows that begin in the block and all others behind it; b"" when its last row goes
        on in the next one."""
        behind = self.between_rows(number)
        index = self._index
        return behind if number + 1 == len(index.first_keys) or index.separators[number + 1] <= behind else b""

    def between_rows(self, number: int) -> bytes:
        """A key between those of the rows that end before the row with which the next block begins, and its own."""
        index = self._index
        if number + 1 == len(index.first_keys):
            key = self.properties.last_key
            return key[: key.index(TERMINATOR)] + b"\x00\x02"
        key = index.first_keys[number + 1]
        return key[: key.index(TERMINATOR) + 2]

    @switches
    def _block(self, number: int, cache_blocks: bool) -> Block:
        return self._cached(number, cache_blocks) or self._load_run(number, number + 1, cache_blocks)[number]

    def _cached(self, number: int, cache_blocks: bool) -> Block | None:
        offset = self._index.offsets[number]
        return self._cache.get(self.path, offset) if cache_blocks else self._cache.peek(self.path, offset)

    @switches
    def _load(self, number: int) -> Block:
        return self._load_run(number, number + 1, True)[number]

    @switches
    def _load_run(self, first: int, last: int, cache_blocks: bool) -> dict[int, Block]:
        """Blocks [first, last), but not beyond the read-ahead's limit after the first, in one read. Switches."""
        offsets = self._index.offsets
        begin = offsets[first]
        while last - first > 1 and offsets[last] - begin > _READ_AHEAD_BYTES:
            last -= 1
        blocks: dict[int, Block] = {}
        try:
            if self._checksum is not None and last - first == 1 and offsets[last] - begin >= LARGE_BYTES:
                read_at, handle = partial(_read, self._read_at, self.path), self._index.handle(first)
                large = read_large(read_at, self.path, handle, self._checksum)
                if large is not None:
                    if cache_blocks:
                        self._cache.put(self.path, begin, large, self._in_memory)
                    return {first: large}
            sealed = _read(self._read_at, self.path, begin, offsets[last] - begin)
        except Corruption as error:
            if last - first > 1:
                return self._load_run(first, first + 1, cache_blocks)
            raise self._damaged(first, error) from error
        for number in range(first, last):
            handle = self._index.handle(number)
            try:
                at = handle.offset - begin
                part = sealed[at : at + handle.sealed_bytes]  # no copy, where it is all that was read
                block = Block(self.path, handle.offset, *unseal_in_place(self.path, handle, part))
            except Corruption as error:
                if blocks:
                    break  # nobody may need more than those before it; who does reads it again
                raise self._damaged(number, error) from error
            blocks[number] = block
            if cache_blocks:
                self._cache.put(self.path, handle.offset, block, self._in_memory)
        return blocks

    def _damaged(self, number: int, error: Corruption) -> DamagedBlock:
        first_keys = self._index.first_keys
        if number + 1 == len(first_keys):  # all behind the file's last row is in other files, if anywhere
            stop_row = successor(row_of(self.properties.last_key))
        else:
            stop_row = row_of(first_keys[number + 1])
            # A separator is above all that lies before it: the row begins behind the block, or in it.
            if self._index.separators[number + 1] > row_prefix(stop_row):
                stop_row = successor(stop_row)
        return DamagedBlock(error.path, error.offset, error.reason, first_keys[number], stop_row)

    @switches
    def _verify_block(self, number: int, last_key: bytes) -> tuple[bytes, int]:
        """(last key, cells) of one block, checked against the index, its neighbour, its restarts and the filter."""
        index = self._index
        handle = index.handle(number)
        sealed = _read(self._read_at, self.path, handle.offset, handle.sealed_bytes)
        block = Block(self.path, handle.offset, unseal(self.path, handle, sealed))
        keys = block.decoded()[0]
        if not keys or keys[0] != index.first_keys[number] or (number and index.separators[number] <= last_key):
            raise Corruption(self.path, handle.offset, "the block does not begin as the index says")
        if keys[0] <= last_key or any(left >= right for left, right in pairwise(keys)):
            raise Corruption(self.path, handle.offset, "the block is not in order")
        if not block.restarts_agree():
            raise Corruption(self.path, handle.offset, "the block's restart points are wrong")
        row = b""
        for key in keys:
            check_known(key, self.path)
            if not row or not key.startswith(row):
                row = key[: key.find(TERMINATOR) + 2]
                if not self.may_hold_row(row):
                    raise Corruption(self.path, handle.offset, "the Bloom filter denies a row that is there")
            if not self.may_hold_column(key[:-SUFFIX_BYTES]):
                raise Corruption(self.path, handle.offset, "the Bloom filter denies a column that is there")
        return keys[-1], len(keys)


@switches
def _read(read_at: ReadAt, path: str, offset: int, size: int) -> bytes:
    """read_at, held to its promise: exactly `size` bytes."""
    found = read_at(offset, size)
    if len(found) != size:
        raise Corruption(path, offset + len(found), f"the file ends here, {size - len(found)} bytes early")
    return found
