"""The outcome of the calls, by method, and each kind of difference once, with its smallest example."""

import json
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, final

from hbtable.shell.answers.formats import plain
from hbtable.shell.shadow.comparing import Cell, Difference

_FORMAT: Final = 1
_SHOWN_BYTES: Final = 200
_BUCKETS: Final = 40
_MICROSECOND: Final = 1e-6


@final
class Durations:
    """Quantiles by powers of two of a microsecond: right within a factor of two, in the memory of forty numbers."""

    def __init__(self) -> None:
        self._buckets = [0] * _BUCKETS
        self._count = 0

    def add(self, seconds: float) -> None:
        self._buckets[min(_BUCKETS - 1, int(max(0.0, seconds) / _MICROSECOND).bit_length())] += 1
        self._count += 1

    def quantile(self, part: float) -> float:
        """Milliseconds, the upper end of the bucket; 0: nothing was added."""
        left = part * self._count
        for number, count in enumerate(self._buckets):
            left -= count
            if count and left <= 0:
                return round((1 << number) * _MICROSECOND * 1000, 3)
        return 0.0


class Verdict(Enum):
    """Verdicts on two servers."""

    ALIKE = "some calls were equal and none differed"
    DIFFERENT = "some calls differed"
    NOTHING = "no call was equal or differed: none came, or all were skipped or of unknown order"


@dataclass
class _Method:
    calls: int = 0
    equal: int = 0
    different: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    """By the reason why a difference says nothing."""
    skipped: Counter[str] = field(default_factory=Counter)
    primary: Durations = field(default_factory=Durations)
    secondary: Durations = field(default_factory=Durations)

    def line(self, name: str) -> dict[str, object]:
        times = {
            f"{server}_{word}_ms": durations.quantile(part)
            for server, durations in (("primary", self.primary), ("secondary", self.secondary))
            for word, part in (("p50", 0.5), ("p99", 0.99))
        }
        return {
            "kind": "method",
            "method": name,
            "calls": self.calls,
            "equal": self.equal,
            "different": self.different,
            "order_unknown": dict(self.unknown),
            "skipped": dict(self.skipped),
            **times,
        }


@dataclass
class _Kind:
    difference: Difference
    count: int = 0
    alone: bool | None = None
    """Whether this cell differs, too, when it is read by itself. None: that was not asked."""
    asked: int = 0


@final
class ShadowTally:
    """Of all connections."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._methods: dict[str, _Method] = {}
        self._kinds: dict[tuple[str, str], _Kind] = {}
        self._lacking: dict[bytes, int] = {}

    def _of(self, name: str) -> _Method:
        return self._methods.setdefault(name, _Method())

    def answered(self, name: str, seconds: float) -> None:
        """By the primary."""
        with self._lock:
            method = self._of(name)
            method.calls += 1
            method.primary.add(seconds)

    def repeated(self, name: str, seconds: float) -> None:
        with self._lock:
            self._of(name).secondary.add(seconds)

    def skipped(self, name: str, reason: str) -> None:
        with self._lock:
            self._of(name).skipped[reason] += 1

    def equal(self, name: str) -> None:
        with self._lock:
            self._of(name).equal += 1

    def unknown(self, name: str, reason: str) -> None:
        with self._lock:
            self._of(name).unknown[reason] += 1

    def different(self, name: str, found: Sequence[Difference]) -> list[Difference]:
        """The examples that are the smallest of their kind by now."""
        better = []
        with self._lock:
            self._of(name).different += 1
            for kind in dict.fromkeys(one.kind for one in found):
                smallest = min((one for one in found if one.kind == kind), key=Difference.size)
                known = self._kinds.get((name, kind))
                if known is None or smallest.size() < known.difference.size():
                    asked = known.asked if known else 0
                    known = _Kind(smallest, known.count if known else 0, asked=asked)
                    self._kinds[name, kind] = known
                    better.append(smallest)
                known.count += 1
        return better

    def may_ask(self, name: str, kind: str, most: int) -> bool:
        """Whether one more example may be read by itself."""
        with self._lock:
            known = self._kinds[name, kind]
            known.asked += 1
            return known.asked <= most

    def alone(self, name: str, found: Difference, differs: bool) -> None:
        with self._lock:
            known = self._kinds[name, found.kind]
            if known.difference == found:
                known.alone = differs

    def lacking(self, table: bytes, calls: int) -> bool:
        """So many more calls of a table that the secondary has not. Whether it is told of for the first time."""
        with self._lock:
            known = self._lacking.get(table)
            self._lacking[table] = (known or 0) + calls
            return known is None

    # ------------------------------------------------------------ told

    def lines(self) -> list[dict[str, object]]:
        """The report, a line each."""
        with self._lock:
            methods = [self._methods[name].line(name) for name in sorted(self._methods)]
            kinds = [_told(name, kind) for (name, _), kind in sorted(self._kinds.items())]
            lacking: list[dict[str, object]] = [
                {"kind": "table not at the secondary", "table": plain(table), "calls": calls}
                for table, calls in sorted(self._lacking.items())
            ]
        total = {
            word: sum(getattr(one, word) for one in self._methods.values()) for word in ("calls", "equal", "different")
        }
        return [{"kind": "report", "format": _FORMAT, **total}, *methods, *lacking, *kinds]

    def verdict(self) -> Verdict:
        with self._lock:
            if self._kinds:
                return Verdict.DIFFERENT
            return Verdict.ALIKE if any(one.equal for one in self._methods.values()) else Verdict.NOTHING

    def table(self) -> str:
        """The summary for people."""
        titles = "method", "calls", "equal", "different", "unknown", "skipped", "A p50/p99 ms", "B p50/p99 ms"
        drawn = [titles]
        with self._lock:
            for name in sorted(self._methods):
                one = self._methods[name]
                counts = one.calls, one.equal, one.different, one.unknown.total(), one.skipped.total()
                times = (f"{each.quantile(0.5):g} / {each.quantile(0.99):g}" for each in (one.primary, one.secondary))
                drawn.append((name, *map(str, counts), *times))  # type: ignore[arg-type]  # as long as the titles
        widths = [max(len(line[place]) for line in drawn) for place in range(len(titles))]
        return "\n".join(
            "  ".join(
                cell.ljust(width) if place == 0 else cell.rjust(width)
                for place, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in drawn
        )

    def messages(self) -> Iterable[str]:
        """The reasons, the tables that are missing, and the differences, for people."""
        nothing = self.verdict() is Verdict.NOTHING
        with self._lock:
            calls = sum(one.calls for one in self._methods.values())
            reasons: Counter[str] = Counter()
            for one in self._methods.values():
                reasons.update(one.unknown)
                reasons.update(one.skipped)
            lacking, kinds = sorted(self._lacking.items()), sorted(self._kinds.items())
        yield from (f"not compared, {count} calls: {reason}" for reason, count in reasons.most_common())
        yield from (f"not at the secondary: table {_text(table)}, {calls} calls" for table, calls in lacking)
        for (name, word), kind in kinds:
            example = json.dumps(_told(name, kind)["example"], ensure_ascii=False)
            yield f"{name}: {word}, {kind.count} calls, such as {example}"
        if nothing:
            yield f"nothing was compared, of {calls} calls"


def _told(name: str, kind: _Kind) -> dict[str, object]:
    found = kind.difference
    example: dict[str, object] = {"table": plain(found.table)}
    example |= {word: plain(part) for word, part in (("row", found.row), ("column", found.column)) if part is not None}
    example |= {"primary": _shown(found.primary), "secondary": _shown(found.secondary)}
    if kind.alone is not None:
        example["alone"] = "differs" if kind.alone else "alike"
    return {
        "kind": "difference",
        "method": name,
        "difference": found.kind,
        "calls": kind.count,
        "example": example,
    }


def _shown(value: Any) -> object:
    if isinstance(value, Cell):
        return {"value": _shown(value.value), "timestamp": value.timestamp}
    if isinstance(value, bytes) and len(value) > _SHOWN_BYTES:
        return {"begins": plain(value[:_SHOWN_BYTES]), "bytes": len(value)}
    if isinstance(value, (list, tuple)):
        return [_shown(one) for one in value]
    return plain(value)


def _text(name: bytes) -> str:
    return name.decode("utf-8", "backslashreplace")
