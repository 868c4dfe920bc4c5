"""Searches in cell parts, each where it does no harm: short ones here, in the hub, all others in a worker process.

A question to a worker costs 0.1 ms, and the time to copy the parts. So a scan that asks often looks some rows ahead,
and asks about all their parts at once (ahead()). A part that took too long there, or was not asked for, is asked for
when the scan comes to it. Only then may it end in an error.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Final, final

from hbtable.errors import CostExceeded, LimitExceeded
from hbtable.filters.asking import ASK_SECONDS, ASK_SECONDS_PER_BYTE, KEPT_BYTES, Ask, Asked, PartsOf
from hbtable.filters.cel import program
from hbtable.filters.patterns import HUB_STEPS, compiled
from hbtable.model.cell import Row
from hbtable.switches import switches

Test = Callable[[bytes], bool]
"""*Switches* when it asks a worker, or when it is time for others."""

_KEPT: Final = 1000
"""Answers about parts that nobody looked ahead for; their bytes are kept with them."""
_STEPS_BETWEEN_PAUSES: Final = HUB_STEPS // 10
"""A single part may take longer: to ask a worker costs as much."""
_SUBSTRING_STEPS: Final = 3
"""The cost of lower-casing a byte, as patterns.HUB_STEPS counts."""

NOT_FOUND, FOUND, UNKNOWN = b"01?"
"""A byte of an answer about a part."""


def container(value: bytes) -> Test:
    """HBase's SubstringComparator: contained, both lower-cased as text."""
    wanted = value.decode("utf-8", "replace").lower()
    if wanted.isascii():
        needle = wanted.encode("ascii")

        def contains_ascii(part: bytes) -> bool:
            # Lower-casing can bring in an ASCII letter only from U+0130 and U+212A: the long way knows them.
            return needle in part.lower() or (not part.isascii() and wanted in part.decode("utf-8", "replace").lower())

        return contains_ascii
    return lambda part: wanted in part.decode("utf-8", "replace").lower()


@final
class _Elsewhere:
    """A function of a module that its caller need not import: a server, which has workers call it, takes 5 MB less."""

    def __init__(self, module: str, name: str) -> None:
        self.__module__ = module
        self.__qualname__ = name

    def __call__(self, parts: Sequence[bytes]) -> Sequence[bytes]:
        found: Sequence[bytes] = getattr(import_module(self.__module__), self.__qualname__)(parts)
        return found


_SEARCH: Final = _Elsewhere("hbtable.filters.part_search", "answer")


def job_of(parts: Sequence[bytes]) -> tuple[str, Callable[[Sequence[bytes]], Sequence[bytes]]]:
    """The kind of worker process that a question is for, and the function that answers it there."""
    return ("cel", program.answer) if parts[0] == program.QUESTION else ("pattern", _SEARCH)


def here(parts: Sequence[bytes], seconds: float) -> Sequence[bytes]:
    """An Ask without a worker, for whoever has nobody to keep waiting."""
    _, job = job_of(parts)
    return job(parts)


@final
class Searches:
    """All that one running filter asks of worker processes: its searches, and its expressions in CEL. `pause` lets
    other tasks run when it is time."""

    def __init__(self, ask: Ask, pause: Callable[[], object]) -> None:
        self.ask = ask
        self._pause = pause
        self._steps = 0  # since the last pause
        self.asked: list[Asked[Any]] = []
        self._looks_ahead = True
        self.asks = False
        """A worker was asked, so that looking ahead is worth while."""

    @property
    def may_ask(self) -> bool:
        """Whether some parts are too much for one of the tests."""
        return bool(self.asked)

    @switches
    def check(self) -> None:
        """Before the first row: BadFilter, saying why, when a worker can never answer."""
        for asked in self.asked:
            if asked.needs_check:
                asked.ask([], is_ahead=False)

    @switches
    def ahead(self, rows: Sequence[Row]) -> None:
        """Asks about all parts of these rows that a worker has to look at, and forgets those of earlier ones.
        *Switches.*"""
        for asked in self.asked:
            try:
                asked.ahead(rows)
            except LimitExceeded:
                self._looks_ahead = self.asks = False  # whoever needs the part that did it will be told
                return

    def has_asked(self) -> None:
        self.asks = self._looks_ahead

    def regex(self, value: bytes, parts_of: PartsOf) -> Test:
        """ValueError as patterns.compiled()."""
        pattern = compiled(value)
        find, instructions, longest = pattern.find, pattern.instructions, pattern.hub_bytes
        odd_ends, odd_letters = pattern.odd_ends, pattern.odd_letters

        def is_for_a_worker(part: bytes) -> bool:
            return len(part) > longest or (odd_ends and part.endswith(b"\r\n")) or (odd_letters and not part.isascii())

        asked = self._worker(b"regexstring", value, parts_of, is_for_a_worker)
        if find is None:
            return asked.found

        def test(part: bytes) -> bool:
            if len(part) > longest or ((odd_ends or odd_letters) and is_for_a_worker(part)):
                return asked.found(part)
            self._steps += len(part) * instructions
            if self._steps > _STEPS_BETWEEN_PAUSES:
                self.give_way()
            return find(part)

        return test

    def substring(self, value: bytes, parts_of: PartsOf) -> Test:
        find = container(value)
        longest = HUB_STEPS // _SUBSTRING_STEPS
        asked = self._worker(b"substring", value, parts_of, lambda part: len(part) > longest)

        def test(part: bytes) -> bool:
            if len(part) > longest:
                return asked.found(part)
            self._steps += len(part) * _SUBSTRING_STEPS
            if self._steps > _STEPS_BETWEEN_PAUSES:
                self.give_way()
            return find(part)

        return test

    @switches
    def give_way(self) -> None:
        self._steps = 0
        self._pause()

    def _worker(self, kind: bytes, value: bytes, parts_of: PartsOf, is_for_a_worker: Test) -> "_SearchAsked":
        asked = _SearchAsked(self, kind, value, parts_of, is_for_a_worker)
        self.asked.append(asked)
        return asked


@final
class _SearchAsked(Asked[bool]):
    """One comparison whose answers come from a worker."""

    def __init__(self, searches: Searches, kind: bytes, value: bytes, parts_of: PartsOf, is_for_a_worker: Test) -> None:
        self._parts_of = parts_of
        self._known: dict[bytes, bool] = {}
        self._searches = searches
        self._kind = kind
        self._value = value
        self._is_for_a_worker = is_for_a_worker
        self.needs_check = False

    @switches
    def found(self, part: bytes) -> bool:
        if len(part) > KEPT_BYTES:
            return bool(self.ask([part], is_ahead=False)[0])
        known = self._known.get(part)
        if known is None:
            self._searches.has_asked()
            known = bool(self.ask([part], is_ahead=False)[0])
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[part] = known
        return known

    @switches
    def ask(self, parts: Sequence[bytes], is_ahead: bool) -> Sequence[bool | None]:
        size = sum(map(len, parts))
        shown = self._value[:100].decode("utf-8", "replace")
        hurried = b"hurried" if is_ahead else b""
        try:
            verdicts, *reasons = self._searches.ask(
                [self._kind, self._value, hurried, *parts], ASK_SECONDS + ASK_SECONDS_PER_BYTE * size
            )
        except CostExceeded:
            raise  # of the request as a whole
        except LimitExceeded as error:
            raise LimitExceeded(
                f"the filter's {self._kind.decode()} {shown!r} could not be looked for in {size} bytes: {error}; "
                "a simpler pattern, or one for shorter cells, can"
            ) from error
        if reasons:
            raise LimitExceeded(reasons[0].decode())
        return [None if verdict == UNKNOWN else verdict == FOUND for verdict in verdicts]
