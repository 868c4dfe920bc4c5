"""hbtable.connect(route=True): each call goes to the server that has its row; where that fails, by another way, and no
write twice."""

import random
import threading
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hbtable.errors import AccessDenied, HbtableError, OutcomeUnknown, TableNotFound, Unavailable
from hbtable.hbase.admin.structs import AdminPosition, AdminScan
from hbtable.library.refusals import translated
from hbtable.library.routed_calls import RoutedCalls
from hbtable.library.server_calls import READS
from hbtable.shell.errors import BrokenOff, CannotConnect

HOME, FIRST, SECOND = ("home", 1), ("first", 1), ("second", 2)


class Server:
    """One server's calls: remembers them, and fails when told."""

    def __init__(self, world: "World", address: tuple[str, int]) -> None:
        self.world = world
        self.address = address
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self.breaks: CannotConnect | None = None
        self.closed = False

    def admin(self, method: str, *arguments: Any) -> Any:
        self.open(method)
        self.calls.append((method, arguments))
        if isinstance(self.breaks, BrokenOff):
            raise translated(self.breaks, method in READS) from self.breaks
        return self.world.answer(self, method, arguments)

    hbase = admin

    def struct(self, name: str, **fields: Any) -> Any:
        self.open("struct")
        return SimpleNamespace(**fields)

    def open(self, method: str = "open") -> None:
        if self.breaks is not None and not isinstance(self.breaks, BrokenOff):
            raise translated(self.breaks, method in READS) from self.breaks

    def close(self) -> None:
        self.closed = True

    def names(self) -> list[str]:
        return [method for method, _ in self.calls if method != "getTableRegions"]


class World:
    """Rows before m are the first server's, the others the second's; the program came to a third one."""

    def __init__(self) -> None:
        self.regions: Any = [(b"", FIRST), (b"m", SECOND)]
        self.servers = {address: Server(self, address) for address in (HOME, FIRST, SECOND)}
        self.db = RoutedCalls(cast("Any", self.servers[HOME]), HOME, self.connect, threading.Lock())
        self.connected: list[tuple[str, int]] = []

    def connect(self, address: tuple[str, int]) -> Any:
        self.connected.append(address)
        return self.servers[address]

    def answer(self, server: Server, method: str, arguments: tuple[Any, ...]) -> Any:
        if method == "getTableRegions":
            if isinstance(self.regions, HbtableError):
                raise self.regions
            return [
                SimpleNamespace(startKey=start, serverName=host.encode(), port=port)
                for start, (host, port) in self.regions
            ]
        if method == "getRowsWithColumnsTs":
            return [SimpleNamespace(row=row, by=server.address) for row in arguments[1] if not row.startswith(b"none")]
        return server.address


def batch(*rows: bytes) -> list[Any]:
    return [SimpleNamespace(row=row) for row in rows]


def test_a_call_of_one_row_goes_to_its_owner_and_the_rest_where_the_program_connected() -> None:
    world = World()
    for row, owner in (b"a", FIRST), (b"lzz", FIRST), (b"m", SECOND), (b"z", SECOND):
        assert world.db.admin("adminGet", b"t", row, None) == owner
        assert world.db.hbase("atomicIncrement", b"t", row, b"f:c", 1) == owner
        assert world.db.admin("adminCheckAndMutate", b"t", row, b"f", b"q", b"", []) == owner
        assert world.db.hbase("append", world.db.struct("TAppend", table=b"t", row=row)) == owner
        assert world.db.admin("adminScan", b"t", AdminScan(start_row=row)) == owner
        assert world.db.admin("adminScan", b"t", AdminScan(position=AdminPosition(row))) == owner
    assert world.db.admin("adminScan", b"t", AdminScan(reversed=True)) == SECOND
    assert world.db.admin("adminScan", b"t", AdminScan(stop_row=b"c", reversed=True)) == FIRST
    assert world.db.admin("adminTables") == HOME
    assert sorted(world.connected) == [FIRST, SECOND]
    assert [method for method, _ in world.servers[HOME].calls].count("getTableRegions") == 1


def test_several_rows_are_divided_in_their_order_and_answered_in_that_of_the_question() -> None:
    world = World()
    rows = [b"z", b"a", b"none", b"z", b"b", b"m"]
    found = world.db.hbase("getRowsWithColumnsTs", b"t", rows, None, 5, {})
    assert [one.row for one in found] == [b"z", b"a", b"z", b"b", b"m"]
    assert {one.row: one.by for one in found} == {b"z": SECOND, b"a": FIRST, b"b": FIRST, b"m": SECOND}
    world.db.admin("adminMutateRows", b"t", batch(b"z", b"a", b"y", b"b", b"z"))
    world.db.hbase("mutateRowsTs", b"t", batch(b"a"), 7, {})
    written = {one: [call for call in world.servers[one].calls if "utate" in call[0]] for one in (FIRST, SECOND)}
    assert written[SECOND] == [("adminMutateRows", (b"t", batch(b"z", b"y", b"z")))]
    mine = [("adminMutateRows", (b"t", batch(b"a", b"b"))), ("mutateRowsTs", (b"t", batch(b"a"), 7, {}))]
    assert written[FIRST] == mine


def test_the_changes_of_a_row_stay_in_their_order_though_its_owner_is_found_gone_meanwhile() -> None:
    world = World()
    world.db.admin("adminGet", b"t", b"a", None)
    routes = world.db._routes
    routes.avoid(SECOND)
    routes.avoid(FIRST)
    routes._avoided[FIRST] = 1  # it is asked again after the first row
    rows = batch(b"z", b"a", b"a")
    world.db.admin("adminMutateRows", b"t", rows)
    of_a = [
        [one.row for one in arguments[1]].count(b"a")
        for server in world.servers.values()
        for method, arguments in server.calls
        if method == "adminMutateRows"
    ]
    assert sorted(of_a)[-1] == 2, "both in one call"


@pytest.mark.parametrize(
    ("breaks", "method", "goes_on"),
    [
        (CannotConnect("refused"), "adminGet", True),
        (CannotConnect("refused"), "atomicIncrement", True),
        (BrokenOff("broke"), "adminGet", True),
        (BrokenOff("broke"), "atomicIncrement", False),
        (BrokenOff("silent", timed_out=True), "adminGet", False),
    ],
)
def test_what_was_not_begun_or_reads_goes_around_a_server_that_is_gone(
    breaks: CannotConnect, method: str, goes_on: bool
) -> None:
    world = World()
    world.servers[FIRST].breaks = breaks
    if goes_on:
        assert world.db.admin(method, b"t", b"a", None) == HOME
    else:
        with pytest.raises(Unavailable if method in READS else OutcomeUnknown):
            world.db.admin(method, b"t", b"a", None)
        assert world.servers[HOME].names() == []
    before = len(world.servers[FIRST].calls)
    assert world.db.admin(method, b"t", b"a", None) == HOME
    assert len(world.servers[FIRST].calls) == before, "it is gone around"


def test_errors_of_the_owner_are_the_callers() -> None:
    world = World()

    def refuse(*_: Any) -> Any:
        raise TableNotFound("t")

    world.servers[FIRST].admin = refuse  # type: ignore[method-assign]
    with pytest.raises(TableNotFound):
        world.db.admin("adminGet", b"t", b"a", None)
    assert world.servers[HOME].names() == []


def test_another_server_takes_the_place_of_the_first_one_and_not_in_the_middle_of_a_call() -> None:
    world = World()
    world.db.admin("adminGet", b"t", b"a", None)
    home = world.servers[HOME]
    home.breaks = BrokenOff("broke")
    with pytest.raises(OutcomeUnknown):
        world.db.admin("adminCreateTable", b"u")
    home.breaks = CannotConnect("refused")
    assert world.db.admin("adminCreateTable", b"u") == FIRST
    home.breaks = None
    assert world.db.admin("adminTables") == FIRST, "it stays there"
    world.servers[FIRST].breaks = world.servers[SECOND].breaks = CannotConnect("refused")
    with pytest.raises(Unavailable):
        world.db.admin("adminTables")


@pytest.mark.parametrize("error", [AccessDenied("no"), Unavailable("METADATA is not served")])
def test_who_is_not_told_of_owners_is_served_as_without(error: HbtableError) -> None:
    world = World()
    world.regions = error
    for _ in range(3):
        assert world.db.admin("adminGet", b"t", b"a", None) == HOME
    asked = [method for method, _ in world.servers[HOME].calls].count("getTableRegions")
    assert asked == (1 if isinstance(error, AccessDenied) else 3)


def test_a_table_that_is_changed_is_learned_anew() -> None:
    world = World()
    assert world.db.admin("adminGet", b"t", b"a", None) == FIRST
    world.regions = [(b"", SECOND)]
    assert world.db.admin("adminGet", b"t", b"a", None) == FIRST, "which passes it on"
    world.db.admin("adminSplit", b"t", b"c")
    assert world.db.admin("adminGet", b"t", b"a", None) == SECOND


def test_closing_closes_them_all() -> None:
    world = World()
    world.db.admin("adminMutateRows", b"t", batch(b"a", b"z"))
    world.db.close()
    assert all(server.closed for server in world.servers.values())


def test_threads_that_meet_make_one_connection_for_each_server() -> None:
    world = World()

    def work(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(200):
            row = chance.choice([b"a", b"z"])
            assert world.db.admin("adminGet", b"t", row, None) == (FIRST if row == b"a" else SECOND)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(world.connected) == [FIRST, SECOND]


def test_a_table_that_is_forgotten_while_its_regions_are_asked_for_is_asked_for_again() -> None:
    """What was told may be of before the change."""
    world = World()
    answer = world.answer

    def answer_late(server: Server, method: str, arguments: tuple[Any, ...]) -> Any:
        found = answer(server, method, arguments)
        if method == "getTableRegions" and world.regions[0][1] == FIRST:
            world.regions = [(b"", SECOND)]
            world.db.admin("adminSplit", b"t", b"c")
        return found

    world.answer = answer_late  # type: ignore[method-assign]
    assert world.db.admin("adminGet", b"t", b"a", None) == FIRST
    assert world.db.admin("adminGet", b"t", b"a", None) == SECOND


def test_a_table_that_is_forgotten_while_another_thread_counts_its_call_stays_forgotten() -> None:
    world = World()
    world.db.admin("adminGet", b"t", b"a", None)
    routes = world.db._routes
    threads: list[threading.Thread] = []

    class Interrupted(dict[bytes, int]):
        """Another thread forgets the table right after it was looked up."""

        def get(self, key: bytes, default: Any = None) -> Any:
            found = super().get(key, default)
            threads.append(threading.Thread(target=routes.forget, args=(key,)))
            threads[-1].start()
            threads[-1].join(0.1)
            return found

    routes._calls_left = Interrupted(routes._calls_left)
    world.db.admin("adminGet", b"t", b"a", None)
    for thread in threads:
        thread.join()
    assert b"t" not in dict(routes._calls_left)


def test_one_thread_asks_for_the_regions_and_the_others_go_by_what_is_known() -> None:
    world = World()
    asked, told = threading.Event(), threading.Event()
    answer = world.answer

    def wait(server: Server, method: str, arguments: tuple[Any, ...]) -> Any:
        if method == "getTableRegions":
            asked.set()
            assert told.wait(60)
        return answer(server, method, arguments)

    world.answer = wait  # type: ignore[method-assign]
    first = threading.Thread(target=world.db.admin, args=("adminGet", b"t", b"a", None))
    first.start()
    assert asked.wait(60)
    assert world.db.admin("adminGet", b"t", b"a", None) == HOME, "nothing is known yet"
    told.set()
    first.join()
    assert world.db.admin("adminGet", b"t", b"a", None) == FIRST
    assert [method for method, _ in world.servers[HOME].calls].count("getTableRegions") == 1


def test_a_first_server_that_is_gone_is_not_tried_for_what_it_owns_itself() -> None:
    """It stands among the owners: each call that went on waited for it twice."""
    world = World()
    world.regions = [(b"", HOME), (b"m", SECOND)]
    assert world.db.admin("adminGet", b"t", b"a", None) == HOME
    home = world.servers[HOME]
    home.breaks = CannotConnect("refused")
    tried: list[str] = []
    opening = home.open
    home.open = lambda method="open": (tried.append(method), opening(method))[1]  # type: ignore[method-assign]
    assert world.db.admin("adminTables") == SECOND
    assert world.db.admin("adminGet", b"t", b"a", None) == SECOND
    assert tried == ["adminTables"]
    world.db.close()
    assert home.closed, "the connection that was made first, too"


def test_a_batch_that_one_server_refuses_says_how_much_was_written() -> None:
    world = World()

    def refuse(*_: Any) -> Any:
        raise TableNotFound("t")

    world.servers[SECOND].admin = refuse  # type: ignore[method-assign]
    with pytest.raises(TableNotFound) as caught:
        world.db.admin("adminMutateRows", b"t", batch(b"a", b"b", b"a", b"z"))
    assert str(caught.value) == (
        "t; this was for 1 of the 3 rows of the batch, which go to 2 servers: 2 others were written before, and 0 were "
        "not sent"
    )
    with pytest.raises(TableNotFound) as caught:
        world.db.admin("adminMutateRows", b"t", batch(b"z"))
    assert str(caught.value) == "t"
