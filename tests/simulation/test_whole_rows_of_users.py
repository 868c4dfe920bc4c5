"""Deletes of whole rows by users who may write a table and not see which families it has: hbtable.connect() and the
shell name all families where they know them, and else leave that to the server."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

import hbtable
from hbtable.access.user import User
from hbtable.errors import AccessDenied
from hbtable.shell.copying.hbtable_peer import HbtablePeer
from hbtable.shell.errors import ServerError
from tests.harness.guarded_gateway import SERVICES, GuardedGateway, interface
from tests.harness.library_session import connection_over, database_over
from tests.harness.shell_session import TypedSession

pytestmark = pytest.mark.slow
CELLS = {b"f:a": b"1", b"f:b": b"2", b"g:a": b"3"}
OTHER = {b"f:a": b"other"}


class Table:
    """With two families and two rows, and a user who holds something on it."""

    def __init__(self, gateway: GuardedGateway) -> None:
        self._gateway = gateway
        self.admins = self.of("admin")
        self.admins.create_table("t", {"f": {}, "g": {}})
        self.admins.table("t").put(b"r", CELLS, timestamp=5)
        self.admins.table("t").put(b"s", OTHER, timestamp=5)

    def of(self, user: str) -> Any:
        return database_over(self.clients(user))

    def clients(self, user: str) -> Any:
        return SimpleNamespace(**{service: self._gateway.client(User(user), service) for service in SERVICES})

    def grant(self, letters: str, family: bytes = b"") -> None:
        """To ann, and nothing else."""
        given = interface("admin").AdminGrant(holder="ann", actions=letters, table=b"t", family=family)
        self.clients("admin").admin.adminGrant(given, True)

    def rows(self) -> dict[bytes, Any]:
        return dict(self.admins.table("t").scan())


@pytest.fixture
def on_a_table(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Callable[[Table], None]], None]]:
    """Runs a test with it, in virtual time."""
    # The library and the shell wait in a thread of a program of their own: what does has no mark.
    monkeypatch.setattr("hbtable.testing.simulated.scheduler.unmarked_functions", lambda *_: [])

    @contextmanager
    def started() -> Iterator[GuardedGateway]:
        gateway.start()
        yield gateway
        gateway.stop()

    def run(test: Callable[[Table], None]) -> None:
        def main() -> None:
            with started() as running:
                test(Table(running))

        gateway.runtime.run(main)

    gateway = GuardedGateway()
    return run


def batch_of_two(table: Any) -> None:
    with table.batch() as batch:
        batch.put(b"s", {b"g:new": b"n"})
        batch.delete(b"r")


WAYS: dict[str, Callable[[Any], Any]] = {
    "delete": lambda table: table.delete(b"r"),
    "delete without the log": lambda table: table.delete(b"r", wal=False),
    "delete up to a time": lambda table: table.delete(b"r", timestamp=7),
    "a batch": batch_of_two,
    "a change of a row": lambda table: table.mutate_row(b"r", hbtable.RowChanges().delete()),
}


@pytest.mark.parametrize("way", WAYS)
def test_who_may_write_a_table_deletes_whole_rows_of_it(on_a_table: Any, way: str) -> None:
    def test(table: Table) -> None:
        table.grant("W")
        WAYS[way](table.of("ann").table("t"))
        left = dict(OTHER) | ({b"g:new": b"n"} if way == "a batch" else {})
        assert table.rows() == {b"s": left}

    on_a_table(test)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("letters", "family"), [("W", b"f"), ("R", b""), ("RW", b"f"), ("X", b"")])
def test_who_may_write_a_part_of_it_is_refused_and_deletes_nothing(
    on_a_table: Any, way: str, letters: str, family: bytes
) -> None:
    def test(table: Table) -> None:
        before = table.rows()
        table.grant(letters, family)
        with pytest.raises(AccessDenied, match=r"user=ann, scope=default:t.*action=WRITE") as refused:
            WAYS[way](table.of("ann").table("t"))
        assert "family=g" not in str(refused.value).replace("family=g:new", ""), "which there are is not told"
        assert table.rows() == before

    on_a_table(test)


def test_under_a_condition_it_needs_the_right_to_read_its_column(on_a_table: Any) -> None:
    def test(table: Table) -> None:
        def attempt(value: bytes) -> bool:
            delete = hbtable.RowChanges().delete()
            return bool(table.of("ann").table("t").check_and_mutate(b"r", b"f:a", "=", value, delete))

        table.grant("W")
        with pytest.raises(AccessDenied, match="action=READ"):
            attempt(b"1")
        table.grant("RW")
        assert not attempt(b"another")
        assert len(table.rows()) == 2
        assert attempt(b"1")
        assert table.rows() == {b"s": OTHER}

    on_a_table(test)


THRIFT2 = ["deleteMultiple", "mutateRow"]


@pytest.mark.parametrize("call", ["adminMutate", "adminMutateRows", "adminCheckAndMutate", "adminMutateIf", *THRIFT2])
def test_a_small_call_does_not_become_a_huge_one(on_a_table: Any, call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each operation of some bytes is one for each family: of a hundred families a call of 1 MB took 1.7 GB."""
    monkeypatch.setattr("hbtable.client.whole_rows._MOST_NAMED", 7)

    def test(table: Table) -> None:
        admin, two = table.clients("admin").admin, table.clients("admin").thrift2
        whole = interface("admin").AdminOperation(kind=1, family=b"")
        kinds = interface("thrift2")

        def delete(number: int) -> None:
            if call == "deleteMultiple":
                two.deleteMultiple(b"t", [kinds.TDelete(row=b"%d" % n) for n in range(number)])
            elif call == "mutateRow":
                changes = [kinds.TMutation(deleteSingle=kinds.TDelete(row=b"r")) for _ in range(number)]
                two.mutateRow(b"t", kinds.TRowMutations(row=b"r", mutations=changes))
            elif call == "adminMutate":
                admin.adminMutate(b"t", b"r", [whole] * number, None)
            elif call == "adminMutateRows":
                rows = [interface("admin").AdminMutation(row=b"%d" % n, operations=[whole]) for n in range(number)]
                admin.adminMutateRows(b"t", rows)
            elif call == "adminMutateIf":
                admin.adminMutateIf(b"t", b"r", None, None, None, [whole] * number)
            else:
                admin.adminCheckAndMutate(b"t", b"r", b"f", b"a", b"1", [whole] * number)

        before = table.rows()
        with pytest.raises((interface("admin").IllegalArgument, kinds.TIOError)) as refused:
            delete(4)
        assert "more than 7 deletes of families (the table has 2): send fewer in a call" in str(refused.value)
        assert table.rows() == before
        delete(3)

    on_a_table(test)


@pytest.mark.parametrize("line", ["deleteall 't', 'r'", "deleteall 't', {ROWPREFIXFILTER => 'r'}"])
def test_in_the_shell(on_a_table: Any, line: str) -> None:
    def test(table: Table) -> None:
        table.grant("W")
        TypedSession(table.clients("ann"), "ann", (), AssertionError).typed(line)
        assert table.rows() == {b"s": OTHER}

    on_a_table(test)


_REFUSED = r"user=ann, scope=default:t, params=\[table=default:t,\],action=CREATE"
"""The server's words, with which the call stands in its audit, too."""


@pytest.mark.parametrize(
    "ask",
    [
        lambda database: database.table("t").families(),
        lambda database: database.table("t").schema(),
        lambda database: database.table("t").usage(),
        lambda database: database.alter_table("t", change={"f": {"max_versions": 7}}),
        lambda database: database.alter_table("t", drop=["nosuch"]),
    ],
    ids=["families", "schema", "usage", "a change of one", "a drop of one"],
)
def test_whoever_may_not_see_the_families_is_not_told_that_there_are_none(on_a_table: Any, ask: Any) -> None:
    def test(table: Table) -> None:
        table.grant("RW")
        with pytest.raises(AccessDenied, match=_REFUSED):
            ask(table.of("ann"))
        table.grant("C")
        assert sorted(table.of("ann").table("t").families()) == [b"f", b"g"]

    on_a_table(test)


def test_status_in_the_shell_says_so_too(on_a_table: Any) -> None:
    def test(table: Table) -> None:
        table.grant("RW")
        with pytest.raises(ServerError, match=_REFUSED):
            TypedSession(table.clients("ann"), "ann", (), AssertionError).typed("status 'families', 't'")

    on_a_table(test)


def test_a_copy_says_so_too(on_a_table: Any) -> None:
    def test(table: Table) -> None:
        table.grant("RW")
        with pytest.raises(ServerError, match=_REFUSED) as refused:
            HbtablePeer(connection_over(table.clients("ann"))).schema(b"t")
        assert refused.value.java_class.endswith("AccessDeniedException")
        assert HbtablePeer(connection_over(table.clients("admin"))).schema(b"t") is not None

    on_a_table(test)


def test_who_knows_the_families_names_them_so_that_older_servers_understand(on_a_table: Any) -> None:
    def test(table: Table) -> None:
        sent = []
        clients = table.clients("admin")
        mutate = clients.admin.adminMutateRows
        clients.admin.adminMutateRows = lambda name, rows: (sent.append(rows), mutate(name, rows))
        database_over(clients).table("t").delete(b"r")
        assert [one.family for rows in sent for row in rows for one in row.operations] == [b"f", b"g"]

    on_a_table(test)
