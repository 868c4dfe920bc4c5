"""Figure 6 as a picture: values a second of all tablet servers together, as SVG."""

from collections.abc import Sequence
from typing import Final

from hbtable.shell.bench.measuring import BenchResult
from hbtable.shell.bench.workloads import PAPER

_WIDTH, _HEIGHT = 560, 320
_LEFT, _TOP, _SIDE = 80, 40, 240
"""Of the plot; its legend is as wide as _SIDE."""
_COLOURS: Final = ("#d62728", "#ff7f0e", "#2ca02c", "#1f77b4", "#9467bd", "#8c564b")
_LINES_OF_THE_GRID: Final = 5


def picture(results: Sequence[BenchResult]) -> str:
    """A line for each workload over the number of tablet servers. A ring is the paper's rate with one."""
    workloads = [name for name in PAPER if all(name in one.rates for one in results)]
    servers = max(one.servers for one in results)
    most = max([PAPER[name][0] for name in workloads] + [one.rates[name] for one in results for name in workloads])

    def at(count: int, rate: float) -> tuple[float, float]:
        return _LEFT + _WIDTH * count / servers, _TOP + _HEIGHT * (1 - rate / most)

    texts = [_text(_LEFT, _TOP - 16, "values read or written a second, all tablet servers; ring: the paper's with one")]
    texts.append(_text(_LEFT + _WIDTH / 2, _TOP + _HEIGHT + 36, "tablet servers", "middle"))
    for step in range(_LINES_OF_THE_GRID + 1):
        rate = most * step / _LINES_OF_THE_GRID
        _, y = at(0, rate)
        texts.append(f'<line x1="{_LEFT}" y1="{y:.1f}" x2="{_LEFT + _WIDTH}" y2="{y:.1f}" stroke="#ddd"/>')
        texts.append(_text(_LEFT - 6, y + 4, f"{rate:.0f}", "end"))
    for count in sorted({one.servers for one in results}):
        texts.append(_text(at(count, 0)[0], _TOP + _HEIGHT + 18, str(count), "middle"))
    for number, (name, colour) in enumerate(zip(workloads, _COLOURS, strict=False)):
        points = [at(one.servers, one.rates[name]) for one in sorted(results, key=lambda one: one.servers)]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        texts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        texts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>' for x, y in points]
        x, y = at(1, PAPER[name][0])
        texts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" fill="none" stroke="{colour}"/>')
        down = _TOP + 16 + 22 * number
        texts.append(f'<circle cx="{_LEFT + _WIDTH + 24}" cy="{down - 4}" r="4" fill="{colour}"/>')
        rates = ", ".join(f"{one.rates[name]:.0f}" for one in results)
        texts.append(_text(_LEFT + _WIDTH + 36, down, f"{name}: {rates}"))
    width, height = _LEFT + _WIDTH + _SIDE + 36, _TOP + _HEIGHT + 50
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        f'font-size="12">\n<rect width="{width}" height="{height}" fill="white"/>\n' + "\n".join(texts) + "\n</svg>\n"
    )


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'
