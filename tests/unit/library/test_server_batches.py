"""A batch of hbtable.connect() that goes in several calls, of which one is refused: the error says what was written."""

from types import SimpleNamespace
from typing import Any

import pytest

from hbtable.errors import NoSuchFamily, OutcomeUnknown, Unavailable
from hbtable.library.server_table import ServerTable
from hbtable.model.mutation import PUT, RowMutation


class Server:
    """Ends the call with this number, from 0, with `error`."""

    def __init__(self, error: Exception, number: int) -> None:
        self.error = error
        self.number = number
        self.calls: list[tuple[str, list[bytes]]] = []

    def admin(self, method: str, table: bytes, batches: list[Any], *_: object) -> None:
        if len(self.calls) == self.number:
            raise self.error
        self.calls.append((method, [one.row for one in batches]))

    hbase = admin

    def struct(self, name: str, **fields: object) -> Any:
        return SimpleNamespace(**fields)

    def open(self) -> None: ...

    def close(self) -> None: ...


def put(row: bytes, time: int = -1, skip_log: bool = False) -> RowMutation:
    return RowMutation(row, [(PUT, b"f", b"q", time, b"v")], skip_log)


@pytest.mark.parametrize("kind", [NoSuchFamily, Unavailable, OutcomeUnknown])
@pytest.mark.parametrize(
    ("number", "rows", "before", "behind"), [(0, 1000, 0, 1500), (1, 1000, 1000, 500), (2, 500, 2000, 0)]
)
def test_the_error_of_one_call_of_a_batch_says_what_the_others_did(
    kind: type[Exception], number: int, rows: int, before: int, behind: int
) -> None:
    server = Server(kind("no"), number)
    with pytest.raises(kind) as caught:
        ServerTable(server, b"t").mutate([put(b"%04d" % number) for number in range(2500)])
    assert str(caught.value) == (
        f"no; this was for {rows} of the 2500 rows of the batch, which go in 3 calls: {before} others were written "
        f"before, and {behind} were not sent"
    )
    assert len(server.calls) == number


def test_a_row_of_several_calls_is_counted_once() -> None:
    server = Server(NoSuchFamily("no"), 1)
    with pytest.raises(NoSuchFamily, match=r"for 500 of the 1000 rows .* 500 others were written before, and 0 were"):
        ServerTable(server, b"t").mutate([put(b"%04d" % (number % 1000)) for number in range(1500)])


def test_what_is_not_logged_goes_by_times_and_says_so_too() -> None:
    server = Server(NoSuchFamily("no"), 1)
    batch = [put(b"a", 1, True), put(b"b", 1, True), put(b"c", 2, True)]
    with pytest.raises(NoSuchFamily, match="for 1 of the 3 rows of the batch, which go in 2 calls: 2 others were writ"):
        ServerTable(server, b"t").mutate(batch)
    assert server.calls == [("mutateRowsTs", [b"a", b"b"])]


def test_the_error_of_a_single_call_stays_as_it_is() -> None:
    with pytest.raises(NoSuchFamily) as caught:
        ServerTable(Server(NoSuchFamily("no"), 0), b"t").mutate([put(b"%04d" % number) for number in range(1000)])
    assert str(caught.value) == "no"
