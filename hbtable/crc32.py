"""CRC32, the checksum of everything that hbtable stores and sends (decision 3), by the fastest code there is.

Each byte of a write passes it three times before the write is acknowledged, and each byte of a block once when it is
read. Intel's ISA-L computes it by instructions of the processor, 5 to 18 times as fast as zlib. Where that library has
no wheel, zlib gives the same numbers.
"""

try:
    from isal.isal_zlib import crc32
except ImportError:
    from zlib import crc32

__all__ = ["crc32"]
