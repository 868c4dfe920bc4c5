"""The registry's counters in Prometheus' text format, read at scrape time.

One custom collector over plain slots: hot code pays 0.04 us an increment, and only a scrape pays for formatting. That
happens once a second at most, however many scrape, and in a thread: requests wait for what only reads the slots.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final, TypeVar, final

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from hbtable.errors import Unavailable
from hbtable.metrics.registry import Histogram, Labels, Measure, Registry
from hbtable.runtime.interface import Event, Runtime
from hbtable.switches import switches

T = TypeVar("T")

_MANY: Final = 8
"""Of a family with more members (one for each Thrift method), those never observed are left out: each is 18 series."""

_FRESH_SECONDS: Final = 1.0
"""For so long a page is answered again."""

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


class _Collector:
    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    @switches
    def collect(self) -> Iterator[Metric]:
        """*Switches* where figures are put together from many things."""
        helps = self._registry.helps
        for name, counters in _by_name(self._registry.counters()):
            family = CounterMetricFamily(name, helps[name], labels=_label_names(counters))
            for labels, number in counters:
                family.add_metric([value for _, value in labels], number)
            yield family
        for name, gauges in _by_name(self._registry.gauges()):
            gauge = GaugeMetricFamily(name, helps[name], labels=_label_names(gauges))
            for labels, level in gauges:
                gauge.add_metric([value for _, value in labels], level)
            yield gauge
        for name, histograms in _by_name(self._registry.histograms()):
            histogram = HistogramMetricFamily(name, helps[name], labels=_label_names(histograms))
            for labels, observed in histograms:
                if not observed.count and len(histograms) > _MANY:
                    continue
                histogram.add_metric([value for _, value in labels], _buckets(observed), observed.total)
            yield histogram
        for measures, read in self._registry.listings:
            yield from _listed(measures, list(read()))


def _listed(measures: Sequence[Measure], found: Sequence[tuple[Labels, Sequence[float]]]) -> Iterator[Metric]:
    for place, (name, help_text, is_counter) in enumerate(measures):
        if not found:
            return
        kind = CounterMetricFamily if is_counter else GaugeMetricFamily
        metric = kind(name, help_text, labels=[label for label, _ in found[0][0]])
        for labels, numbers in found:
            metric.add_metric([value for _, value in labels], numbers[place])
        yield metric


def _by_name(samples: Iterator[tuple[str, Labels, T]]) -> list[tuple[str, list[tuple[Labels, T]]]]:
    grouped: dict[str, list[tuple[Labels, T]]] = defaultdict(list)
    for name, labels, sample in samples:
        grouped[name].append((labels, sample))
    return list(grouped.items())


def _label_names(samples: list[tuple[Labels, T]]) -> list[str]:
    return [name for name, _ in samples[0][0]]


def _buckets(histogram: Histogram) -> list[tuple[str, float]]:
    """Cumulative counts, as Prometheus wants them, ending in +Inf."""
    out: list[tuple[str, float]] = []
    running = 0
    for bound, count in zip(histogram.bounds, histogram.counts, strict=False):
        running += count
        out.append((str(bound), running))
    out.append(("+Inf", histogram.count))
    return out


@switches
def render(registry: Registry) -> bytes:
    """Everything in the text format. Takes about 10 us a series."""
    return _formatted(list(_Collector(registry).collect()))


def _formatted(collected: list[Metric]) -> bytes:
    exported = CollectorRegistry(auto_describe=False)
    exported.register(_Collected(collected))
    ProcessCollector(registry=exported)  # process_resident_memory_bytes, process_open_fds and their like
    return generate_latest(exported)


class _Collected:
    """Figures that were read from the slots, for a thread that must not look at them itself."""

    def __init__(self, metrics: list[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        return iter(self._metrics)


@final
class MetricsPage:
    """The latest rendering, no older than a second when it is handed out."""

    def __init__(self, runtime: Runtime, registry: Registry) -> None:
        self._runtime = runtime
        self._collector = _Collector(registry)
        self._text = b""
        self._rendered_at = float("-inf")
        self._under_way: Event | None = None

    @switches
    def text(self) -> bytes:
        """*Switches* when it has to be rendered; whoever asks meanwhile waits for that one. Unavailable when it
        failed."""
        if self._runtime.clock_seconds() - self._rendered_at < _FRESH_SECONDS:
            return self._text
        if self._under_way is None:
            self._render()
        else:
            before = self._rendered_at
            self._under_way.wait()
            if self._rendered_at == before:
                raise Unavailable("the metrics could not be rendered; try again")
        return self._text

    @switches
    def _render(self) -> None:
        done = self._under_way = self._runtime.event()
        try:
            began = self._runtime.clock_seconds()
            collected: list[Metric] = []
            for family in self._collector.collect():
                collected.append(family)
                self._runtime.sleep(0)
            self._text = self._runtime.offload("metrics", _formatted, collected)
            self._rendered_at = began
        finally:
            self._under_way = None
            done.set()
