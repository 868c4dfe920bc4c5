"""Questions of a running filter to a worker process, about the parts of many rows at a time where that pays."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol, TypeVar

from hbtable.model.cell import Cell, Row
from hbtable.switches import switches

Answer = TypeVar("Answer")

Ask = Callable[[Sequence[bytes], float], Sequence[bytes]]
"""A question and its answer, by answer() of part_search.py or cel/program.py in a worker process, within so many
seconds of the processor. LimitExceeded, saying why, without an answer. *Switches.*"""

PartsOf = Callable[[bytes, Sequence[Cell]], Iterable[bytes]]
"""The parts of a row that a filter asks about."""

ASK_SECONDS: Final = 1.0
"""For a question as a whole, compiling included."""
ASK_SECONDS_PER_BYTE: Final = 1e-7
KEPT_BYTES: Final = 64 << 10
"""Longer parts are asked one at a time: to look one up takes its bytes' time, here."""
_ASK_BYTES: Final = 1 << 20
"""Of all parts that are asked ahead for one part of a filter at a time."""


class Asked(Protocol[Answer]):
    """The questions of one part of a filter. Their answers are kept for the rows that are looked at."""

    _parts_of: PartsOf
    _known: dict[bytes, Answer]
    _is_for_a_worker: Callable[[bytes], bool] | None
    """None: all parts are."""
    needs_check: bool
    """Whether only a worker knows if it can be asked at all: BadFilter, saying why, if not."""

    @switches
    def ask(self, parts: Sequence[bytes], is_ahead: bool) -> Sequence[Answer | None]:
        """The answers, in order. None, only if `is_ahead`: this one has to be asked for alone. LimitExceeded."""
        ...

    @switches
    def ahead(self, rows: Sequence[Row]) -> None:
        """Asks about all parts of these rows, and forgets those of earlier ones. LimitExceeded."""
        self._known = {}
        wanted: dict[bytes, None] = {}
        size = 0
        is_for_a_worker = self._is_for_a_worker
        for row, cells in rows:
            for part in self._parts_of(row, cells):
                if len(part) > KEPT_BYTES or size > _ASK_BYTES:
                    continue
                if part not in wanted and (is_for_a_worker is None or is_for_a_worker(part)):
                    wanted[part] = None
                    size += len(part)
        if wanted:
            parts = list(wanted)
            for part, answer in zip(parts, self.ask(parts, is_ahead=True), strict=True):
                if answer is not None:
                    self._known[part] = answer
