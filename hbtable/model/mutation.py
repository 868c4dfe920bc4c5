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

from collections.abc import Sequence
from typing import Final, final

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

Operation = tuple[int, bytes, bytes, int, bytes]


@final
class RowMutation:
    """Operations on one row, applied all or none, in this order.

    `skip_log`: not written to the commit log (HBase's writeToWAL=false): lost in a crash before the next minor
    compaction. `ttl_millis`: puts expire this long after their timestamp; 0 means never. `ttls`: the same for each
    operation by itself, in place of `ttl_millis`; set within a tablet only, and no codec carries it.
    """

    __slots__ = ("operations", "row", "skip_log", "ttl_millis", "ttls")

    def __init__(self, row: bytes, operations: list[Operation], skip_log: bool = False, ttl_millis: int = 0) -> None:
        self.row = row
        self.operations = operations
        self.skip_log = skip_log
        self.ttl_millis = ttl_millis
        self.ttls: Sequence[int] | None = None

    def __repr__(self) -> str:
        return f"RowMutation({self.row!r}, {self.operations!r})"
