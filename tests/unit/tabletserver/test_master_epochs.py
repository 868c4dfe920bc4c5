"""A master that was succeeded is refused, whatever it asks."""

import pytest

from hbtable.commitlog.recovery.sorted_runs import SortedRun
from hbtable.errors import LockLost
from hbtable.sstable.cache import BlockCache
from hbtable.tabletserver.tabletserver_admin import TabletServerAdmin

CALLS = {
    "load_tablet": (None, None),
    "unload_tablet": (20,),
    "update_schema": (16, None),
    "sort_log_part": ("00000001-dead", b"[]"),
}


class Anything:
    """Takes every call and notes it."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> object:
        return lambda *_arguments: self.calls.append(name)


@pytest.mark.parametrize("call", CALLS)
def test_a_smaller_epoch_than_the_highest_seen_is_refused(call: str) -> None:
    online_tablets = Anything()

    def sort(_incarnation: str, _part: bytes) -> SortedRun:
        online_tablets.calls.append("sort")
        return SortedRun(1, 1, 2, 3)

    admin = TabletServerAdmin(online_tablets, Anything(), Anything(), lambda: None, sort, BlockCache(1), set, print)  # type: ignore[arg-type]
    for epoch, done in ((5, 1), (5, 2), (7, 3)):
        getattr(admin, call)(epoch, *CALLS[call])
        assert len(online_tablets.calls) == done
    for epoch in (6, 5, 0):
        with pytest.raises(LockLost):
            getattr(admin, call)(epoch, *CALLS[call])
    assert len(online_tablets.calls) == 3
