"""The counters of column families in /metrics."""

from hbtable.model.usage import FamilyUsage
from hbtable.tabletserver.family_usage import FamilySamples


def usage(read_rows: int, written_cells: int, file_bytes: int = 5) -> FamilyUsage:
    return FamilyUsage("t", (b"f",), file_bytes=file_bytes, read_rows=read_rows, written_cells=written_cells)


def test_counters_never_fall_when_tablets_go() -> None:
    samples = FamilySamples()
    shown = [
        [numbers[-2:] for _, numbers in samples.of(usages)]
        for usages in (
            [usage(100, 10)],
            [usage(40, 10)],  # one of two tablets was moved away
            [usage(41, 12)],
            [usage(0, 0)],  # the other one was split
            [usage(3, 0)],
            [],  # nothing of the table is here
            [usage(1, 2)],  # it came back
        )
    ]
    assert shown == [[(100, 10)], [(100, 10)], [(101, 12)], [(101, 12)], [(104, 12)], [], [(1, 2)]]


def test_gauges_are_what_they_are() -> None:
    samples = FamilySamples()
    samples.of([usage(1, 1, 7)])
    [(labels, numbers)] = samples.of([usage(1, 1, 3)])
    assert labels == (("family", "f"), ("table", "t"))
    assert numbers == (0, 3, 0, 0, 0, 0, 1, 1)
