"""A master that was succeeded is refused, whatever it asks."""

import pytest

from hbtable.commitlog.recovery.sorted_runs import SortedRun
from hbtable.errors import LockLost, Unavailable
from hbtable.sstable.cache import BlockCache
from hbtable.tabletserver.tabletserver_admin import TabletServerAdmin
from hbtable.testing.simulated.runtime import SimulatedRuntime

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


class Server:
    """The calls of a master to a tablet server; what the lock service says of masters is `known`."""

    def __init__(self, known: int) -> None:
        self.known = known
        self.done = done = Anything()

        def sort(_incarnation: str, _part: bytes) -> SortedRun:
            done.calls.append("sort")
            return SortedRun(1, 1, 2, 3)

        self.admin = TabletServerAdmin(
            SimulatedRuntime(1),
            done,  # type: ignore[arg-type]
            Anything(),  # type: ignore[arg-type]
            Anything(),  # type: ignore[arg-type]
            lambda: None,
            sort,
            BlockCache(1),
            set,
            print,
            lambda: self.known,
            list,
        )


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("known", [0, 4])
def test_a_greater_epoch_than_any_master_has_is_not_believed(call: str, known: int) -> None:
    server = Server(known)
    ask = getattr(server.admin, call)
    for epoch in (2**62, 5):
        with pytest.raises(Unavailable, match=f"no master of epoch {epoch}"):
            ask(epoch, *CALLS[call])
    assert server.done.calls == []
    server.known = 5
    ask(5, *CALLS[call])
    assert len(server.done.calls) == 1, "the master that there is goes on"


@pytest.mark.parametrize("call", CALLS)
def test_a_master_that_was_succeeded_is_refused_before_its_successor_calls(call: str) -> None:
    server = Server(7)
    with pytest.raises(LockLost, match="succeeded by one of epoch 7"):
        getattr(server.admin, call)(6, *CALLS[call])
    assert server.done.calls == []


@pytest.mark.parametrize("call", CALLS)
def test_a_smaller_epoch_than_the_highest_seen_is_refused(call: str) -> None:
    server = Server(0)
    for epoch, done in ((5, 1), (5, 2), (7, 3)):
        server.known = epoch
        getattr(server.admin, call)(epoch, *CALLS[call])
        assert len(server.done.calls) == done
    for epoch in (6, 5, 0):
        with pytest.raises(LockLost):
            getattr(server.admin, call)(epoch, *CALLS[call])
    assert len(server.done.calls) == 3


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("known", [0, 4])
@pytest.mark.parametrize("epoch", [0, -1])
def test_a_server_that_never_heard_of_a_master_refuses_what_is_no_epoch(call: str, known: int, epoch: int) -> None:
    server = Server(known)
    with pytest.raises(LockLost):
        getattr(server.admin, call)(epoch, *CALLS[call])
    assert server.done.calls == []
    server.known = 4
    getattr(server.admin, call)(4, *CALLS[call])
    assert len(server.done.calls) == 1
