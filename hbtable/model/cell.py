"""Cells and rows as they leave a read (paper, section 2).

Hot values are tuples, not classes: a tuple is made four times faster than a slotted object.

    Cell = (column, timestamp_millis, value)     column is b"family:qualifier"; a family holds no ':'
    Row  = (row_key, [Cell, ...])                columns ascending, newest version first within a column
"""

from typing import Final

Cell = tuple[bytes, int, bytes]
Row = tuple[bytes, list[Cell]]

MAX_TIMESTAMP: Final = 2**63 - 1
"""HBase's Long.MAX_VALUE: as an upper bound of a read it means 'no bound', as a write's time 'now'."""

SERVER_TIME: Final = -1
"""In a mutation's operation: the tablet server assigns the timestamp, in log order."""
