"""A write that is built in parts keeps the time of its beginning, and the order of its row's operations, whatever other
writers ask of the tablet's clock meanwhile."""

from collections.abc import Callable

import pytest

from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import DELETE_COLUMN, DELETE_FAMILY, PUT, RowMutation
from hbtable.tablet.options import TabletOptions
from hbtable.tablet.tablet import Tablet
from hbtable.tablet.writes import writing
from tests.harness.tablet_bench import Bench, put, values

OTHERS: dict[str, Callable[[Tablet, bytes], object]] = {
    "increment": lambda tablet, row: tablet.increment(row, b"f", b"n", 1),
    "append": lambda tablet, row: tablet.append(row, [(b"f", b"n", b"!")]),
    "check and put": lambda tablet, row: tablet.check_and_mutate(row, b"f", b"n", ONE, put(row, b"f:m", b"new")),
    "put": lambda tablet, row: tablet.mutate([put(row, b"f:m", b"new")]),
}
ONE = (1).to_bytes(8, "big")
ROWS = (b"c1", b"c2", b"c3")


@pytest.mark.parametrize("marker", [DELETE_FAMILY, DELETE_COLUMN])
@pytest.mark.parametrize("is_in_it", [True, False], ids=["deleted in it", "deleted before it, often"])
@pytest.mark.parametrize("other", OTHERS)
def test_a_put_behind_a_delete_of_its_row_stays(
    other: str, is_in_it: bool, marker: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was masked by that delete once the clock had forgotten the row, as passed by the others' times."""
    monkeypatch.setattr(writing, "_MOST_AT_ONCE", 20)
    deletion = (marker, b"f", b"q" if marker == DELETE_COLUMN else b"", SERVER_TIME, b"")
    again_and_again = [deletion, (PUT, b"f", b"q", SERVER_TIME, b"old")] * 20  # the row's time is 20 ms ahead
    columns = RowMutation(b"x", [(PUT, b"f", b"%05d" % number, SERVER_TIME, b"v") for number in range(2000)])

    def main(bench: Bench, pauses: int) -> None:
        tablet = bench.open()
        tablet.mutate([put(b"r", b"f:q", b"old")])
        for row in ROWS:
            tablet.increment(row, b"f", b"n", 1)
        bench.runtime.scheduler.now_micros += 20_000
        deleted = RowMutation(b"r", [*([] if is_in_it else again_and_again), deletion])
        if not is_in_it:
            tablet.mutate([deleted])
        batch = [*([deleted] if is_in_it else []), columns, put(b"r", b"f:q", b"new")]
        tasks = [bench.runtime.spawn(tablet.mutate, batch)]
        for row in ROWS:
            for _ in range(pauses):
                bench.runtime.sleep(0)
            bench.runtime.scheduler.now_micros += 50_000
            tasks.append(bench.runtime.spawn(OTHERS[other], tablet, row))
        for task in tasks:
            task.join()
            assert task.error is None
        assert values(tablet, b"r") == {b"f:q": b"new"}

    for pauses in range(1, 9):
        bench = Bench(pauses, "sync")
        bench.options = TabletOptions(slice_seconds=0.0)
        bench.run(main, bench, pauses)
