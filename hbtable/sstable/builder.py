"""Builds an SSTable from ascending pairs (paper, section 4), as bytes that the caller appends to a file.

Nothing here opens a file: `take()` hands over what is complete, `finish()` the rest. The bytes depend on the pairs,
the options and the identity only. Not usable after `finish()`.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

from hbtable.encoding.cell_key import INVERT, SUFFIX_BYTES, TERMINATOR
from hbtable.model.mutation import PUT
from hbtable.sstable import bloom, compression
from hbtable.sstable.block import encode_block
from hbtable.sstable.garbage_counts import GarbageCounter
from hbtable.sstable.index import IndexBuilder
from hbtable.sstable.layout import Handle, encode_footer, seal
from hbtable.sstable.properties import Properties, SSTableIdentity, encode_properties
from hbtable.switches import switches

_SUFFIX_FORMAT: Final = "QBQB"
_MAX_PAIR_BYTES: Final = 1 << 30
_NOWHERE: Final = b"\x00\x00"
"""No cell key begins with this: a 00 in a row is followed by ff, in a terminator by 01."""


@dataclass(frozen=True, slots=True)
class SSTableOptions:
    """Options of writing a file; reading one needs none of these."""

    block_bytes: int = 65536
    """Bytes of whole keys and values per block. Larger: a smaller index, better compression, but more is read and
    decoded for one cell."""
    restart_interval: int = 16
    """Entries between whole keys in a block. Larger: smaller files, slower seeks."""
    compression: str = "NONE"
    """One of model.schema.COMPRESSIONS."""
    bloom: str = "ROW"
    """One of model.schema.BLOOM_TYPES. ROWCOL answers for columns as well, and is larger by the number of columns."""
    bloom_bits_per_entry: int = 10
    """10 let 0.9 % of absent rows pass, 14 a quarter of that. The filter stays in memory."""


@final
class SSTableBuilder:
    """Builds one SSTable. `properties`, `length_bytes` and `footer_checksum` are final after finish()."""

    __slots__ = (
        "_block_bytes",
        "_bloom",
        "_cells",
        "_column",
        "_compression",
        "_counts",
        "_earliest_put",
        "_first_key",
        "_identity",
        "_index",
        "_interval",
        "_is_rowcol",
        "_key_bytes",
        "_keys",
        "_last_key",
        "_last_key_before",
        "_markers",
        "_max_sequence",
        "_max_timestamp",
        "_min_sequence",
        "_min_timestamp",
        "_pending_bytes",
        "_ready",
        "_row",
        "_taken_bytes",
        "_value_bytes",
        "_values",
        "blocks",
        "footer_checksum",
        "length_bytes",
        "masked",
        "properties",
    )

    def __init__(self, options: SSTableOptions, identity: SSTableIdentity) -> None:
        kind = bloom.KINDS[options.bloom]
        self._identity = identity
        self._block_bytes = options.block_bytes
        self._interval = options.restart_interval
        self._compression = compression.code_of(options.compression)
        self._bloom = bloom.BloomBuilder(kind, options.bloom_bits_per_entry) if kind else None
        self._is_rowcol = kind == bloom.ROWCOL
        self._index = IndexBuilder(options.restart_interval)
        self._keys: list[bytes] = []
        self._values: list[bytes] = []
        self._pending_bytes = 0
        self._ready: list[bytes] = []
        self._taken_bytes = 0
        self._first_key = b""
        self._last_key = b""
        self._last_key_before = b""
        self._row = _NOWHERE
        self._column = _NOWHERE
        self._cells = 0
        self._markers = 0
        self._counts = GarbageCounter()
        self.masked = 0
        """Cells that its markers masked: whoever left them out says it before finish()."""
        self._key_bytes = 0
        self._value_bytes = 0
        self._min_timestamp = self._earliest_put = INVERT
        self._max_timestamp = 0
        self._min_sequence = INVERT
        self._max_sequence = 0
        self.blocks = 0
        """Complete so far."""
        self.length_bytes = 0
        """Bytes handed out or ready to be: the file's length after finish()."""
        self.footer_checksum = 0
        self.properties: Properties | None = None

    def add(self, key: bytes, value: bytes) -> bool:
        """Whether a block is complete with it. Keys strictly ascending, else ValueError. A key that is no cell key:
        ValueError here or later."""
        if key <= self._last_key:
            raise ValueError(f"keys must ascend: {key!r} after {self._last_key!r}")
        self._last_key = key
        self._keys.append(key)
        self._values.append(value)
        self._pending_bytes += len(key) + len(value)
        if self._pending_bytes >= self._block_bytes:
            self._end_block()
            return True
        return False

    @property
    def waiting_bytes(self) -> int:
        """The bytes that take() would return."""
        return self.length_bytes - self._taken_bytes

    def take(self) -> bytes:
        """The bytes to append now, b"" when no block is complete. Until taken they stay in memory."""
        if not self._ready:
            return b""
        ready = b"".join(self._ready)
        self._ready.clear()
        self._taken_bytes = self.length_bytes
        return ready

    @switches
    def finish(self, pause: Callable[[], None] | None = None) -> bytes:
        """All bytes that were not taken yet: the last blocks, filter, index, properties and footer.

        Making the filter takes half a second per million rows: `pause`, where the caller lets other tasks run, is
        called every millisecond or so. Nobody may use the builder meanwhile.
        """
        if self._keys:
            self._end_block()
        self.properties = properties = self._gather_properties()
        filter_bytes = self._bloom.encode(pause) if self._bloom is not None else b""
        filter_part = self._append_part(filter_bytes, compression.NONE)
        index_part = self._append_part(self._index.encode(), self._compression)
        properties_part = self._append_part(encode_properties(properties), self._compression)
        footer, self.footer_checksum = encode_footer(filter_part, index_part, properties_part)
        self._ready.append(footer)
        self.length_bytes += len(footer)
        return self.take()

    def _append_part(self, raw: bytes, code: int) -> Handle:
        used, stored = compression.compress(code, raw)
        offset = self.length_bytes
        sealed, checksum = seal(stored, used, offset)
        self._ready.append(sealed)
        self.length_bytes += len(sealed)
        return Handle(offset, len(sealed), checksum)

    def _end_block(self) -> None:
        keys = self._keys
        values = self._values
        if self._pending_bytes > _MAX_PAIR_BYTES:
            raise ValueError(f"a pair of {len(keys[-1]) + len(values[-1])} bytes is too large for an SSTable")
        self._observe(keys)
        handle = self._append_part(encode_block(keys, values, self._interval), self._compression)
        self._index.add(self._last_key_before, keys[0], handle.sealed_bytes, handle.checksum)
        if not self.blocks:
            self._first_key = keys[0]
        self.blocks += 1
        self._last_key_before = keys[-1]
        self._keys = []
        self._values = []
        self._pending_bytes = 0

    def _observe(self, keys: list[bytes]) -> None:
        """Statistics and filter entries, a block at a time: per pair this would cost three times as much."""
        suffixes = b"".join([key[-SUFFIX_BYTES:] for key in keys])
        if len(suffixes) != SUFFIX_BYTES * len(keys):
            raise ValueError("a key is too short for a cell key")
        numbers = struct.unpack(">" + _SUFFIX_FORMAT * len(keys), suffixes)
        timestamps = numbers[0::4]
        sequences = numbers[2::4]
        # both are stored inverted
        self._min_timestamp = min(self._min_timestamp, INVERT - max(timestamps))
        self._max_timestamp = max(self._max_timestamp, INVERT - min(timestamps))
        self._min_sequence = min(self._min_sequence, INVERT - max(sequences))
        self._max_sequence = max(self._max_sequence, INVERT - min(sequences))
        self._cells += len(keys)
        kinds = numbers[1::4]
        markers = len(keys) - kinds.count(PUT)
        self._markers += markers
        puts = (
            timestamps if not markers else [time for time, kind in zip(timestamps, kinds, strict=True) if kind == PUT]
        )
        if puts:
            self._earliest_put = min(self._earliest_put, INVERT - max(puts))
        self._counts.observe(keys, kinds if markers else (), numbers[3::4], self.blocks)
        key_bytes = sum(map(len, keys))
        self._key_bytes += key_bytes
        self._value_bytes += self._pending_bytes - key_bytes
        if self._bloom is not None:
            self._add_rows(keys)
        if self._is_rowcol:
            self._add_columns(keys)

    def _add_rows(self, keys: list[bytes]) -> None:
        assert self._bloom is not None
        row = self._row
        for key in keys:
            if not key.startswith(row):
                row = key[: key.index(TERMINATOR) + 2]
                self._bloom.add(row)
        self._row = row

    def _add_columns(self, keys: list[bytes]) -> None:
        assert self._bloom is not None
        column = self._column
        for key in keys:
            if not key.startswith(column):  # its terminator stands in no longer qualifier at that place
                column = key[:-SUFFIX_BYTES]
                self._bloom.add(column)
        self._column = column

    def _gather_properties(self) -> Properties:
        has_cells = self._cells > 0
        return Properties(
            identity=self._identity,
            cells=self._cells,
            markers=self._markers,
            key_bytes=self._key_bytes,
            value_bytes=self._value_bytes,
            blocks=self.blocks,
            first_key=self._first_key,
            last_key=self._last_key_before,
            min_timestamp=self._min_timestamp if has_cells else 0,
            max_timestamp=self._max_timestamp,
            first_sequence=self._min_sequence if has_cells else 0,
            last_sequence=self._max_sequence,
            garbage=self._counts.counted(self._cells, self.masked) if self._identity.since_millis else None,
            earliest_put=self._earliest_put if self._min_timestamp < self._earliest_put < INVERT else None,
        )
