"""A batch that some tablets take and others refuse: its error says what was written, and sending it again is safe."""

import pytest

from hbtable.client.partly_written import Part, ended_early, partly_written
from hbtable.errors import (
    DataDamaged,
    HbtableError,
    InvalidRequest,
    NoSuchFamily,
    OutcomeUnknown,
    Stalled,
    StorageFailed,
    Unavailable,
)
from hbtable.launch.embedded_cluster import EmbeddedCluster
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import PUT, RowMutation
from hbtable.model.read import ScanRequest
from hbtable.model.schema import FamilySchema, TableSchema
from tests.simulation.conftest import Machine

SPLITS = [b"d", b"m", b"t"]


def put(row: bytes, family: bytes = b"f") -> RowMutation:
    return RowMutation(row, [(PUT, family, b"q", SERVER_TIME, b"v")])


def rows(cluster: EmbeddedCluster) -> list[bytes]:
    return [row for row, _ in cluster.client.table(b"t").scan_page(ScanRequest(max_rows=5000)).rows]


def made(cluster: EmbeddedCluster, splits: list[bytes]) -> None:
    cluster.client.admin.create_table(TableSchema(b"t", {b"f": FamilySchema(b"f")}), splits)


def test_the_error_says_what_was_written_and_what_was_not() -> None:
    def body(cluster: EmbeddedCluster) -> None:
        made(cluster, SPLITS)
        table = cluster.client.table(b"t")
        batch = [put(b"a"), put(b"e", b"x"), put(b"f"), put(b"n"), put(b"u"), put(b"v", b"x")]
        with pytest.raises(NoSuchFamily) as caught:
            table.mutate(batch)
        said = str(caught.value)
        assert "; of the 6 rows of the batch 2 were written, 4 were not (b'e' to b'f', b'u' to b'v')" in said
        assert rows(cluster) == [b"a", b"n"]
        table.mutate([put(one.row) for one in batch])
        assert rows(cluster) == [b"a", b"e", b"f", b"n", b"u", b"v"]

    Machine(1).life(body)


def test_nothing_is_said_of_a_batch_of_which_nothing_was_written() -> None:
    def body(cluster: EmbeddedCluster) -> None:
        made(cluster, SPLITS)
        for batch in ([put(b"a", b"x"), put(b"e", b"x")], [put(b"a"), put(b"b", b"x")]):
            with pytest.raises(NoSuchFamily) as caught:
                cluster.client.table(b"t").mutate(batch)
            assert "of the batch" not in str(caught.value)
        assert rows(cluster) == []

    Machine(1).life(body)


def test_of_a_long_batch_what_follows_an_error_is_not_sent() -> None:
    def body(cluster: EmbeddedCluster) -> None:
        made(cluster, [])
        batch = [put(b"%04d" % number) for number in range(2500)]
        batch[1200] = put(b"1200", b"x")
        with pytest.raises(NoSuchFamily, match=r"2500 rows of the batch 1000 were written, 1500 were not \(b'100"):
            cluster.client.table(b"t").mutate(batch)
        assert rows(cluster) == [b"%04d" % number for number in range(1000)]

    Machine(1).life(body)


def test_a_long_batch_of_one_row_says_that_earlier_changes_were_written() -> None:
    refused = InvalidRequest("refused")
    error = ended_early(refused, [put(b"a")] * 1500, 1000, 2000, lambda: None)
    assert str(error) == (
        "refused; of the 1 rows of the batch 0 were written, 1 were not (b'a'), "
        "and earlier changes of 1 of these were written"
    )


def test_nothing_was_written_of_a_long_batch_whose_first_part_is_refused() -> None:
    """The error is that of the part, and not its own cause: who walks the causes would not come to an end."""

    def body(cluster: EmbeddedCluster) -> None:
        made(cluster, [])
        batch = [put(b"%04d" % number, b"x") for number in range(2500)]
        with pytest.raises(NoSuchFamily) as caught:
            cluster.client.table(b"t").mutate(batch)
        assert caught.value.__cause__ is not caught.value
        assert "of the batch" not in str(caught.value)

    Machine(1).life(body)


def test_what_is_no_row_is_refused_as_such_behind_a_thousand_rows() -> None:
    def body(cluster: EmbeddedCluster) -> None:
        made(cluster, [])
        batch: list[RowMutation] = [put(b"%04d" % number) for number in range(1500)]
        batch += [put(bytearray(b"a")), put("text")]  # type: ignore[arg-type]
        for length, said in (
            (1500, "1000 were written, 500 were not"),
            (1000, "has to be bytes; of the 1000 rows of the batch 1000 were written"),
        ):
            with pytest.raises(InvalidRequest) as caught:
                cluster.client.table(b"t").mutate(batch[:length] + batch[1500:])
            assert said in str(caught.value)

    Machine(1).life(body)


def test_a_million_rows_are_counted_in_parts_and_not_kept() -> None:
    batch = [put(b"%05d" % number) for number in range(20_000)]
    pauses: list[None] = []
    error = ended_early(InvalidRequest("refused"), batch, 1000, 2000, lambda: pauses.append(None))
    assert len(pauses) > 20_000 // 512
    assert not [value for value in vars(error).values() if isinstance(value, tuple)]


def test_a_part_that_was_divided_again_is_named_by_its_own_rows() -> None:
    """Some of a thousand rows lie in another tablet than the rest."""

    def body(cluster: EmbeddedCluster) -> None:
        made(cluster, [b"1500"])
        batch = [put(b"%04d" % number) for number in range(2000)]
        batch[1700] = put(b"1700", b"x")
        with pytest.raises(NoSuchFamily) as caught:
            cluster.client.table(b"t").mutate(batch)
        said = str(caught.value)
        assert said.endswith("of the 2000 rows of the batch 1500 were written, 500 were not (b'1500' to b'1999')"), said
        assert said.count("of the batch") == 1

    Machine(1).life(body)


@pytest.mark.parametrize("kind", [OutcomeUnknown, StorageFailed, Stalled])
def test_what_may_have_been_written_is_counted_apart(kind: type[HbtableError]) -> None:
    batch = [put(b"%d" % number) for number in range(9)]
    parts = [
        Part(kind("no answer"), [b"1", b"2"]),
        *(Part(Unavailable("away"), [b"%d" % number]) for number in (4, 5, 6, 7)),
    ]
    error = partly_written(parts, batch, lambda: None)
    assert type(error) is kind
    assert str(error) == (
        "no answer; of the 9 rows of the batch 3 were written, 4 were not (b'4', b'5', b'6' and 1 more), "
        "2 may have been (b'1' to b'2')"
    )


def test_a_refused_part_does_not_hide_one_that_may_have_been_written() -> None:
    """The refusal alone would promise that nothing was applied."""
    parts = [Part(InvalidRequest("refused"), [b"a"]), Part(StorageFailed("no answer"), [b"b"])]
    error = partly_written(parts, [put(b"a"), put(b"b")], lambda: None)
    assert str(error) == (
        "refused; of the 2 rows of the batch 0 were written, 1 were not (b'a'), 1 may have been (b'b')"
    )


@pytest.mark.parametrize("kind", [Unavailable("away"), DataDamaged("a", 1, "bad", b"a", b"b")])
def test_the_error_stays_what_it_was(kind: HbtableError) -> None:
    error = partly_written([Part(kind, [b"a"])], [put(b"a"), put(b"b")], lambda: None)
    assert type(error) is type(kind)
    assert vars(error).items() >= vars(kind).items()
    assert str(error) == f"{kind}; of the 2 rows of the batch 1 were written, 1 were not (b'a')"
