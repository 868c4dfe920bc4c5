"""Conditional writes through every way in: each comparison, of each kind of cell, is answered as HBase 2.6.1 answered
it over Thrift2, and of many that take one empty value at once a single one gets it.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import count
from typing import Any

import pytest
import thriftpy2
from thriftpy2.rpc import make_client

import hbtable
from tests.harness.commands import ROOT
from tests.harness.warm_server import WarmServer

pytestmark = pytest.mark.integration

ONE = thriftpy2.load(f"{ROOT}/thrift/hbase.thrift", module_name="ways_hbase_thrift")
TWO = thriftpy2.load(f"{ROOT}/thrift/hbase2.thrift", module_name="ways_hbase2_thrift")
_SERVICES = (ONE.Hbase, *[TWO.THBaseService] * 4)
_numbers = count()

STATES: dict[str, tuple[bytes | None, ...]] = {
    "absent": (),
    "deleted": (b"5", None),
    "empty": (b"",),
    "empty, deleted": (b"", None),
    "empty over a value": (b"5", b""),
    "a value": (b"5",),
}
"""What was put into the column, None being a delete."""
SAME: dict[bytes | None, str] = {None: "TTTTTF", b"": "TTTTTF", b"4": "FFFFFF", b"5": "FFFFFT", b"6": "FFFFFF"}
"""HBase's answers by STATES: checkAndPut and checkAndDelete."""
COMPARED = {
    ("<", b"4"): "FFTFTF", ("<", b"5"): "FFTFTF", ("<", b"6"): "FFTFTT",
    ("<=", b"4"): "FFTFTF", ("<=", b"5"): "FFTFTT", ("<=", b"6"): "FFTFTT",
    ("!=", b"4"): "FFTFTT", ("!=", b"5"): "FFTFTF", ("!=", b"6"): "FFTFTT", ("!=", b""): "FFFFFT",
    (">=", b"4"): "FFFFFT", (">=", b"5"): "FFFFFT", (">=", b"6"): "FFFFFF",
    (">", b"4"): "FFFFFT", (">", b"5"): "FFFFFF", (">", b"6"): "FFFFFF",
}  # fmt: skip
"""checkAndMutate, its operators turned round: here the stored value stands left."""
EMPTY_GIVEN = dict.fromkeys(("<", "<=", ">=", ">"), "TTTTTF")
"""HBase asks "missing or empty" then; the library compares bytes."""
LIBRARY_EMPTY_GIVEN = {"<": "FFFFFF", "<=": "FFTFTF", ">=": "FFTFTT", ">": "FFFFFT"}
ANY_VALUE = "FFTFTT"
"""What meets "!=" None in the library, and mutate_if without a filter."""
TURNED = {"<": 5, "<=": 4, "=": 2, "!=": 3, ">=": 1, ">": 0}


class Ways:
    def __init__(self, memory: hbtable.Table, server: hbtable.Table, port: int) -> None:
        self.tables = {"open": memory, "connect": server}
        self.clients = [make_client(service, "127.0.0.1", port, timeout=60_000) for service in _SERVICES]
        self.one, self.two = self.clients[0], self.clients[1]

    def table(self, way_in: str) -> hbtable.Table:
        return self.tables.get(way_in, self.tables["connect"])

    def ask(self, way_in: str, kind: str, row: bytes, given: bytes | None) -> bool:
        """`kind` is a comparison, or a call. Column f:done is put if the condition is met."""
        put = TWO.TPut(row=row, columnValues=[TWO.TColumnValue(family=b"f", qualifier=b"done", value=b"1")])
        done: Any
        if way_in == "thrift1":
            done = self.one.checkAndPut(b"t", row, b"f:q", given, ONE.Mutation(column=b"f:done", value=b"1"), {})
        elif kind == "checkAndPut":
            done = self.two.checkAndPut(b"t", row, b"f", b"q", given, put)
        elif kind == "checkAndDelete":
            delete = TWO.TDelete(row=row, columns=[TWO.TColumn(family=b"f", qualifier=b"mark")])
            self.two.put(b"t", TWO.TPut(row=row, columnValues=[TWO.TColumnValue(b"f", b"mark", b"1")]))
            done = self.two.checkAndDelete(b"t", row, b"f", b"q", given, delete)
            assert done == (not self.table(way_in).row(row, ["f:mark"]))
            return bool(done)
        elif way_in == "thrift2":
            changes = TWO.TRowMutations(row, [TWO.TMutation(put=put)])
            done = self.two.checkAndMutate(b"t", row, b"f", b"q", TURNED[kind], given, changes)
        else:
            done = self._library(self.tables[way_in], kind, row, given)
        assert done == bool(self.table(way_in).row(row, ["f:done"]))
        return bool(done)

    def _library(self, table: hbtable.Table, kind: str, row: bytes, given: bytes | None) -> bool:
        changes = hbtable.RowChanges().put({"f:done": "1"})
        if kind == "check_and_put":
            return table.check_and_put(row, "f:q", given, {b"f:done": b"1"})
        if kind == "mutate_if":
            return table.mutate_if(row, changes, ["f:q"])
        operator, timed = (kind[:-6], (0, None)) if kind.endswith(" timed") else (kind, None)
        return table.check_and_mutate(row, "f:q", operator, given, changes, time_range=timed)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def ways(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ways]:
    with ExitStack() as stack:
        server = stack.enter_context(WarmServer(tmp_path_factory.mktemp("ways") / "data", ["log.durability=os"]))
        memory = stack.enter_context(hbtable.open(":memory:"))
        connection = stack.enter_context(hbtable.connect("127.0.0.1", server.port, timeout=60_000))
        ways = Ways(memory.create_table("t", ["f"]), connection.create_table("t", ["f"]), server.port)
        for client in ways.clients:
            stack.callback(client.close)
        yield ways


def cases() -> Iterator[tuple[str, str, bytes | None, str]]:
    for given, answers in SAME.items():
        yield "thrift1", "checkAndPut", given, answers
        yield "thrift2", "checkAndPut", given, answers
        yield "thrift2", "checkAndDelete", given, answers
        if given is not None:
            yield "thrift2", "=", given, answers
    for (operator, given), answers in COMPARED.items():
        yield "thrift2", operator, given, answers
    for operator, answers in EMPTY_GIVEN.items():
        yield "thrift2", operator, b"", answers
    for way_in in ("open", "connect"):
        yield way_in, "mutate_if", None, ANY_VALUE
        for given, answers in SAME.items():
            yield way_in, "check_and_put", given, answers
        for timed in ("", " timed"):
            yield way_in, f"!={timed}", None, ANY_VALUE
            for given, answers in SAME.items():
                yield way_in, f"={timed}", given, answers
            for (operator, given), answers in COMPARED.items():
                yield way_in, operator + timed, given, answers
            for operator, answers in LIBRARY_EMPTY_GIVEN.items():
                yield way_in, operator + timed, b"", answers


def test_each_comparison_of_each_kind_of_cell_is_answered_as_hbase_does(ways: Ways) -> None:
    wrong = []
    for way_in, kind, given, expected in cases():
        found = ""
        for history in STATES.values():
            row, table = b"r%d" % next(_numbers), ways.table(way_in)
            for value in history:
                if value is None:
                    table.delete(row, ["f:q"])
                else:
                    table.put(row, {b"f:q": value})
            found += "FT"[ways.ask(way_in, kind, row, given)]
        if found != expected:
            wrong.append((way_in, kind, given, found, expected))
    assert not wrong, "answers by " + ", ".join(STATES)


_TAKE = hbtable.RowChanges().delete(["f:q"])
TAKES: dict[str, Callable[[hbtable.Table, bytes], bool]] = {
    "=": lambda table, row: table.check_and_mutate(row, "f:q", "=", "5", _TAKE),
    "<=": lambda table, row: table.check_and_mutate(row, "f:q", "<=", "x", _TAKE),
    "!=": lambda table, row: table.check_and_mutate(row, "f:q", "!=", "x", _TAKE),
    "!= timed": lambda table, row: table.check_and_mutate(row, "f:q", "!=", "x", _TAKE, time_range=(0, None)),
    "mutate_if": lambda table, row: table.mutate_if(row, _TAKE, ["f:q"]),
}


def taken_by_thrift2(two: Any, row: bytes) -> Callable[[], bool]:
    delete = TWO.TDelete(row=row, columns=[TWO.TColumn(family=b"f", qualifier=b"q")])
    changes = TWO.TRowMutations(row, [TWO.TMutation(deleteSingle=delete)])
    return lambda: bool(two.checkAndMutate(b"t", row, b"f", b"q", TWO.TCompareOperator.NOT_EQUAL, b"x", changes))


@pytest.mark.parametrize(
    "way", [*(("open", take) for take in TAKES), ("connect", "!="), ("thrift2", "!=")], ids=" ".join
)
def test_of_many_that_take_one_value_a_single_one_gets_it(ways: Ways, way: tuple[str, str]) -> None:
    """A deleted empty value is no value: who looked at it before it was deleted finds that out."""
    (way_in, how), row, turns = way, b"race-%d" % next(_numbers), 40
    table, won, starts = ways.table(way_in), [0] * turns, threading.Barrier(4)

    def take(asked: Callable[[], bool], first: bool) -> None:
        for turn in range(turns):
            if first:
                table.put(row, {"f:q": "5" if how == "=" else ""})
            starts.wait(60)
            if asked():
                won[turn] += 1
            starts.wait(60)

    threads = []
    for number in range(4):
        asked = (
            taken_by_thrift2(ways.clients[1 + number], row) if way_in == "thrift2" else partial(TAKES[how], table, row)
        )
        threads.append(threading.Thread(target=take, args=(asked, not number)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert won == [1] * turns
