"""Figures of all turns as a table for people, as Markdown, and as a plot."""

import statistics
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from tests.bench.beside_hbase.workloads import Turn


class Line(NamedTuple):
    """One workload with one number of clients on one server."""

    workload: str
    clients: int
    server: str
    rate: float
    slowest: float
    fastest: float
    p50_millis: float
    p99_millis: float
    cpu_micros: float
    ratio: float | None
    """Of the rate to the first server's: the median over the rounds."""


HEADINGS = ("workload", "clients", "server", "ops/s", "range", "ratio", "p50 ms", "p99 ms", "CPU us/op")


def lines_of(workload: str, clients: int, names: Sequence[str], rounds: Sequence[Sequence[Turn]]) -> list[Line]:
    """`rounds`: of each the turns of the servers. Ratios are to the first of several."""
    found = []
    for place, name in enumerate(names):
        turns = [servers[place] for servers in rounds]
        latencies = sorted(latency * 1000 for turn in turns for latency in turn.latencies)
        rates = [turn.rate for turn in turns]
        ratio = statistics.median(servers[place].rate / servers[0].rate for servers in rounds) if place else None
        found.append(
            Line(
                workload,
                clients,
                name,
                statistics.median(rates),
                min(rates),
                max(rates),
                latencies[len(latencies) // 2],
                latencies[min(len(latencies) * 99 // 100, len(latencies) - 1)],
                statistics.median(turn.cpu_micros for turn in turns),
                ratio,
            )
        )
    return found


def cells(line: Line) -> tuple[str, ...]:
    return (
        line.workload,
        str(line.clients),
        line.server,
        f"{line.rate:,.0f}",
        f"{line.slowest:,.0f}-{line.fastest:,.0f}",
        "" if line.ratio is None else f"{line.ratio:.2f}",
        f"{line.p50_millis:.2f}",
        f"{line.p99_millis:.2f}",
        f"{line.cpu_micros:.1f}",
    )


def text(values: Sequence[str]) -> str:
    widths = (31, 8, 15, 10, 18, 7, 9, 9, 10)
    return "".join(
        value.ljust(width) if place in (0, 2) else value.rjust(width)
        for place, (value, width) in enumerate(zip(values, widths, strict=True))
    )


def markdown(title: str, lines: Sequence[Line], notes: Sequence[str]) -> str:
    rows = [HEADINGS, ("---",) * len(HEADINGS), *map(cells, lines)]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"## {title}\n\n{table}\n\n" + "".join(f"* {note}\n" for note in notes)


_BAR, _GAP, _LEFT, _WIDTH = 14, 10, 290, 460


def plot(title: str, lines: Sequence[Line]) -> str:
    """An SVG: a bar for each ratio, and a line at 1."""
    compared = [line for line in lines if line.ratio is not None]
    largest = max([1.0, *(line.ratio or 0.0 for line in compared)])
    scale = _WIDTH / largest
    parts: list[str] = []
    top = 40
    group = ("", 0)
    servers = sorted({line.server for line in compared})
    for line in compared:
        if (line.workload, line.clients) != group:
            group = (line.workload, line.clients)
            top += _GAP
            label = escape(f"{line.workload}, {line.clients} client{'s' if line.clients > 1 else ''}")
            parts.append(f'<text x="{_LEFT - 8}" y="{top + _BAR}" text-anchor="end">{label}</text>')
        ratio = line.ratio or 0.0
        colour = ("#3b6ea5", "#d98b3a", "#6a9a52")[servers.index(line.server) % 3]
        parts.append(f'<rect x="{_LEFT}" y="{top}" width="{ratio * scale:.1f}" height="{_BAR - 2}" fill="{colour}"/>')
        label = escape(f"{ratio:.2f}  {line.server}")
        parts.append(f'<text x="{_LEFT + ratio * scale + 4:.1f}" y="{top + _BAR - 3}">{label}</text>')
        top += _BAR
    one = _LEFT + scale
    parts.append(f'<line x1="{one:.1f}" y1="30" x2="{one:.1f}" y2="{top + 4}" stroke="#444" stroke-dasharray="4 3"/>')
    size = f'width="{_LEFT + _WIDTH + 150}" height="{top + 16}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11">\n'
        f'<rect width="100%" height="100%" fill="white"/>\n<text x="8" y="18" font-size="13">{escape(title)}</text>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )
