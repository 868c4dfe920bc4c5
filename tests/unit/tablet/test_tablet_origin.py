"""Each SSTable says where it comes from, so that METADATA can be made anew from the files alone."""

from hbtable.encoding import table_record
from hbtable.sstable.cache import BlockCache
from hbtable.sstable.properties import SSTableIdentity
from hbtable.sstable.reader import SSTableReader
from hbtable.tablet.tablet import Tablet
from tests.harness.tablet_bench import Bench, delete, put


def identities(bench: Bench, tablet: Tablet) -> dict[str, list[SSTableIdentity]]:
    """By stack, in the order of the record."""
    found: dict[str, list[SSTableIdentity]] = {}
    for key, refs in tablet.record.files:
        for ref in refs:
            file = bench.fs.open(ref.path)
            reader = SSTableReader.open(file.read_at, ref.path, ref.length_bytes, BlockCache(0))
            found.setdefault(key, []).append(reader.properties.identity)
            file.close()
    return found


def test_a_flush_says_rows_schema_and_up_to_where_it_is_complete(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"r", b"f:a", b"1"), put(b"r", b"g:", b"2"), put(b"s", b"g:", b"3")])
        tablet.flush()
        for found in identities(bench, tablet).values():
            (origin,) = [identity.origin for identity in found]
            assert origin is not None
            # also in the file of f, whose last cell has sequence 1: nothing of f is left in the log up to here
            assert origin.complete_to == tablet.record.logs[0].first_needed - 1 == 3
            assert (origin.start, origin.stop) == (tablet.record.range.start, tablet.record.range.stop)
            record = table_record.decode(origin.table)
            assert (record.table_id, record.schema) == (tablet.record.table_id, tablet.schema)

    bench.run(main)


def test_a_compaction_stays_complete_up_to_where_its_inputs_were(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"q", b"f:a", b"1"), put(b"r", b"f:a", b"1")])
        tablet.flush()
        tablet.mutate([delete(b"r", b"f")])
        tablet.flush()
        tablet.compact(True)
        (identity,) = identities(bench, tablet)["f"]
        assert identity.origin is not None
        assert identity.origin.complete_to == 3  # its own last sequence is 1: the marker is gone

    bench.run(main)
