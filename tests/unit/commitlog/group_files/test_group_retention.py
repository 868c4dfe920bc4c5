"""Files of a log in whole files go by spans, oldest first, and never before a durable group says so."""

import pytest

from hbtable.commitlog.group_files.retention import GroupRetention
from hbtable.commitlog.ledger import SegmentLedger
from hbtable.errors import Unavailable

SPAN = 256
"""Groups that go together."""


@pytest.fixture
def ledger() -> SegmentLedger:
    return SegmentLedger()


@pytest.fixture
def retention(bench, ledger) -> GroupRetention:
    return GroupRetention(bench.runtime, bench.fs, ledger)


def _write(bench, ledger, retention, lsns: range) -> None:
    for lsn in lsns:
        path = f"{bench.folder}/{lsn:010d}.0.1.grp"
        bench.memory.write_file(path, b"x")
        retention.tried(lsn, path)
        ledger.active[1] = lsn
        retention.acknowledged(lsn, 1)


def test_recovery_begins_with_the_first_span_that_a_tablet_needs(bench, ledger, retention) -> None:
    def main() -> None:
        _write(bench, ledger, retention, range(1, 3 * SPAN + 1))
        assert not retention.advance()
        ledger.needed(1, SPAN + 1)
        assert retention.advance()
        assert retention.oldest == SPAN + 1
        assert not retention.advance()
        assert len(bench.segments()) == 3 * SPAN  # until the group that says so is durable
        retention.delete_before(retention.oldest)
        bench.runtime.sleep(20)
        assert bench.segments() == [f"{lsn:010d}.0.1.grp" for lsn in range(SPAN + 1, 3 * SPAN + 1)]

    bench.run(main)


def test_small_files_count_as_what_reading_them_costs(bench, ledger, retention) -> None:
    def main() -> None:
        _write(bench, ledger, retention, range(1, SPAN + 11))
        assert retention.size_bytes == (SPAN + 10) * 65536
        ledger.forget(1)
        retention.advance()
        assert retention.size_bytes == 10 * 65536

    bench.run(main)


def test_what_cannot_be_deleted_or_is_gone_stops_no_other(bench, ledger, retention) -> None:
    def main() -> None:
        _write(bench, ledger, retention, range(1, SPAN + 1))
        bench.memory.delete(f"{bench.folder}/0000000002.0.1.grp")
        bench.fs.delete_errors.append(Unavailable("not now"))
        retention.delete_before(SPAN + 1)
        bench.runtime.sleep(20)
        assert bench.segments() == ["0000000001.0.1.grp"]

    bench.run(main)
