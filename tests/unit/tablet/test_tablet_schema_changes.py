"""A tablet's schema changes while cells wait in its memtables and in its log."""

import logging
from dataclasses import replace

import pytest

from hbtable.errors import InvalidRequest
from hbtable.model.schema import READ_ONLY, FamilySchema, TableSchema
from tests.harness.tablet_bench import Bench, put, values

F, G = FamilySchema(b"f"), FamilySchema(b"g")
BOTH = TableSchema(b"t", {b"f": F, b"g": G})


def test_the_log_is_replayed_into_a_table_that_is_read_only():
    bench = Bench(durability="sync", schema=BOTH)

    def main():
        tablet = bench.open()
        tablet.mutate([put(b"r", b"f:q", b"v")])
        bench.crash()
        bench.schema = replace(BOTH, version=2, attributes=(READ_ONLY,))
        tablet = bench.open()
        assert values(tablet, b"r") == {b"f:q": b"v"}
        with pytest.raises(InvalidRequest, match="table t is read only"):
            tablet.mutate([put(b"r", b"f:q", b"w")])

    bench.run(main)


def test_what_the_log_holds_of_a_dropped_family_is_left_out_and_that_is_said(caplog):
    bench = Bench(durability="sync", schema=BOTH)

    def main():
        tablet = bench.open()
        tablet.mutate([put(b"r", b"f:q", b"v"), put(b"r", b"g:q", b"v"), put(b"s", b"g:q", b"v")])
        bench.crash()
        bench.schema = replace(BOTH, version=2, families={b"f": F})
        with caplog.at_level(logging.WARNING):
            tablet = bench.open()
        assert values(tablet, b"r") == {b"f:q": b"v"}

    bench.run(main)
    [message] = [record.getMessage() for record in caplog.records]
    assert message == (
        "tablet 20 of table t: cells from the log were left out, because their column families were dropped: 2 of g"
    )
