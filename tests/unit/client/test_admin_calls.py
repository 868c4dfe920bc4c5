"""Administration through one client: delegated to the master, seen at once, carried out on every tablet."""

import pytest

from hbtable.errors import LockLost, StaleLocation, TableExists, TableNotEnabled, TableNotFound, Unavailable
from hbtable.model.ranges import RowRange
from hbtable.model.schema import TableSchema
from hbtable.model.table import TableState
from hbtable.model.tablet import TabletRecord


class Master:
    def __init__(self, cluster):
        self.cluster = cluster
        self.made = {}
        self.asked = []

    def create_table(self, schema, split_rows=(), creator=""):
        self.asked.append(("create", schema.name, tuple(split_rows)))
        if schema.name in self.made:
            raise TableExists(schema.name.decode())
        self.made[schema.name] = self.cluster.put_table(schema.name, splits=split_rows)

    def delete_table(self, name):
        self.cluster.drop_table(*self.made.pop(name))

    def disable_table(self, name):
        self.cluster.set_state(*self.made[name], TableState.DISABLED)

    def enable_table(self, name):
        self.cluster.set_state(*self.made[name], TableState.ENABLED)

    def alter_table(self, schema):
        self.asked.append(("alter", schema.name, schema.version))


@pytest.fixture
def master(cluster):
    master = Master(cluster)
    cluster.transport.register_master(master)
    return master


def test_changes_are_seen_by_the_next_call(client, put, master):
    table = client.table(b"t")
    for _ in range(2):
        client.admin.create_table(TableSchema(b"default:t"), [b"g"])
        assert master.asked[-1] == ("create", b"t", (b"g",))
        table.mutate([put(b"a"), put(b"z")])
        with pytest.raises(TableExists):
            client.admin.create_table(TableSchema(b"t"))
        client.admin.disable_table(b"t")
        assert not client.admin.is_enabled(b"t")
        with pytest.raises(TableNotEnabled):
            table.mutate([put(b"a")])
        client.admin.enable_table(b"t")
        table.mutate([put(b"a")])
        client.admin.delete_table(b"t")
        assert not client.admin.exists(b"t")
        with pytest.raises(TableNotFound):
            table.mutate([put(b"a")])
    client.admin.alter_table(TableSchema(b"t", version=7))
    assert master.asked[-1] == ("alter", b"t", 7)


def test_a_change_drops_what_the_client_knew(cluster, client, put, master):
    client.admin.create_table(TableSchema(b"t"))
    client.table(b"t").mutate([put(b"a")])
    client.admin.disable_table(b"t")
    cluster.calls()
    with pytest.raises(TableNotEnabled):
        client.table(b"t").mutate([put(b"a")])
    assert [name for name, _ in cluster.calls()] == ["read_rows"]  # the table's record; no tablet was tried


def test_a_master_that_comes_back_is_waited_for(cluster, client):
    cluster.runtime.spawn(lambda: (cluster.runtime.sleep(3), cluster.transport.register_master(Master(cluster))))
    client.admin.create_table(TableSchema(b"t"))
    assert 3 <= cluster.runtime.now < 5


def test_a_refusal_of_what_no_master_has_heard_of_is_told(cluster, client):
    """Once a master has put a call off, its refusal when it is repeated says that it was done meanwhile. Before that it
    says what it says: the table was never there."""
    answers = [None, StaleLocation("the connection was refused"), TableNotFound("t")]

    class Later:
        def delete_table(self, name):
            raise answers.pop(0)

    def found():
        if answers[0] is None:
            answers.pop(0)
            raise Unavailable("there is no master")
        return Later()

    cluster.transport.master = found
    with pytest.raises(TableNotFound):
        client.admin.delete_table(b"t")
    answers[:] = [Unavailable("a server cannot be reached"), TableNotFound("t")]
    client.admin.delete_table(b"t")


def test_a_refusal_in_another_state_than_the_one_asked_for_is_told(cluster, client):
    """A table that is being enabled is refused as not enabled, and that is not what the operator asked for."""
    made = cluster.put_table(b"t")
    refusals = []

    class Master:
        def disable_table(self, name):
            refusals.append(name)
            raise Unavailable("another operation holds it") if len(refusals) % 2 else TableNotEnabled("t")

    cluster.transport.register_master(Master())
    for state in (TableState.ENABLING, TableState.ENABLED, TableState.DISABLING):
        cluster.set_state(*made, state)
        with pytest.raises(TableNotEnabled):
            client.admin.disable_table(b"t")
    cluster.set_state(*made, TableState.DISABLED)
    client.admin.disable_table(b"t")


def test_a_master_that_stays_away_is_reported(cluster, client):
    with pytest.raises(
        Unavailable, match=r"the master gave no answer after \d+ tries in 60 seconds: there is no master"
    ):
        client.admin.create_table(TableSchema(b"t"))


def test_a_process_that_lost_its_own_lock_looks_for_no_master(cluster, client):
    cluster.session.alive = False
    with pytest.raises(LockLost, match="this process lost its lock and has to stop; the last answer was: there is no"):
        client.admin.create_table(TableSchema(b"t"))
    assert not cluster.runtime.now


def test_a_process_that_lost_its_own_lock_tries_no_tablet_again(cluster, client):
    cluster.put_table(b"t")
    flushed = []

    def refuse(method, tablet_id):
        if method == "flush":
            flushed.append(tablet_id)
            cluster.session.alive = False
            raise Unavailable("not now")

    cluster.servers["s0"].before = refuse
    with pytest.raises(LockLost, match="this process lost its lock and has to stop; the last answer was: not now"):
        client.admin.flush(b"t")
    assert len(flushed) == 1


def test_names_are_those_of_user_tables_in_order(cluster, client):
    for name in (b"z", b"ns:a", b"hbase:x", b"a"):
        cluster.put_table(name)
    cluster.put_table(b"off", state=TableState.DISABLED)
    cluster.put_table(b"half", state=TableState.CREATING)
    cluster.put_table(b"gone", state=TableState.DELETING)
    assert client.names() == [b"a", b"ns:a", b"off", b"z"]
    assert [record.state is TableState.ENABLED for record in client.admin.tables()] == [True, True, False, True]
    assert client.admin.schema(b"default:a").name == b"a"
    with pytest.raises(TableNotFound, match=r"^gone$"):
        client.admin.schema(b"gone")


def test_tablets_are_listed_also_of_a_disabled_table(cluster, client):
    table, tablets = cluster.put_table(b"t", splits=(b"g",))
    assert client.admin.tablets(b"t") == tablets
    off = cluster.set_state(table, tablets, TableState.DISABLED)
    assert client.admin.tablets(b"t") == off
    with pytest.raises(TableNotFound):
        client.admin.tablets(b"missing")


def test_work_reaches_every_tablet(cluster, client):
    cluster.put_table(b"t", splits=(b"g", b"p"))
    for call, name in (
        (client.admin.flush, "flush"),
        (client.admin.compact, "compact"),
        (client.admin.major_compact, "major"),
    ):
        cluster.calls()
        call(b"t")
        assert sorted(made for made in cluster.calls() if made[0] == name) == [(name, 100), (name, 101), (name, 102)]
    assert client.admin.split(b"t")
    cluster.calls()
    assert client.admin.split(b"t", b"h")
    assert [made for made in cluster.calls() if made[0] == "split"] == [("split", 101)]


def test_a_disabled_table_cannot_be_flushed_or_split_and_compacting_it_is_nothing(cluster, client):
    table, tablets = cluster.put_table(b"t")
    cluster.set_state(table, tablets, TableState.DISABLED)
    client.admin.compact(b"t")
    client.admin.major_compact(b"t")
    for call in (client.admin.flush, client.admin.split):
        with pytest.raises(TableNotEnabled, match=r"^t is disabled.$"):
            call(b"t")


def test_a_tablet_that_split_since_it_was_listed_is_done_in_both_parts(cluster, client):
    cluster.put_table(b"t", splits=(b"m",))

    def split(method, tablet_id):
        if method == "flush" and tablet_id == 100:
            cluster.servers["s0"].tablets.pop(100, None)
            cluster.serve(TabletRecord(16, 300, RowRange(b"", b"g"), 1), "s1")
            cluster.serve(TabletRecord(16, 301, RowRange(b"g", b"m"), 1), "s1")
            raise StaleLocation("split")

    cluster.servers["s0"].before = split
    client.admin.flush(b"t")
    flushed = {made[1] for made in cluster.calls() if made[0] == "flush"}
    assert flushed == {100, 101, 300, 301}


def test_a_split_by_row_stays_with_the_tablet_of_that_row_when_it_split_meanwhile(cluster, client):
    cluster.put_table(b"t", splits=(b"m",))

    def split(method, tablet_id):
        if method == "split" and tablet_id == 100:
            cluster.servers["s0"].tablets.pop(100, None)
            cluster.serve(TabletRecord(16, 300, RowRange(b"", b"g"), 1), "s1")
            cluster.serve(TabletRecord(16, 301, RowRange(b"g", b"m"), 1), "s1")
            raise StaleLocation("split")

    cluster.servers["s0"].before = split
    assert client.admin.split(b"t", b"c")
    assert {made[1] for made in cluster.calls() if made[0] == "split"} == {100, 300}
