"""Puts of Thrift2 whose outcome is unknown may be sent again, deletes may not: as Thrift1's."""

from collections.abc import Callable
from typing import Any

import pytest

from hbtable.errors import OutcomeUnknown
from hbtable.hbase.codec.thrift2_structs import TColumnValue, TDelete, TMutation, TPut, TRowMutations
from hbtable.hbase.errors import DO_NOT_RETRY, PLAIN, declared
from hbtable.hbase.thrift2.writes import Thrift2WriteCalls


class Dying:
    """A table whose server dies with each call in its hands."""

    def named(self, name: bytes) -> "Dying":
        return self

    def canonical(self, name: bytes) -> bytes:
        return name

    def check_mutations(self, name: bytes, mutations: Any) -> None: ...
    def check_whole_rows(self, name: bytes, families: Any) -> None: ...

    def mutate(self, mutations: Any) -> None:
        raise OutcomeUnknown("s at h:1 gave no answer to mutate")


def a_put(row: bytes, *qualifiers: bytes) -> TPut:
    return TPut(row, [TColumnValue(b"f", qualifier, b"v") for qualifier in qualifiers])


@pytest.mark.parametrize(
    ("call", "again"),
    [
        (lambda calls: calls.put(b"t", a_put(b"r", b"a")), True),
        (lambda calls: calls.putMultiple(b"t", [a_put(b"r", b"a"), a_put(b"s", b"a")]), True),
        (lambda calls: calls.putMultiple(b"t", [a_put(b"r", b"a", b"b"), a_put(b"s", b"c")]), True),
        (lambda calls: calls.mutateRow(b"t", TRowMutations(b"r", [TMutation(a_put(b"r", b"a"), None)])), True),
        (lambda calls: calls.mutateRow(b"t", TRowMutations(b"r", [TMutation(None, TDelete(b"r"))])), False),
        (lambda calls: calls.deleteSingle(b"t", TDelete(b"r")), False),
        (lambda calls: calls.deleteMultiple(b"t", [TDelete(b"r"), TDelete(b"s")]), False),
    ],
    ids=["put", "one column", "columns", "mutateRow", "mutateRow deletes", "delete", "deletes"],
)
def test_puts_alone_may_be_sent_again(call: Callable[[Thrift2WriteCalls], None], again: bool) -> None:
    tables: Any = Dying()
    calls = Thrift2WriteCalls(tables, lambda name: [b"f"], 1 << 20, 1 << 20, lambda: None)
    with pytest.raises(OutcomeUnknown) as failed:
        call(calls)
    told = declared(failed.value, {"io": 1})
    assert told.message.startswith(f"{PLAIN if again else DO_NOT_RETRY}: s at h:1 gave no answer to mutate")
    assert ("may be sent again" in told.message, told.can_retry) == (again, again)
