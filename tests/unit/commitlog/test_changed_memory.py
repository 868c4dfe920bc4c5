"""Records that change in memory while they wait for the log: refused, never written, and the log goes on."""

import pytest

from hbtable.commitlog.queue import CommitBatch
from hbtable.crc32 import crc32
from hbtable.errors import MemoryDamaged
from hbtable.fs.interface import HDFS, LOCAL, WEBHDFS
from tests.harness.cluster_log import ClusterLog
from tests.harness.planted_bugs import is_found


def changed(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


@pytest.mark.parametrize("kind", [LOCAL, HDFS, WEBHDFS])
def test_records_that_changed_while_they_waited_are_refused(kind: str, monkeypatch) -> None:
    bench = ClusterLog(kind)
    real = CommitBatch.payload

    def spoilt(batch: CommitBatch) -> bytes:
        if batch.tablets.get(7) == 5:
            batch.payloads[-1] = changed(batch.payloads[-1])
        return real(batch)

    monkeypatch.setattr(CommitBatch, "payload", spoilt)

    def main() -> None:
        log = bench.open()
        for sequence in range(1, 5):
            bench.commit(log, 7, sequence)
        with pytest.raises(MemoryDamaged, match="none of them was written"):
            bench.commit(log, 7, 5)
        bench.commit(log, 7, 6)
        tasks = [bench.begin(log, tablet, 1) for tablet in range(20)]
        for task in tasks:
            task.join()
        log.close()
        assert (7, 5) not in bench.applied
        assert bench.applied == bench.written() == [one for one in bench.called if one != (7, 5)]

    bench.run(main)


@pytest.mark.parametrize("kind", [LOCAL, HDFS, WEBHDFS])
def test_large_records_whose_checksum_came_along_are_refused_as_well(kind: str, monkeypatch, record_of) -> None:
    """Its sender computed it with pauses, the log of a local disk looks at it in a thread."""
    bench = ClusterLog(kind)
    large = record_of(7, 2, bytes(5 << 20))
    real = CommitBatch.payload
    spoils = [True]

    def spoilt(batch: CommitBatch) -> bytes:
        if batch.size_bytes > len(large) // 2 and spoils:
            spoils.clear()
            batch.payloads[0] = changed(batch.payloads[0])
        return real(batch)

    monkeypatch.setattr(CommitBatch, "payload", spoilt)

    def main() -> None:
        log = bench.open()
        bench.commit(log, 7, 1)
        applied: list[int] = []
        with pytest.raises(MemoryDamaged, match="none of them was written"):
            log.commit(7, 2, large, lambda: applied.append(0), checksum=crc32(large))
        log.commit(7, 2, large, lambda: applied.append(2), checksum=crc32(large))
        with pytest.raises(MemoryDamaged):
            log.commit(7, 3, record_of(7, 3), lambda: applied.append(3), checksum=1)
        log.close()
        assert applied == [2]
        assert bench.written() == [(7, 1), (7, 2)]

    bench.run(main)


@pytest.mark.parametrize("kind", [LOCAL, HDFS, WEBHDFS])
def test_the_planted_bug_is_found(kind: str) -> None:
    def check() -> None:
        with pytest.MonkeyPatch.context() as patches:
            test_records_that_changed_while_they_waited_are_refused(kind, patches)

    is_found("reused", check)
