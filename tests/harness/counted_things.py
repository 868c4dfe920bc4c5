"""How many things of a list are gone through between two switches, counted."""

from collections.abc import Iterator
from typing import TypeVar

T = TypeVar("T")


class CountedThings(list[T]):
    """A list. `most`: so many of its things were taken in one stretch, by one who calls pause() to let others run."""

    def __init__(self, things: list[T]) -> None:
        super().__init__(things)
        self.most = 0
        self.taken = 0
        self._since = 0

    def __iter__(self) -> Iterator[T]:
        for thing in super().__iter__():
            self.taken += 1
            self.most = max(self.most, self.taken - self._since)
            yield thing

    def pause(self) -> None:
        self._since = self.taken
