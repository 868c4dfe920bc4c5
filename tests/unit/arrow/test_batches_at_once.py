"""Record batches are made a megabyte or some thousand rows at a time, with a pause after each: pyarrow holds Python's
lock meanwhile. And what a client reads is what there was."""

from collections.abc import Callable

import pyarrow as pa
import pytest

from hbtable.arrow import wire
from hbtable.arrow.forms import LongForm, WideColumn, WideForm
from hbtable.model.read import ScanPage

MOST_ROWS = 16384
MOST_BYTES = 1 << 20
LARGEST = 300 << 10

MANY_CELLS = [(b"r", [(b"f:%06d" % number, number, b"v") for number in range(50_000)])]
LARGE_CELLS = [(b"r", [(b"f:%06d" % number, number, bytes([number]) * LARGEST) for number in range(40)])]
MANY_ROWS = [(b"r%06d" % number, [(b"f:a", number, b"v")]) for number in range(50_000)]
LARGE_ROWS = [(b"r%02d" % number, [(b"f:a", number, bytes([number]) * LARGEST)]) for number in range(40)]


def wide() -> WideForm:
    return WideForm([WideColumn(b"f", b"a", pa.binary(), "a")])


@pytest.mark.parametrize(
    ("form", "rows"), [(LongForm, MANY_CELLS), (LongForm, LARGE_CELLS), (wide, MANY_ROWS), (wide, LARGE_ROWS)]
)
def test_a_batch_is_no_more_than_others_can_wait_for(form: Callable[[], LongForm | WideForm], rows: list) -> None:
    made, paused = form(), [0]

    def pause() -> None:
        paused[0] += 1

    batches = list(made.batches(ScanPage(rows, None), pause))
    assert len(batches) >= 4
    assert paused[0] >= len(batches)
    for batch in batches:
        assert batch.num_rows <= MOST_ROWS
        assert batch.nbytes <= MOST_BYTES + LARGEST + 64 * batch.num_rows
    pieces = wire.sent(made, iter(batches), pause)
    assert max(map(len, pieces)) <= MOST_BYTES + LARGEST
    found = pa.ipc.open_stream(b"".join(pieces)).read_all()
    assert found.column(found.num_columns - 1).to_pylist() == [value for _, cells in rows for _, _, value in cells]
    assert found.column("row").to_pylist() == [row for row, cells in rows for _ in cells]


def test_of_no_batch_nothing_is_sent() -> None:
    assert wire.sent(LongForm(), iter(()), lambda: None) == [b""]
