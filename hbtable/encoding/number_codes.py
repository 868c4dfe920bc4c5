"""Numbers as cells hold them: the types that reads, aggregates and expressions name, and their codes."""

from typing import Final

NUMBER_CODES: Final = {
    "int8": "b", "int16": "h", "int32": "i", "int64": "q",
    "uint8": "B", "uint16": "H", "uint32": "I", "uint64": "Q",
    "float": "f", "double": "d",
}  # fmt: skip
"""Of the modules struct and array. Stored they are big-endian, as HBase's Bytes.toBytes() and counters have them."""
