r"""One block of sorted pairs: prefix-compressed keys with restart points (paper, section 4; after LevelDB's block).

Unlike LevelDB's, the entries' parts stand in columns, because Python cuts columns much faster than interleaved varints:

    suffixes       the end of each key that it does not share with the key before
    values
    shared         count x width 1      bytes shared with the key before; 0 at a restart point
    unshared       count x width 2      length of each suffix
    lengths        count x width 3      length of each value
    restarts       8 per restart point (every `interval` entries): offset into the suffixes 4, into the values 4
    tail    13     count 4, bytes of all suffixes 4, interval 2, width 1, width 2, width 3 (each 1, 2 or 4 bytes)

A seek bisects the restart points' whole keys and decodes one interval; a scan decodes all, and that form may be kept.
Scans that answer with whole plain rows keep them as those answers have them, in place of the values.
"""

import struct
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Final, final

from hbtable.encoding.cell_key import Pair
from hbtable.encoding.row_results import RowResults, row_results
from hbtable.errors import Corruption

_TAIL: Final = struct.Struct(">IIHBBB")
_RESTART: Final = struct.Struct(">II")
_FORMATS: Final = {2: "H", 4: "I"}

_KEY_OVERHEAD_BYTES: Final = 52
PAIR_OVERHEAD_BYTES: Final = 96
"""Memory of a decoded pair beyond its bytes: two bytes objects (33 each, rounded up to 16) and two list slots."""

_NEAR_ENTRIES: Final = 15
_RESTART_KEY_BYTES: Final = 52

BLOCK_OVERHEAD_BYTES: Final = 700
"""Memory of a Block beyond its content: the object, its lists' heads, its place and key in the block cache."""


def encode_block(keys: Sequence[bytes], values: Sequence[bytes], interval: int) -> bytes:
    """Keys strictly ascending (the caller's promise). Any number of pairs, none included."""
    shared = _shared_lengths(keys, interval)
    suffixes = [key[length:] for key, length in zip(keys, shared, strict=True)]
    unshared = list(map(len, suffixes))
    lengths = list(map(len, values))
    suffix_ends = list(accumulate(unshared, initial=0))
    value_ends = list(accumulate(lengths, initial=0))
    restarts = [
        _RESTART.pack(suffix_ends[entry], value_ends[entry]) for entry in range(0, len(keys), interval)
    ]  # struct.error above 4 GiB: the builder's limit is far below
    columns = (shared, unshared, lengths)
    widths = [_width(max(column, default=0)) for column in columns]
    parts = [*suffixes, *values]
    parts += [_encode_column(column, width) for column, width in zip(columns, widths, strict=True)]
    parts += restarts
    parts.append(_TAIL.pack(len(keys), suffix_ends[-1], interval, *widths))
    return b"".join(parts)


def place_of_last_value(end: bytes, block_bytes: int) -> tuple[int, int] | None:
    """The beginning and the end of the last value in a block of that length, of which these are the last bytes. None
    when they do not say it, or cannot be the end of a block."""
    count, suffix_bytes, interval, *widths = _TAIL.unpack_from(end, len(end) - _TAIL.size)
    if not count or not interval or not set(widths) <= {1, 2, 4}:
        return None
    behind_columns = len(end) - _TAIL.size - _RESTART.size * -(-count // interval)
    if behind_columns < count * sum(widths):
        return None
    width = widths[2]
    length = int.from_bytes(end[behind_columns - width : behind_columns], "big")
    behind = block_bytes - len(end) + behind_columns - count * sum(widths)
    return (behind - length, behind) if behind - length >= suffix_bytes else None


def shared_length(left: bytes, right: bytes) -> int:
    """Length of the longest common prefix. Compares as two big integers: one C operation, no loop over bytes."""
    shorter = min(len(left), len(right))
    difference = int.from_bytes(left[:shorter], "big") ^ int.from_bytes(right[:shorter], "big")
    return shorter - ((difference.bit_length() + 7) >> 3)


def _shared_lengths(keys: Sequence[bytes], interval: int) -> list[int]:
    """`shared_length` of each key with the one before; the integer of each key is made once."""
    shared: list[int] = []
    previous = 0
    previous_bytes = 0
    for entry, key in enumerate(keys):
        number = int.from_bytes(key, "big")
        size = len(key)
        if entry % interval == 0:
            shared.append(0)
        elif size >= previous_bytes:
            difference = (number >> ((size - previous_bytes) << 3)) ^ previous
            shared.append(previous_bytes - ((difference.bit_length() + 7) >> 3))
        else:
            difference = (previous >> ((previous_bytes - size) << 3)) ^ number
            shared.append(size - ((difference.bit_length() + 7) >> 3))
        previous = number
        previous_bytes = size
    return shared


def _width(largest: int) -> int:
    if largest < 256:
        return 1
    return 2 if largest < 65536 else 4


def _encode_column(column: Sequence[int], width: int) -> bytes:
    return bytes(column) if width == 1 else struct.pack(f">{len(column)}{_FORMATS[width]}", *column)


@final
class Block:
    """A block in memory, as stored (`raw`) or decoded (`keys`, and `values` or `results`; then `raw` is b"").

    `memory_bytes` is what it really costs now. `charged_bytes` and `is_protected` belong to the block cache, which
    holds it at most once. Reading never switches; decoding twice is harmless.
    """

    __slots__ = (
        "_columns_at",
        "_count",
        "_interval",
        "_is_plain",
        "_offset",
        "_path",
        "_restart_keys",
        "_restarts",
        "_restarts_at",
        "_seek_effort",
        "_suffix_bytes",
        "_widths",
        "charged_bytes",
        "is_decoded",
        "is_protected",
        "keys",
        "memory_bytes",
        "raw",
        "results",
        "values",
    )

    def __init__(self, path: str, offset: int, raw: bytes, behind: int = 0) -> None:
        """`raw` as encode_block made it, and so many bytes of something else `behind` it, which are spared a copy;
        `path` and `offset` are for Corruption, raised when it cannot be a block."""
        end = len(raw) - behind
        if end < _TAIL.size:
            raise Corruption(path, offset, "a block without its tail")
        count, suffix_bytes, interval, shared, unshared, lengths = _TAIL.unpack_from(raw, end - _TAIL.size)
        if interval == 0 or not {shared, unshared, lengths} <= {1, 2, 4}:
            raise Corruption(path, offset, "the block's tail makes no sense")
        self._restarts: int = -(-count // interval)
        self._restarts_at: int = end - _TAIL.size - 8 * self._restarts
        self._columns_at: int = self._restarts_at - count * (shared + unshared + lengths)
        if suffix_bytes > self._columns_at:
            raise Corruption(path, offset, "the block's parts are larger than the block")
        self._path = path
        self._offset = offset
        self._count: int = count
        self._interval: int = interval
        self._widths: tuple[int, int, int] = (shared, unshared, lengths)
        self._suffix_bytes: int = suffix_bytes
        self._restart_keys: list[bytes] = []
        self._seek_effort = 0
        self.raw = raw
        self.keys: list[bytes] = []
        self.values: list[bytes] = []
        self.results: RowResults | None = None
        """Holds the values, when it is there."""
        self._is_plain = True
        self.is_decoded = False
        self.memory_bytes = len(raw) + BLOCK_OVERHEAD_BYTES
        self.charged_bytes = 0
        self.is_protected = False

    def decoded(self, last: bytes | None = None) -> tuple[list[bytes], list[bytes]]:
        """(keys, values) of the whole block, without keeping them. Nobody may change these lists. `last`: the last
        value, where `raw` is without it."""
        if self.results is not None:
            return self.keys, self.results.values(0, self._count)
        if self.is_decoded:
            return self.keys, self.values
        raw = self.raw
        shared, unshared, lengths = self._columns(0, self._count)
        ends = list(accumulate(lengths if last is None else lengths[:-1], initial=self._suffix_bytes))
        if ends[-1] != self._columns_at or sum(unshared) != self._suffix_bytes:
            raise Corruption(self._path, self._offset, "the lengths in the block do not add up")
        values = [raw[begin:end] for begin, end in pairwise(ends)]
        if last is not None:
            values.append(last)
        return self._cut_keys(shared, unshared, 0), values

    def keep_decoded(self, last: bytes | None = None) -> None:
        """Replaces the stored form by the decoded one: twice the memory, but a scan then costs nothing. `last` as
        decoded() has it.

        The caller tells the cache (BlockCache.recount).
        """
        if self.is_decoded:
            return
        self.keys, self.values = self.decoded(last)
        self.memory_bytes = (
            BLOCK_OVERHEAD_BYTES
            + PAIR_OVERHEAD_BYTES * self._count
            + sum(map(len, self.keys))
            + sum(map(len, self.values))
        )
        self.is_decoded = True
        self.raw = b""
        self._restart_keys = []

    def plain_rows(self, keep: bool) -> tuple[list[bytes], RowResults] | None:
        """The keys, and the rows of a block that holds whole ones; None where visibility has anything to decide.

        With `keep` they replace the values. The caller then tells the cache.
        """
        if self.results is not None:
            return self.keys, self.results
        if not self._is_plain:
            return None
        keys, values = self.decoded()
        results = row_results(keys, values)
        if results is None:
            self._is_plain = False
            return None
        if keep:
            self.keys, self.values, self.results = keys, [], results
            self.memory_bytes = (
                BLOCK_OVERHEAD_BYTES + _KEY_OVERHEAD_BYTES * self._count + sum(map(len, keys)) + results.memory_bytes
            )
            self.is_decoded = True
            self.raw = b""
            self._restart_keys = []
        return keys, results

    def between(self, start: bytes, stop: bytes, keep: bool) -> Iterator[Pair]:
        """Pairs with start <= key < stop (b"": to the end), ascending.

        With `keep` the block decodes itself for good once seeks have cost as much as that would have: never more than
        twice the work of knowing the future. The caller then tells the cache.
        """
        if self.is_decoded:
            keys = self.keys
            first = bisect_left(keys, start)
            last = len(keys)
            if stop:
                near = first + _NEAR_ENTRIES  # a row mostly ends near its start: fewer keys to touch
                if near < last and keys[near] >= stop:
                    last = near
                last = bisect_left(keys, stop, first, last)
            values = self.values[first:last] if self.results is None else self.results.values(first, last)
            return zip(keys[first:last], values, strict=False)
        restart_keys = self._restart_keys
        if not restart_keys:
            restart_keys = self._restart_keys = self._cut_restart_keys()
            self.memory_bytes += sum(map(len, restart_keys)) + _RESTART_KEY_BYTES * len(restart_keys)
        first = bisect_right(restart_keys, start) - 1
        if first < 0:
            first = 0
        last = bisect_left(restart_keys, stop, first) if stop else self._restarts
        self._seek_effort += last - first
        if self._seek_effort < self._restarts or not keep:
            return self._between_restarts(first, last, start, stop)
        self.keep_decoded()
        return self.between(start, stop, keep)

    def restarts_agree(self) -> bool:
        """Whether each restart point leads to the entries that a decoding from the beginning finds there."""
        keys, values = self.decoded()
        if self._cut_restart_keys() != keys[:: self._interval]:
            return False
        pairs: list[Pair] = []
        for restart in range(self._restarts):
            pairs += self._between_restarts(restart, restart + 1, b"", b"")
        return pairs == list(zip(keys, values, strict=True))

    def _between_restarts(self, first: int, last: int, start: bytes, stop: bytes) -> Iterator[Pair]:
        """Decodes the keys of the intervals [first, last), then only the values that are asked for."""
        if first >= last:
            return iter(())
        raw = self.raw
        suffix_at, value_at = _RESTART.unpack_from(raw, self._restarts_at + 8 * first)
        begin = first * self._interval
        shared, unshared, lengths = self._columns(begin, min(last * self._interval, self._count))
        keys = self._cut_keys(shared, unshared, suffix_at)
        lower = bisect_left(keys, start)
        upper = bisect_left(keys, stop, lower) if stop else len(keys)
        at = self._suffix_bytes + value_at + sum(lengths[:lower])
        pairs: list[Pair] = []
        for entry in range(lower, upper):
            end = at + lengths[entry]
            pairs.append((keys[entry], raw[at:end]))
            at = end
        if at > self._columns_at:
            raise Corruption(self._path, self._offset, "a value leaves its block")
        return iter(pairs)

    def _columns(self, first: int, last: int) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
        """Entries [first, last) of shared, unshared and lengths."""
        shared, unshared, lengths = self._widths
        count = self._count
        at = self._columns_at
        next_at = at + count * shared
        return (
            self._column(at, shared, first, last),
            self._column(next_at, unshared, first, last),
            self._column(next_at + count * unshared, lengths, first, last),
        )

    def _column(self, at: int, width: int, first: int, last: int) -> Sequence[int]:
        at += first * width
        if width == 1:
            return self.raw[at : at + last - first]
        return struct.unpack_from(f">{last - first}{_FORMATS[width]}", self.raw, at)

    def _cut_keys(self, shared: Sequence[int], unshared: Sequence[int], at: int) -> list[bytes]:
        raw = self.raw
        key = b""
        keys: list[bytes] = []
        for common, rest in zip(shared, unshared, strict=True):
            end = at + rest
            key = key[:common] + raw[at:end]
            at = end
            keys.append(key)
        return keys

    def _cut_restart_keys(self) -> list[bytes]:
        raw = self.raw
        unshared = self._columns(0, self._count)[1][:: self._interval]
        keys: list[bytes] = []
        at = self._restarts_at
        for length in unshared:
            begin = _RESTART.unpack_from(raw, at)[0]
            keys.append(raw[begin : begin + length])
            at += 8
        return keys
