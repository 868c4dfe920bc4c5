"""Counts the work that requests make for a tablet, and samples which rows they are about, for a split by load
(tabletserver/hot_tablets.py).

Work is a rough measure of the processor's time that calls take: a call costs as much as some rows, a write more. Rows
are sampled only while somebody asks for it, and then at even distances of work, in the order of time.
"""

import random
from collections.abc import Collection, Sequence
from math import inf
from typing import Final, final

READ: Final = 16
"""Of work, each read, besides one for each row: a row that is scanned costs so much less than a get."""
WRITE: Final = 64
"""Each write, likewise."""

_MOST: Final = 256
"""Samples. More: the row is nearer to the middle, and long rows take more memory."""


@final
class Heat:
    """Of one tablet, since it was opened here. Does not switch."""

    __slots__ = ("_chance", "_due", "_rows", "_step", "work")

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._rows: list[bytes] = []
        self._step = 1.0
        self.work = 0
        self._due = inf
        """At so much work a row is to be sampled; infinite: nobody wants to know."""

    def saw(self, call: int, rows: Collection[object]) -> None:
        """A call of a kind that costs so much, about these rows, each a key or one with its cells. Hot."""
        self.work += call + len(rows)
        if self.work >= self._due:
            self._take(tuple(rows))

    def begin(self, work: float) -> None:
        """Rows are sampled from now on. `work`: about as much as there will be until end()."""
        self._rows = []
        self._step = max(1.0, work / (_MOST / 2))
        self._wait()

    def end(self) -> list[bytes]:
        """The rows that were sampled, in the order of time."""
        self._due = inf
        rows, self._rows = self._rows, []
        return rows

    def _take(self, rows: Sequence[object]) -> None:
        if rows:
            row = rows[self._chance.randrange(len(rows))]
            row = row[0] if isinstance(row, tuple) else row
            assert isinstance(row, bytes)
            self._rows.append(row)
        if len(self._rows) == _MOST:
            del self._rows[::2]
            self._step *= 2
        self._wait()

    def _wait(self) -> None:
        # At even steps alone requests that come in turns would show one of their rows only.
        self._due = self.work + self._step * 2 * self._chance.random()
