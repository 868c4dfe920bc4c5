"""One atomic change of one row (paper, section 3: Apply performs an atomic mutation).

An operation is a tuple (kind, family, qualifier, timestamp_millis, value):

    PUT                     sets a cell
    DELETE_VERSION          masks exactly this timestamp of a column
    DELETE_COLUMN           masks every version of a column with a timestamp <= this one
    DELETE_FAMILY_VERSION   masks exactly this timestamp in every column of a family (qualifier is b"")
    DELETE_FAMILY           masks every cell of a family with a timestamp <= this one (qualifier is b"")

The kind's number is part of the cell key on disk (encoding.cell_key): it never changes meaning, and markers
are smaller than PUT so that they sort before a put of the same time.
"""

from collections.abc import Callable, Sequence
from typing import Final, final

from hbtable.crc32 import crc32
from hbtable.model.parts import parts_of
from hbtable.switches import switches, switches_if_given

DELETE_FAMILY: Final = 1
DELETE_FAMILY_VERSION: Final = 2
DELETE_COLUMN: Final = 3
DELETE_VERSION: Final = 4
PUT: Final = 8

KINDS: Final = frozenset((DELETE_FAMILY, DELETE_FAMILY_VERSION, DELETE_COLUMN, DELETE_VERSION, PUT))
"""All there are. Others may be of a later version: whoever reads one refuses it."""

MAX_ROW_BYTES: Final = 32767
"""HBase's limit of a row key (Short.MAX_VALUE)."""

MAX_METADATA_ROW_BYTES: Final = 16 << 20
"""METADATA's rows hold the end row of a tablet behind nine bytes (metadata.layout), so they are longer than a row may
be. Much longer ones are of splits that an older hbtable began at what is too long for a row: they could not be
finished, and the cluster did not start again."""

MAX_METADATA_CELL_BYTES: Final = 10 << 20
"""For records of tablets and tables. A lower limit of users' cells (tablet.max_cell_bytes) is none of METADATA's: no
table could be made under it, and none with many files flushed."""

Operation = tuple[int, bytes, bytes, int, bytes]

_OPERATIONS_IN_A_PART: Final = 512


@final
class RowMutation:
    """Operations on one row, applied all or none, in this order.

    `skip_log`: not written to the commit log (HBase's writeToWAL=false): lost in a crash before the next minor
    compaction. `ttl_millis`: puts expire this long after their timestamp; 0 means never. `ttls`: the same for each
    operation by itself, in place of `ttl_millis`; set within a tablet only, and no codec carries it. `checksum`: what
    checksum_of() said when this was last known to be right, 0 where nobody asked. It goes along to the tablet, which
    compares before it makes the log record.
    """

    __slots__ = ("checksum", "operations", "row", "skip_log", "ttl_millis", "ttls")

    def __init__(
        self, row: bytes, operations: list[Operation], skip_log: bool = False, ttl_millis: int = 0, checksum: int = 0
    ) -> None:
        self.row = row
        self.operations = operations
        self.skip_log = skip_log
        self.ttl_millis = ttl_millis
        self.checksum = checksum
        self.ttls: Sequence[int] | None = None

    def __repr__(self) -> str:
        return f"RowMutation({self.row!r}, {self.operations!r})"


def checksum_of(mutation: RowMutation) -> int:
    """CRC32 of all that is applied, never 0. TypeError for what is no mutation. Hot."""
    numbers = 2 * mutation.ttl_millis + mutation.skip_log
    operations = mutation.operations
    if len(operations) == 1:
        kind, family, qualifier, timestamp, value = operations[0]
        numbers = (31 * numbers + 16 * timestamp + kind) & 0xFFFFFFFFFFFFFFFF
        return crc32(b"".join((mutation.row, family, qualifier, value, b"%d" % numbers))) or 1
    parts = [mutation.row]
    for kind, family, qualifier, timestamp, value in operations:
        numbers = (31 * numbers + 16 * timestamp + kind) & 0xFFFFFFFFFFFFFFFF
        parts += (family, qualifier, value)
    parts.append(b"%d" % numbers)
    return crc32(b"".join(parts)) or 1


@final
class MadeChecksum:
    """checksum_of() of a mutation that is made operation by operation, by turns with other tasks: what changes in
    memory meanwhile is not of it."""

    __slots__ = ("_checksum", "_numbers")

    def __init__(self, row: bytes, ttl_millis: int = 0, skip_log: bool = False) -> None:
        self._checksum = crc32(row)
        self._numbers = 2 * ttl_millis + skip_log

    def add(self, operation: Operation) -> None:
        """The next one."""
        kind, family, qualifier, timestamp, value = operation
        self._numbers = (31 * self._numbers + 16 * timestamp + kind) & 0xFFFFFFFFFFFFFFFF
        self._checksum = crc32(b"".join((family, qualifier, value)), self._checksum)

    def value(self) -> int:
        """The checksum of the operations until now."""
        return crc32(b"%d" % self._numbers, self._checksum) or 1


@switches
def checksum_in_parts(mutation: RowMutation, pause: Callable[[], None]) -> int:
    """As checksum_of(), of very many operations. *Switches* between them."""
    numbers = 2 * mutation.ttl_millis + mutation.skip_log
    operations = mutation.operations
    checksum = crc32(mutation.row)
    for part in parts_of(operations, _OPERATIONS_IN_A_PART):
        parts: list[bytes] = []
        for kind, family, qualifier, timestamp, value in part:
            numbers = (31 * numbers + 16 * timestamp + kind) & 0xFFFFFFFFFFFFFFFF
            parts += (family, qualifier, value)
        if len(part) > 1:
            checksum = crc32(b"".join(parts), checksum)
        else:  # it may be of any size: not to be copied
            for piece in parts:
                checksum = crc32(piece, checksum)
        pause()
    return crc32(b"%d" % numbers, checksum) or 1


@switches_if_given
def keep_checksums(mutations: Sequence[RowMutation], checksum: Callable[[RowMutation], int] = checksum_of) -> None:
    """Before they leave this process, or wait in it: of each that has none yet. What is no mutation is left alone:
    whoever looks at its types refuses it."""
    try:
        for mutation in mutations:
            mutation.checksum = mutation.checksum or checksum(mutation)
    except (AttributeError, TypeError, ValueError):
        return


@switches
def keep_checksums_in_parts(mutations: Sequence[RowMutation], pause: Callable[[], None]) -> None:
    """As keep_checksums(), of very many operations. *Switches* between them."""
    keep_checksums(mutations, lambda mutation: checksum_in_parts(mutation, pause))
