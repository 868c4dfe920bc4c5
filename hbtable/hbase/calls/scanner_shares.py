"""The shares of the open scanners: when there are too many, whoever holds most of them loses one, and nobody else.

A share belongs to a user, or to the address of clients who did not say who they are. There may be as many shares as
scanners, and then each scanner that is opened closes another one: so the shares are a heap, the largest first, in which
each knows its place. `heapq` has no way to move one whose size changed.
"""

from typing import final


@final
class _Share:
    """Of one holder. `place`: in the heap."""

    __slots__ = ("numbers", "place", "size_bytes")

    def __init__(self, place: int) -> None:
        self.numbers: dict[int, None] = {}  # ascending by last use
        self.size_bytes = 0
        self.place = place


@final
class ScannerShares:
    """The bytes of all open scanners, by holder. Every call takes a time that grows as the logarithm of the number of
    holders."""

    def __init__(self) -> None:
        self._shares: dict[str, _Share] = {}
        self._heap: list[_Share] = []
        """None is larger than the one at half of its place."""
        self.size_bytes = 0

    def add(self, holder: str, number: int, size_bytes: int) -> None:
        """The one used last."""
        share = self._shares.get(holder)
        if share is None:
            share = self._shares[holder] = _Share(len(self._heap))
            self._heap.append(share)
        share.numbers[number] = None
        share.size_bytes += size_bytes
        self.size_bytes += size_bytes
        self._rise(share)

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
        if share.numbers:
            self._sink(share)
            return
        del self._shares[holder]
        last = self._heap.pop()
        if last is not share:
            self._put(last, share.place)
            self._rise(last)
            self._sink(last)

    def next_to_go(self) -> int:
        """The scanner unused for longest of the holder who has most bytes. There is one."""
        return next(iter(self._heap[0].numbers))

    # ------------------------------------------------------------ the heap

    def _rise(self, share: _Share) -> None:
        """To where the one above is not smaller."""
        while share.place:
            above = self._heap[(share.place - 1) >> 1]
            if above.size_bytes >= share.size_bytes:
                return
            self._exchange(above, share)

    def _sink(self, share: _Share) -> None:
        """To where none below is larger."""
        heap = self._heap
        while below := heap[2 * share.place + 1 : 2 * share.place + 3]:
            larger = max(below, key=_size)
            if larger.size_bytes <= share.size_bytes:
                return
            self._exchange(share, larger)

    def _exchange(self, above: _Share, below: _Share) -> None:
        place = below.place
        self._put(below, above.place)
        self._put(above, place)

    def _put(self, share: _Share, place: int) -> None:
        self._heap[place] = share
        share.place = place


def _size(share: _Share) -> int:
    return share.size_bytes
