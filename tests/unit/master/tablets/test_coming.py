"""Tablets on their way to servers count for how full these are."""

from hbtable.master.servers.server_reports import ServerReports
from hbtable.master.tablets.coming import Coming
from hbtable.master.tablets.server_load import ServerLoad


class Tablets(frozenset[int]):
    """`unions`: how often it was joined with others."""

    unions = 0

    def __or__(self, others: object) -> "Tablets":
        Tablets.unions += 1
        return Tablets(frozenset.__or__(self, others))  # type: ignore[operator]


def test_thousands_of_tablets_are_joined_once_with_those_that_come() -> None:
    """They were once for each that comes: 1,000 on their way to a server of 10,000 took 55 ms."""
    coming = Coming()
    reports = ServerReports({"a": ServerLoad(Tablets(range(10))), "b": ServerLoad(Tablets())}, frozenset())
    with coming.to("a", *range(100, 120)), coming.to("b", 120), coming.to("dead", 121):
        found = coming.counted(reports).loads
    assert {name: len(load.tablet_ids) for name, load in found.items()} == {"a": 30, "b": 1}
    assert Tablets.unions <= 2
