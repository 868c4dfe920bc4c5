"""What one call may write to a tablet is bounded below every way in, and what is beyond the bound writes nothing."""

import pytest

import hbtable
from hbtable.errors import LimitExceeded
from hbtable.launch.embedded import EmbeddedDatabase
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import PUT, RowMutation
from hbtable.tablet.options import TabletOptions
from hbtable.tablet.writes import apply, writing
from tests.harness.tablet_bench import Bench, everything, put


@pytest.fixture(autouse=True)
def _few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what is built in turns with other tasks may be so large."""
    monkeypatch.setattr(writing, "_MOST_AT_ONCE", 20)
    monkeypatch.setattr(apply, "HEAVY_BYTES", 20_000)


CELLS = [(PUT, b"f", b"%05d" % number, SERVER_TIME, b"") for number in range(1000)]
LARGE = [(PUT, b"f", b"%05d" % number, SERVER_TIME, bytes(10_000)) for number in range(15)]


@pytest.mark.parametrize(
    "write",
    [
        [RowMutation(b"r", CELLS)],
        [RowMutation(b"r", LARGE)],
        [RowMutation(b"r%04d" % number, [cell]) for number, cell in enumerate(CELLS)],
        [RowMutation(b"r%04d" % number, [cell]) for number, cell in enumerate(LARGE)],
    ],
    ids=["many cells", "large cells", "many rows", "large rows"],
)
def test_more_than_the_bound_is_refused_whole(bench: Bench, write: list[RowMutation]) -> None:
    def main() -> None:
        for most, fits in ((100_000, False), (200_000, True)):
            bench.options = TabletOptions(max_write_bytes=most)
            tablet = bench.open()
            tablet.mutate([put(b"before", b"f:a", b"")])
            if fits:
                tablet.mutate(write)
                assert len(everything(tablet)) > 1
                continue
            with pytest.raises(LimitExceeded, match=r"more than 100000 bytes up to row b'r.*tablet\.max_write_bytes"):
                tablet.mutate(write)
            assert [row for row, _ in everything(tablet)] == [b"before"]
            tablet.close()

    bench.run(main)


def test_the_library_is_bound_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no messages, whose size would be bounded."""
    value = bytes(9 << 20)  # one, to which all cells refer
    with hbtable.open(":memory:") as db:
        assert isinstance(db, EmbeddedDatabase)
        table = db.create_table("t", ["f"])
        with pytest.raises(hbtable.InvalidRequest, match="more than 1073741824 bytes"):
            table.put(b"row", {b"f:%03d" % number: value for number in range(120)})
        assert table.row(b"row") == {}
