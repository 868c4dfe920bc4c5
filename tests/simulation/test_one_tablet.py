"""flush, compact, major_compact and split of one tablet leave its neighbours alone."""

import pytest

from hbtable.errors import InvalidRequest
from tests.harness.many_servers import Cluster


@pytest.fixture
def cluster_of(machine):
    return lambda seed: Cluster(seed, machine.options)


def statuses(cluster):
    found = [one for each in cluster.client.admin.statuses(cluster.servers).values() for one in each]
    by_id = {status.record.tablet_id: status for status in found}
    return [by_id[record.tablet_id] for record in cluster.client.admin.tablets(b"t")]


def test_one_tablet_is_flushed_compacted_and_split(cluster_of, machine):
    cluster = cluster_of(1)

    def body():
        cluster.start(2)
        admin = cluster.client.admin
        admin.create_table(machine.schema(), [b"row000100"])
        machine.write(cluster, range(50, 150))
        left, right = admin.tablets(b"t")
        for _ in range(2):
            admin.flush(b"t", left.tablet_id)
            machine.write(cluster, range(50, 150), b"again")
        admin.flush(b"t", left.tablet_id)
        first, second = statuses(cluster)
        assert first.memtable_bytes == 0 < first.sstables
        assert second.memtable_bytes > 0 == second.sstables
        admin.flush(b"t")
        machine.write(cluster, range(50, 150), b"more")
        admin.flush(b"t")
        admin.major_compact(b"t", right.tablet_id)
        first, second = statuses(cluster)
        assert second.sstables < first.sstables
        with pytest.raises(InvalidRequest, match="has no tablet 77"):
            admin.compact(b"t", 77)
        with pytest.raises(InvalidRequest, match="lies outside"):
            admin.split(b"t", b"row000010", right.tablet_id)
        assert admin.split(b"t", None, right.tablet_id)
        assert [one.range.start for one in admin.tablets(b"t")][:2] == [b"", b"row000100"]
        assert len(admin.tablets(b"t")) == 3
        assert machine.contents(cluster) == machine.expected(range(50, 150), b"more")

    cluster.runtime.run(body)
