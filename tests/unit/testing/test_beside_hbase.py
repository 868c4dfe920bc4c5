"""The report of `make bench-hbase`."""

from xml.etree import ElementTree

from tests.bench.beside_hbase.report import HEADINGS, lines_of, markdown, plot
from tests.bench.beside_hbase.workloads import Turn

ROUNDS = [
    [Turn(100.0, 50.0, [0.010, 0.020, 0.030]), Turn(300.0, 5.0, [0.001])],
    [Turn(10.0, 70.0, [0.100]), Turn(20.0, 6.0, [0.002])],
    [Turn(200.0, 60.0, [0.010]), Turn(800.0, 7.0, [0.003])],
]


def test_ratios_are_those_within_rounds() -> None:
    first, second = lines_of("gets", 2, ("HBase", "hbtable"), ROUNDS)
    assert (first.ratio, second.ratio) == (None, 3.0)
    assert (second.rate, second.slowest, second.fastest, second.cpu_micros) == (300.0, 20.0, 800.0, 6.0)
    assert (first.p50_millis, first.p99_millis) == (20.0, 100.0)


def test_one_slow_round_does_not_move_the_ratio() -> None:
    rounds = [[Turn(rate, 1.0, [1.0]), Turn(rate * 2, 1.0, [1.0])] for rate in (1.0, 5.0, 900.0)]
    rounds[2][1] = Turn(1.0, 1.0, [1.0])
    assert lines_of("gets", 1, ("HBase", "hbtable"), rounds)[1].ratio == 2.0


def test_the_table_has_a_column_for_each_heading() -> None:
    rows = [line for line in markdown("x", lines_of("gets", 2, ("a", "b"), ROUNDS), []).splitlines() if "|" in line]
    assert len(rows) == 4
    assert {row.count("|") for row in rows} == {len(HEADINGS) + 1}


def test_the_plot_is_a_picture_with_a_bar_for_each_ratio() -> None:
    lines = lines_of("scans <of> pages & more", 1, ("a", "b"), ROUNDS) + lines_of("gets", 2, ("a", "b"), ROUNDS)
    picture = ElementTree.fromstring(plot("a <title>", lines))
    bars = [bar for bar in picture.iter("{http://www.w3.org/2000/svg}rect") if bar.get("x")]
    assert len(bars) == 2
    assert all(float(bar.get("width", "0")) > 0 for bar in bars)
