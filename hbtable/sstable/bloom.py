r"""The Bloom filter of an SSTable (paper, section 6): is this row, or this column, certainly not here?

    kind      1      1 = rows; 2 = rows and columns
    hashes    1      bits set per entry
    bits      8
    bytes            ceil(bits / 8), bit i is bit (i & 7) of byte i >> 3, the least significant first

An entry is a row prefix or a column prefix of a cell key (encoding.cell_key). Its bit positions are (a + i * b) mod
bits, i = 0 .. hashes - 1, where x = CRC32(entry) * 9e3779b97f4a7c15 mod 2^64, a = x >> 32, b = (x mod 2^32) | 1. CRC32
costs a seventh of blake2b, and with 10 bits an entry 0.9 % of absent rows pass, as theory says.
A delete marker of a family stands at the empty qualifier: before a column is declared absent ask for that column too.
"""

import struct
from array import array
from collections.abc import Callable
from typing import Final, final

from bitarray import bitarray

from hbtable.crc32 import crc32
from hbtable.errors import Corruption, UnsupportedFormat
from hbtable.switches import switches

ROW: Final = 1
ROWCOL: Final = 2
KINDS: Final[dict[str, int]] = {"NONE": 0, "ROW": ROW, "ROWCOL": ROWCOL}
HASHES: Final = 5
"""7 would be best for 10 bits an entry: 0.8 % pass instead of 0.9 %, but each look-up costs a third more in Python."""

_ENTRIES_BETWEEN_PAUSES: Final = 512
_HEAD: Final = struct.Struct(">BBQ")
_GOLDEN: Final = 0x9E3779B97F4A7C15
_ALL: Final = 0xFFFFFFFFFFFFFFFF
_LOW: Final = 0xFFFFFFFF


@final
class BloomBuilder:
    """Collects 4 bytes per entry; the filter's size is chosen when their number is known."""

    __slots__ = ("_bits_per_entry", "_entries", "_kind")

    def __init__(self, kind: int, bits_per_entry: int) -> None:
        self._kind = kind
        self._bits_per_entry = bits_per_entry
        self._entries = array("I")

    def add(self, prefix: bytes) -> None:
        self._entries.append(crc32(prefix))

    @switches
    def encode(self, pause: Callable[[], None] | None = None) -> bytes:
        """`pause` is called every millisecond or so: a million entries take half a second."""
        # odd, so that no step b divides it too often; at least one word, so that an empty filter still answers
        size = max(len(self._entries) * self._bits_per_entry, 64) | 1
        bits = bitarray(size, endian="little")
        bits.setall(0)
        for number, entry in enumerate(self._entries):
            if pause is not None and not number % _ENTRIES_BETWEEN_PAUSES:
                pause()
            mixed = entry * _GOLDEN & _ALL
            step = mixed & _LOW | 1
            position = mixed >> 32
            for _ in range(HASHES):
                bits[position % size] = 1
                position += step
        return _HEAD.pack(self._kind, HASHES, size) + bits.tobytes()


@final
class BloomFilter:
    """The Bloom filter of one SSTable. `may_hold(prefix)` is never False for an entry that was added."""

    __slots__ = ("_bits", "_hashes", "_size", "kind")

    def __init__(self, kind: int, hashes: int, size: int, bits: "bitarray") -> None:
        self.kind = kind
        self._hashes = hashes
        self._size = size
        self._bits = bits

    def may_hold(self, prefix: bytes) -> bool:
        """Hot: small numbers, and no loop over the hashes that new filters have."""
        bits, size = self._bits, self._size
        mixed = crc32(prefix) * _GOLDEN & _ALL
        step = (mixed & _LOW | 1) % size
        at = (mixed >> 32) % size
        if self._hashes == HASHES:
            found = (
                bits[at]
                and bits[at := (at + step) % size]
                and bits[at := (at + step) % size]
                and bits[at := (at + step) % size]
                and bits[(at + step) % size]
            )
            return found == 1
        return all(bits[(at + number * step) % size] for number in range(self._hashes))


def decode_bloom(path: str, offset: int, raw: bytes) -> BloomFilter | None:
    """None when the file has no filter (an empty part). `path` and `offset` are for Corruption."""
    if not raw:
        return None
    if len(raw) < _HEAD.size:
        raise Corruption(path, offset, "a Bloom filter without its head")
    kind, hashes, size = _HEAD.unpack_from(raw)
    if kind not in (ROW, ROWCOL):
        raise UnsupportedFormat.unknown(path, "kind of Bloom filter", kind, (ROW, ROWCOL))
    if not 1 <= hashes <= 64 or not size or len(raw) != _HEAD.size + (size + 7) // 8:
        raise Corruption(path, offset, "the Bloom filter's head makes no sense")
    bits = bitarray(endian="little")
    bits.frombytes(raw[_HEAD.size :])
    return BloomFilter(kind, hashes, size, bits)
