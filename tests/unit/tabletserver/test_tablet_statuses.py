"""What a tablet server says that it serves, while that changes."""

from collections.abc import Callable
from types import SimpleNamespace

from hbtable.model.ranges import RowRange
from hbtable.model.status import TabletStatus
from hbtable.model.tablet import TabletRecord
from hbtable.sstable.cache import BlockCache
from hbtable.tabletserver.tabletserver_admin import TabletServerAdmin

TABLE = 16


class SlowMachine:
    """A runtime on which every look at the clock comes a second after the last one. `meanwhile`: what others do."""

    def __init__(self, meanwhile: Callable[[], None]) -> None:
        self.meanwhile = meanwhile
        self.seconds = 0.0

    def clock_seconds(self) -> float:
        self.seconds += 1.0
        return self.seconds

    def slice_end(self, seconds: float) -> float:
        return self.seconds + seconds

    def sleep(self, _seconds: float) -> None:
        self.meanwhile()


class FakeTablet:
    def __init__(self, tablet_id: int, table_id: int = TABLE) -> None:
        self.record = TabletRecord(table_id, tablet_id, RowRange(b"", b""), 1)

    def status(self) -> TabletStatus:
        return TabletStatus(self.record, 1, 0, 0, 0, 0, 0)


def _ids(served: dict[int, FakeTablet], meanwhile: Callable[[], None]) -> list[int]:
    never = SimpleNamespace()
    admin = TabletServerAdmin(
        SlowMachine(meanwhile),  # type: ignore[arg-type]
        SimpleNamespace(tablets=served),  # type: ignore[arg-type]
        never,  # type: ignore[arg-type]
        never,  # type: ignore[arg-type]
        lambda: None,
        never,  # type: ignore[arg-type]
        BlockCache(1),
        set,
        print,
        lambda: 1,
        list,
    )
    return [status.record.tablet_id for status in admin.tablets(TABLE)]


def test_the_children_of_a_tablet_that_is_split_meanwhile_are_told_and_not_their_parent() -> None:
    served = {number: FakeTablet(number) for number in (20, 21, 22)} | {30: FakeTablet(30, TABLE + 1)}

    def split() -> None:
        if served.pop(21, None):
            served.update({40: FakeTablet(40), 41: FakeTablet(41), 42: FakeTablet(42, TABLE + 1)})

    assert _ids(served, split) == [20, 22, 40, 41]


def test_a_tablet_that_comes_back_meanwhile_is_told_as_it_is_now() -> None:
    served = {number: FakeTablet(number) for number in (20, 21, 22)}
    assert _ids(served, lambda: served.pop(20, None) and None) == [21, 22]
