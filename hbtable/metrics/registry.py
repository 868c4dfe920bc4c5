"""Counters, gauges and histograms that hot code bumps directly: `counter.value += 1`.

Names and labels follow Prometheus (base units, `_total`); help text is part of the definition. Nothing here formats or
exports: launch.metrics_export reads a Registry at scrape time.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, final

SECONDS_BUCKETS: Final = (
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
)  # fmt: skip

LONG_SECONDS_BUCKETS: Final = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)
"""For background work."""

Labels = tuple[tuple[str, str], ...]

Measure = tuple[str, str, bool]
"""Name, help text, and whether it is a counter; else it is a gauge."""

Listing = Callable[[], Iterable[tuple[Labels, Sequence[float]]]]
"""Labels, and a number for each measure."""


@final
class Counter:
    """Only ever grows."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0


@final
class Histogram:
    """Observations in fixed buckets; `counts[i]` holds those <= bounds[i], the last slot the rest."""

    __slots__ = ("bounds", "count", "counts", "total")

    def __init__(self, bounds: tuple[float, ...] = SECONDS_BUCKETS) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0
        self.count = 0

    def observe(self, number: float) -> None:
        self.counts[bisect_left(self.bounds, number)] += 1
        self.total += number
        self.count += 1


@final
class Registry:
    """All metrics of one process. Asking twice for the same name and labels gives the same object."""

    def __init__(self) -> None:
        self.helps: dict[str, str] = {}
        self._counters: dict[tuple[str, Labels], Counter] = {}
        self._histograms: dict[tuple[str, Labels], Histogram] = {}
        self._gauges: dict[tuple[str, Labels], Callable[[], float]] = {}
        self.listings: list[tuple[tuple[Measure, ...], Listing]] = []

    def counter(self, name: str, help_text: str, **labels: str) -> Counter:
        self.helps[name] = help_text
        return self._counters.setdefault((name, tuple(sorted(labels.items()))), Counter())

    def histogram(
        self, name: str, help_text: str, bounds: tuple[float, ...] = SECONDS_BUCKETS, **labels: str
    ) -> Histogram:
        """All members of one family must have the same `bounds`."""
        self.helps[name] = help_text
        return self._histograms.setdefault((name, tuple(sorted(labels.items()))), Histogram(bounds))

    def gauge(self, name: str, help_text: str, read: Callable[[], float], **labels: str) -> None:
        """`read` is called at scrape time."""
        self.helps[name] = help_text
        self._gauges[(name, tuple(sorted(labels.items())))] = read

    def listing(self, measures: Sequence[Measure], read: Listing) -> None:
        """Gauges and counters whose labels are not known beforehand. `read` is called at scrape time, and may
        *switch*."""
        for name, help_text, _ in measures:
            self.helps[name] = help_text
        self.listings.append((tuple(measures), read))

    def counters(self) -> Iterator[tuple[str, Labels, int]]:
        for (name, labels), counter in sorted(self._counters.items()):
            yield name, labels, counter.value

    def histograms(self) -> Iterator[tuple[str, Labels, Histogram]]:
        for (name, labels), histogram in sorted(self._histograms.items()):
            yield name, labels, histogram

    def gauges(self) -> Iterator[tuple[str, Labels, float]]:
        for (name, labels), read in sorted(self._gauges.items()):
            yield name, labels, read()
