"""Among operations on a column that the server times the later always wins: every sequence of four, in one millisecond.

The expectation knows nothing of times. (HBase hides a put behind a delete of the same millisecond.)
"""

from itertools import product

import pytest

from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import DELETE_COLUMN, DELETE_FAMILY, DELETE_VERSION, PUT, Operation, RowMutation
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.tablet.tablet import Tablet
from tests.harness.tablet_bench import Bench, values

DELETES = {"column": DELETE_COLUMN, "family": DELETE_FAMILY, "newest": DELETE_VERSION}
STEPS = ("put", "column", "family", "newest", "newest, put", "column, put", "add", "append", "on condition")


def put(value: bytes) -> Operation:
    return PUT, b"f", b"q", SERVER_TIME, value


def delete(name: str) -> Operation:
    return DELETES[name], b"f", b"" if name == "family" else b"q", SERVER_TIME, b""


class Row:
    """One row of one column, whose value is eight bytes that no step before had."""

    def __init__(self, tablet: Tablet, key: bytes) -> None:
        self._tablet = tablet
        self._key = key
        self._given = 0
        self._value: bytes | None = None

    def take(self, step: str) -> None:
        before = self._value
        getattr(self, f"_{step.replace(', ', '_').replace(' ', '_')}", self._delete)(step)
        found = values(self._tablet, self._key).get(b"f:q")
        if step == "newest":  # which version comes to light then is a question of times, and not the one that went
            assert found is None or found != before
            self._value = found
        assert found == self._value, step

    def _new(self) -> bytes:
        self._given += 1 << 20
        self._value = self._given.to_bytes(8, "big")
        return self._value

    def _mutate(self, *operations: Operation) -> None:
        self._tablet.mutate([RowMutation(self._key, list(operations))])

    def _put(self, step: str) -> None:
        self._mutate(put(self._new()))

    def _newest_put(self, step: str) -> None:
        self._mutate(delete("newest"), put(self._new()))

    def _column_put(self, step: str) -> None:
        self._mutate(delete("column"), put(self._new()))

    def _delete(self, step: str) -> None:
        self._mutate(delete(step))
        self._value = None

    def _add(self, step: str) -> None:
        before = int.from_bytes(self._value[:8], "big") if self._value else 0
        if self._value is not None and len(self._value) != 8:
            return
        assert self._tablet.increment(self._key, b"f", b"q", 1) == before + 1
        self._value = (before + 1).to_bytes(8, "big")

    def _append(self, step: str) -> None:
        self._tablet.append(self._key, [(b"f", b"q", b"x")])
        self._value = (self._value or b"") + b"x"

    def _on_condition(self, step: str) -> None:
        expected = self._value
        mutation = RowMutation(self._key, [delete("newest"), put(self._new())])
        assert self._tablet.check_and_mutate(self._key, b"f", b"q", expected, mutation)


@pytest.mark.parametrize("first", STEPS)
@pytest.mark.parametrize("versions", [1, 3])
def test_the_later_of_two_writes_wins(first: str, versions: int) -> None:
    schema = TableSchema(b"t", {b"f": FamilySchema(b"f", max_versions=versions)})
    bench = Bench(schema=schema)

    def main() -> None:
        tablet = bench.open()
        began = bench.runtime.wall_millis()
        for number, steps in enumerate(product(STEPS, repeat=3)):
            row = Row(tablet, b"%06d" % number)
            for step in (first, *steps):
                row.take(step)
        assert bench.runtime.wall_millis() - began < 1000

    bench.run(main)


def test_a_version_of_a_client_s_time_that_is_now() -> None:
    bench = Bench()

    def main() -> None:
        tablet = bench.open()
        now = bench.runtime.wall_millis()
        tablet.mutate([RowMutation(b"r", [(PUT, b"f", b"q", now, b"1")])])
        tablet.mutate([RowMutation(b"r", [delete("newest")])])
        tablet.mutate([RowMutation(b"r", [put(b"2")])])
        assert values(tablet, b"r") == {b"f:q": b"2"}

    bench.run(main)


def test_a_delete_behind_a_put_that_is_ahead_masks_it() -> None:
    """A delete of the newest version of another column comes between them."""
    bench = Bench()

    def main() -> None:
        tablet = bench.open()
        for kind, qualifier, value in (
            (PUT, b"c", b"c"),
            (PUT, b"a", b"a"),
            (DELETE_COLUMN, b"a", b""),
            (PUT, b"b", b"b"),
            (DELETE_VERSION, b"c", b""),
            (DELETE_COLUMN, b"b", b""),
        ):
            tablet.mutate([RowMutation(b"r", [(kind, b"f", qualifier, SERVER_TIME, value)])])
        assert values(tablet, b"r") == {}

    bench.run(main)


def test_a_version_of_the_future_moves_no_clock() -> None:
    bench = Bench()

    def main() -> None:
        tablet = bench.open()
        now = bench.runtime.wall_millis()
        tablet.mutate([RowMutation(b"r", [(PUT, b"f", b"q", now + 60_000, b"1")])])
        tablet.mutate([RowMutation(b"r", [delete("newest")])])
        tablet.mutate([RowMutation(b"r", [put(b"2")])])
        assert values(tablet, b"r") == {b"f:q": b"2"}
        assert tablet.clock_ahead_millis == 0

    bench.run(main)
