"""Checksums of what increments, appends and checks are made of, on the way from the client to the log record (paper,
section 9). Mutations have theirs (model/mutation.py); these go beside the arguments of a call.

0: there is none, because the client is older, or because arguments have wrong types, which the tablet refuses.
"""

from collections.abc import Callable, Sequence
from typing import Final, final

from hbtable.crc32 import crc32
from hbtable.errors import MemoryDamaged
from hbtable.model.read import ReadSpec
from hbtable.model.values import whole_number
from hbtable.switches import switches_if_given

_COLUMNS_AT_ONCE: Final = 1000


def checksum_of_increment(row: bytes, family: bytes, qualifier: bytes, amount: int) -> int:
    """CRC32 of all arguments. Hot."""
    try:
        return crc32(b"".join((row, family, qualifier, b"%d" % amount))) or 1
    except (TypeError, ValueError, OverflowError):
        return 0


def checksum_of_condition(row: bytes, family: bytes, qualifier: bytes, expected: bytes | None) -> int:
    """The checksum of what a check-and-mutate compares. Hot."""
    try:
        return crc32(b"".join((row, family, qualifier, expected or b""))) or 1
    except (TypeError, ValueError, OverflowError):
        return 0


def checksum_of_predicate(row: bytes, spec: ReadSpec, operator: str, value: bytes | None) -> int:
    """The checksum of what a conditional write asks of its row. The limit of bytes is the server's own."""
    try:
        times = b"%d %d %d" % (spec.min_timestamp, spec.max_timestamp, spec.max_versions)
        parts = [row, operator.encode(), b"none" if value is None else b"value", value or b"", times]
        parts += [b"none" if spec.filter is None else b"filter", spec.filter or b""]
        for family, qualifiers in sorted((spec.columns or {}).items()):
            parts += [family, *(b":" + one for one in sorted(qualifiers or ()))]
        return crc32(b"".join(parts)) or 1
    except (TypeError, ValueError, AttributeError, OverflowError):
        return 0


@final
class AppendChecksum:
    """The checksum of an append, column by column."""

    __slots__ = ("_checksum",)

    def __init__(self, row: bytes, ttl_millis: int) -> None:
        """TypeError for what is no row, as of add() and value() for what is no column."""
        self._checksum = crc32(row, crc32(b"%d" % ttl_millis))

    def add(self, value: tuple[bytes, bytes, bytes]) -> None:
        """`value`: (family, qualifier, suffix)."""
        self._checksum = crc32(b"".join(value), self._checksum)

    def value(self) -> int:
        """Never 0."""
        return self._checksum or 1


@switches_if_given
def checksum_of_append(
    row: bytes, values: Sequence[tuple[bytes, bytes, bytes]], ttl_millis: int, pause: Callable[[], None]
) -> int:
    """The checksum of all arguments. `pause` is called between the parts of very many."""
    try:
        checksum = AppendChecksum(row, ttl_millis)
        for first in range(0, len(values), _COLUMNS_AT_ONCE):
            if first:
                pause()
            for value in values[first : first + _COLUMNS_AT_ONCE]:
                checksum.add(value)
        return checksum.value()
    except (TypeError, ValueError, OverflowError):
        return 0


def check_as_sent(row: bytes, sent: int, found: int) -> None:
    """MemoryDamaged: the arguments of a call are not what they were when `sent` was taken. 0: nobody took it.
    InvalidRequest for what is no checksum."""
    if sent and sent != found:
        whole_number("the checksum", sent, 0, 2**32 - 1)
        raise MemoryDamaged(
            f"what to write into row {row[:64]!r} changed in memory on its way to the tablet: nothing of the call was "
            "applied; send it again, and have the memory of the machines between tested"
        )
