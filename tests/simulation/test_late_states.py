"""A change of a table's state that comes after everybody has forgotten it changes nothing any more."""

import pytest

from hbtable.encoding import table_record
from hbtable.errors import OutcomeUnknown, Unavailable
from hbtable.metadata import layout
from hbtable.model.table import TableState
from tests.harness.delegating_fake import DelegatingFake
from tests.harness.many_servers import Cluster

SPLITS = [b"row000050", b"row000100"]


@pytest.fixture
def cluster_of(machine):
    return lambda seed: Cluster(seed, machine.options)


class LateChange(DelegatingFake):
    """METADATA's tablet server. Nothing is heard of the first change of the table to `state`, until it is carried out
    after all: when the table is in the state before it once more."""

    def __init__(self, inner, state):
        super().__init__(inner)
        self._state = state
        self._late = ()
        self._before = None
        self.applied = None

    def check_and_mutate(self, *arguments):
        _, row, _, _, expected, mutation = arguments
        if row != layout.table_key(b"t"):
            return self.inner.check_and_mutate(*arguments)
        new = table_record.decode(mutation.operations[0][-1]).state
        if new is self._state and self._before is None:
            self._late, self._before = arguments, table_record.decode(expected).state
            raise OutcomeUnknown("no answer in time")
        answer = self.inner.check_and_mutate(*arguments)
        if self._late and answer and new is self._before:
            late, self._late = self._late, ()
            self.applied = self.inner.check_and_mutate(*late)
        return answer


def test_a_request_that_waited_longer_than_its_caller_is_not_begun(cluster_of, machine):
    cluster = cluster_of(2)

    def body():
        cluster.start(2)
        cluster.client.admin.create_table(machine.schema())
        tables, calls, runtime = cluster.master.tables, cluster.master.calls, cluster.master_node.runtime
        with tables.operation(b"t"):
            task = runtime.spawn(calls.disable_table, b"t", name="disable")
            cluster.runtime.sleep(40)
        task.join()
        assert isinstance(task.error, Unavailable)
        assert "nothing was begun" in str(task.error)
        assert cluster.client.catalog.read_table(b"t").state is TableState.ENABLED
        with tables.operation(b"t"):
            task = runtime.spawn(calls.disable_table, b"t", name="disable")
            cluster.runtime.sleep(15)
        task.join()
        assert cluster.client.catalog.read_table(b"t").state is TableState.DISABLED

    cluster.runtime.run(body)


@pytest.mark.parametrize("state", [TableState.DISABLING, TableState.DISABLED, TableState.ENABLING, TableState.ENABLED])
def test_a_change_that_comes_a_whole_disable_and_enable_late_is_refused(cluster_of, machine, state):
    cluster = cluster_of(1)

    def body():
        cluster.start(2)
        admin = cluster.client.admin
        admin.create_table(machine.schema(), SPLITS)
        machine.write(cluster, range(100))
        transport = cluster.transport
        owners = {record.owner for record in cluster.client.operations.every_tablet() if record.table_id == 0}
        servers = [LateChange(transport.tablet_service(owner), state) for owner in sorted(owners)]
        for owner, server in zip(sorted(owners), servers, strict=True):
            transport.register_server(owner, server, transport.tablet_admin(owner))
        for _ in range(2):
            admin.disable_table(b"t")
            cluster.runtime.sleep(10)
            assert cluster.client.catalog.read_table(b"t").state is TableState.DISABLED
            admin.enable_table(b"t")
            cluster.runtime.sleep(10)
            assert cluster.client.catalog.read_table(b"t").state is TableState.ENABLED
            assert machine.contents(cluster) == machine.expected(range(100))
        # One of them has the table's row.
        assert {server.applied for server in servers} <= {None, False}
        assert any(server.applied is False for server in servers)

    cluster.runtime.run(body)
