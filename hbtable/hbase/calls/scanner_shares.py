"""The shares of the open scanners: when there are too many, whoever holds most of them loses one, and nobody else.

A share belongs to a user, or to the address of clients who did not say who they are.
"""

from typing import final


@final
class _Share:
    """Of one holder."""

    __slots__ = ("numbers", "size_bytes")

    def __init__(self) -> None:
        self.numbers: dict[int, None] = {}  # ascending by last use
        self.size_bytes = 0


@final
class ScannerShares:
    """The bytes of all open scanners, by holder."""

    def __init__(self) -> None:
        self._shares: dict[str, _Share] = {}
        self.size_bytes = 0

    def add(self, holder: str, number: int, size_bytes: int) -> None:
        """The one used last."""
        share = self._shares.get(holder)
        if share is None:
            share = self._shares[holder] = _Share()
        share.numbers[number] = None
        share.size_bytes += size_bytes
        self.size_bytes += size_bytes

    def used(self, holder: str, number: int) -> None:
        """Now it is the one used last."""
        numbers = self._shares[holder].numbers
        del numbers[number]
        numbers[number] = None

    def remove(self, holder: str, number: int, size_bytes: int) -> None:
        share = self._shares[holder]
        del share.numbers[number]
        share.size_bytes -= size_bytes
        self.size_bytes -= size_bytes
        if not share.numbers:
            del self._shares[holder]

    def next_to_go(self) -> int:
        """The scanner unused for longest of the holder who has most bytes. There is one."""
        largest = max(self._shares.values(), key=lambda share: share.size_bytes)
        return next(iter(largest.numbers))
