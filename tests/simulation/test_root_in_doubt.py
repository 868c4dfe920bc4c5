"""A change of the root tablet's record that reached its copy alone, because the lock service did not answer."""

import pytest

from hbtable.errors import HbtableError, Unavailable
from hbtable.metadata import layout
from hbtable.model.tablet import METADATA_TABLE_ID, ROOT_TABLET_ID
from tests.harness.delegating_fake import DelegatingFake
from tests.harness.many_servers import Cluster
from tests.harness.tiers import quick_first

SPLITS = [b"row000%03d" % n for n in range(50, 300, 50)]


class CutOff(DelegatingFake):
    """A session whose lock service does not hear of changes of the root's record, once `cut` names its server."""

    def __init__(self, inner, cut):
        super().__init__(inner)
        self._cut = cut

    def write(self, path, data, expected_version):
        if self._cut and path == layout.ROOT_PATH:
            raise Unavailable("the lock service cannot be reached")
        return self.inner.write(path, data, expected_version)


@pytest.mark.parametrize("seed", quick_first(range(3), 1))
def test_what_the_copy_names_is_there_for_the_next_owner(machine, seed):
    cut = []

    def with_cut(catalog):
        catalog._session = CutOff(catalog._session, cut)
        return catalog

    cluster = Cluster(40 + seed, machine.options, with_cut)

    def flush(role):
        try:
            role.admin.flush(ROOT_TABLET_ID)
        except HbtableError:
            pass  # nobody has promised that it is done

    def body():
        cluster.start(2)
        cluster.client.admin.create_table(machine.schema(), SPLITS)
        machine.write(cluster, range(300))
        owner = cluster.client.catalog.read_root().owner
        node, role = cluster.servers[owner]
        cut.append(owner)
        node.runtime.spawn(flush, role, name="flush")
        cluster.runtime.sleep(1)
        cluster.kill_server(owner)
        cut.clear()
        cluster.runtime.sleep(5)
        assert cluster.client.catalog.read_root().owner not in ("", owner)
        assert cluster.client.catalog.read_root().files, "the flush was taken over"
        assert [tablet.tablet_id for tablet in cluster.client.catalog.tablet_rows(METADATA_TABLE_ID)] == [1, 2]
        assert machine.contents(cluster) == machine.expected(range(300))

    cluster.runtime.run(body)
