"""The access control of a real HBase, recorded (compat-tests/access), replayed through Thrift1, Thrift2 and the admin
service of a gateway over a cluster of one. The driver is check_matrix.py as it was handed out; each difference that it
finds must be one of DIFFERENT, by rule."""

import argparse
import importlib.util
import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from hbtable.access.user import User
from tests.harness.access_adapter import Adapter, Session, Thrift1Session
from tests.harness.guarded_gateway import SERVICES, GuardedGateway, interface
from tests.harness.library_session import LibrarySession
from tests.harness.shell_session import TypedSession
from tests.harness.tiers import long_test, taking_turns

FOLDER = Path(__file__).parents[2] / "compat-tests" / "access"
NEEDS_READ_TOO = "what gives a new value back, or answers a condition, needs READ as well"
NO_RIGHTS_BY_ALTERING = "whoever alters a table gets no right to it by that"
GRANTED_ON_WHAT_IS = "rights are granted on what there is"
NO_FAMILIES_TOLD = "whoever is refused does not learn which families there are"
REFUSED = "refused, where HBase says yes and does nothing, or does it for everybody"
DIFFERENT = {
    r"(increment|append) .*": NEEDS_READ_TOO,
    r"mutateRow .*increment f:a\]": NEEDS_READ_TOO,
    r"checkAndMutate if f:a matches, (increment|append) f:b": NEEDS_READ_TOO,
    r"checkAndMutate if f:a matches, \[.*": NEEDS_READ_TOO,
    r"checkAndPut if [fg]:a matches not, put f:a": "what would be written needs WRITE, whether or not it is written",
    r"alter: .*": NO_RIGHTS_BY_ALTERING,
    r"(major )?compact table": REFUSED,
    r"balance|balancer switch": REFUSED,
    r"grant . on missing (table|family|namespace)": GRANTED_ON_WHAT_IS,
    r"get family zz \(missing\)": NO_FAMILIES_TOLD,
    r"delete row.*": NO_FAMILIES_TOLD,
    r"scan all, filter ColumnCountGet 1": "it goes on with the next row (docs/deviations.md, filter-artefact)",
}
"""Operation -> the rule by which it is not answered as by HBase."""
ALSO_DIFFERENT: dict[type[Session], dict[str, str]] = {
    LibrarySession: {"drop missing table": "that a table is missing is told to everybody, as by every read of it"},
    TypedSession: {"drop namespace that has tables": "the same refusal by another of Java's classes, not shown"},
}
SCENARIOS = {
    "a dropped namespace loses its grants in the list, but they stay in force": "grants end with their namespace",
    "deleting a family keeps its grants": "grants end with their family",
    "altering by a holder of C makes him a holder of everything": NO_RIGHTS_BY_ALTERING,
    "an open scanner after a revoke": "an open scanner keeps no rights",
    "odd letters in a grant": "an unknown letter is refused",
    "odd names in a grant": "a name that no user can have is refused",
    "a grant before the table is there": GRANTED_ON_WHAT_IS,
    "a grant on a missing namespace": GRANTED_ON_WHAT_IS,
    "a grant on a missing table and a missing family": GRANTED_ON_WHAT_IS,
    "a comma in the user's name of a grant": "a name that no user can have is refused",
    "W alone reads through append and increment": NEEDS_READ_TOO,
    "W alone guesses through checkAndMutate of several mutations": NEEDS_READ_TOO,
    "balancer by anyone": REFUSED,
}
WITHOUT_CALLS = 15
"""Scenarios with snapshots, permissions of cells, a scan of hbase:quota, replication or conditions by filter."""


PARTS = 8


def holders_of(part: int) -> list[str]:
    """Every eighth one, as the driver names them. Each run has all of them by Thrift2; the other doors lead to the
    same checks."""
    lines = map(json.loads, (FOLDER / "matrix.jsonl").read_text().splitlines())
    names = dict.fromkeys(f"{line['scope']} {line['permission']} {line.get('holder', 'user')}" for line in lines)
    return list(names)[part::PARTS]


def one_of(holders: list[str]) -> str:
    return f"^({'|'.join(map(re.escape, holders))})$"


class Replay:
    """A gateway, and check_matrix.py over it."""

    def __init__(self, session: type[Session] = Session) -> None:
        self.session = session
        self.different = DIFFERENT | ALSO_DIFFERENT.get(session, {})
        self.gateway = GuardedGateway()
        self.driver = self._driver()

    def _driver(self) -> ModuleType:
        spec = importlib.util.spec_from_file_location("check_matrix", FOLDER / "check_matrix.py")
        assert spec is not None
        assert spec.loader is not None
        driver = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(driver)
        runtime = self.gateway.runtime
        driver.time = SimpleNamespace(sleep=runtime.sleep, time=runtime.clock_seconds)  # type: ignore[attr-defined]
        return driver

    def adapter(self) -> Adapter:
        return Adapter(self._connect, self.driver.Refused, self.session)

    def _connect(self, user: str, groups: Sequence[str]) -> Any:
        known = User(user, frozenset(groups))
        return SimpleNamespace(**{service: self.gateway.client(known, service) for service in SERVICES})

    def matrix(self, holder: str, capsys: pytest.CaptureFixture[str]) -> "Counter[str]":
        arguments = argparse.Namespace(
            files=[str(FOLDER / "matrix.jsonl")], only=None, holder=holder, messages=True, show=100_000, first=0
        )
        count = self._run(lambda: self.driver.matrix(self.adapter(), arguments))
        lines = capsys.readouterr().out.split("DIFFERENT ")[1:]
        assert not [line for line in lines if not self._is_known(line)]
        for line in lines:
            operation = line.partition("\n")[0].partition(": ")[2]
            if operation in ("compact table", "major compact table", "balance", "balancer switch"):
                assert "got AccessDeniedException" in line, line
            if operation == "get family zz (missing)":
                assert line.rstrip().endswith("got AccessDeniedException"), line
            if operation.startswith("alter: "):
                assert "AccessDeniedException expected" not in line, line
            if operation.startswith("delete row"):
                assert line.rstrip().endswith("scope=NS:w, params=[table=NS:w,],action=WRITE)"), line
        return count

    def _is_known(self, line: str) -> bool:
        operation = line.partition("\n")[0].partition(": ")[2]
        return any(re.fullmatch(pattern, operation) for pattern in self.different)

    def scenario(self, name: str) -> "Counter[str]":
        arguments = argparse.Namespace(
            scenarios=str(FOLDER / "scenarios.jsonl"), only=f"^{re.escape(name)}$", messages=True, show=100, first=0
        )
        return self._run(lambda: self.driver.scenarios(self.adapter(), arguments))

    def _run(self, body: Any) -> Any:
        def main() -> Any:
            self.gateway.start()
            try:
                return body()
            finally:
                self.gateway.stop()

        return self.gateway.runtime.run(main)


@pytest.mark.slow
@pytest.mark.parametrize("holder", ["^none  user$", "^f:a RW user$", "^table A user$"])
def test_some_holders(holder: str, capsys: pytest.CaptureFixture[str]) -> None:
    count = Replay().matrix(holder, capsys)
    assert count["equal"] > 190
    assert count["different"] < 40


@pytest.mark.slow
@pytest.mark.parametrize("holder", ["^f:a RW user$", "^family f R group$", "^family f . family g R . W user$"])
def test_some_holders_by_thrift1(holder: str, capsys: pytest.CaptureFixture[str]) -> None:
    count = Replay(Thrift1Session).matrix(holder, capsys)
    assert count["equal"] > 150
    assert count["different"] < 40


@pytest.mark.parametrize("part", taking_turns(range(PARTS)))
def test_every_holder_by_thrift1(part: int, capsys: pytest.CaptureFixture[str]) -> None:
    holders = holders_of(part)
    assert Replay(Thrift1Session).matrix(one_of(holders), capsys)["equal"] > 140 * len(holders)


@pytest.fixture
def unmarked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library and the shell wait for answers in a thread of a program of their own: what does has no mark."""
    monkeypatch.setattr("hbtable.testing.simulated.scheduler.unmarked_functions", lambda *_: [])


@pytest.mark.slow
@pytest.mark.usefixtures("unmarked")
@pytest.mark.parametrize("session", [LibrarySession, TypedSession])
@pytest.mark.parametrize("holder", ["^f:a RW user$", "^table W user$", "^table A user$", "^none  user$"])
def test_some_holders_by_the_library_and_the_shell(
    session: type[Session], holder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    count = Replay(session).matrix(holder, capsys)
    assert count["equal"] > 90
    assert count["different"] < 40


@pytest.mark.usefixtures("unmarked")
@pytest.mark.parametrize(("session", "least"), [(LibrarySession, 90), (TypedSession, 80)])
@pytest.mark.parametrize("part", taking_turns(range(PARTS)))
def test_every_holder_by_the_library_and_the_shell(
    session: type[Session], least: int, part: int, capsys: pytest.CaptureFixture[str]
) -> None:
    holders = holders_of(part)
    assert Replay(session).matrix(one_of(holders), capsys)["equal"] > least * len(holders)


@long_test("each holder of rights by Thrift2")
def test_every_holder(capsys: pytest.CaptureFixture[str]) -> None:
    count = Replay().matrix(".", capsys)
    assert count["equal"] > 12_700
    assert sum(count.values()) == 16_999


@pytest.mark.slow
def test_sequences_of_several_users(capsys: pytest.CaptureFixture[str]) -> None:
    """50 scenarios: grants and revokes and when they bite, owners, leaks."""
    names = [one["scenario"] for one in Replay().driver.load(FOLDER / "scenarios.jsonl")]
    without = 0
    for name in names:
        try:
            count = Replay().scenario(name)
        except NotImplementedError:
            without += 1
            continue
        assert bool(count["different"]) == (name in SCENARIOS), capsys.readouterr().out
    assert without == WITHOUT_CALLS


@pytest.mark.slow
@pytest.mark.usefixtures("unmarked")
@pytest.mark.parametrize(
    ("session", "least", "holes"),
    [
        (Thrift1Session, 34, 12),
        *taking_turns([pytest.param(LibrarySession, 32, 12), pytest.param(TypedSession, 27, 10)], 2),
    ],
)
def test_sequences_of_several_users_through_the_other_doors(
    session: type[Session], least: int, holes: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """As far as each has the calls. `holes`: scenarios of HBase's own, which are closed."""
    names = [one["scenario"] for one in Replay().driver.load(FOLDER / "scenarios.jsonl")]
    done, closed = 0, 0
    for name in names:
        try:
            count = Replay(session).scenario(name)
        except NotImplementedError:
            continue
        assert bool(count["different"]) == (name in SCENARIOS), capsys.readouterr().out
        done += 1
        closed += name in SCENARIOS
    assert done >= least
    assert closed >= holes


@pytest.mark.slow
def test_a_refused_batch_of_many_rows_writes_none_of_them() -> None:
    """Rows are written a thousand at a time; the refused one is the last of all."""
    replay, two = Replay(), interface("thrift2")
    gateway = replay.gateway

    def put(row: bytes, family: bytes) -> Any:
        return two.TPut(row=row, columnValues=[two.TColumnValue(family, b"q", b"v")])

    def body() -> None:
        admin, ann = gateway.client(User("admin"), "thrift2"), gateway.client(User("ann"), "thrift2")
        families = [two.TColumnFamilyDescriptor(name=name) for name in (b"f", b"g")]
        admin.createTable(two.TTableDescriptor(tableName=two.TTableName(b"default", b"t"), columns=families), [])
        gateway.client(User("admin"), "admin").adminGrant(
            interface("admin").AdminGrant(holder="ann", actions="RW", table=b"t", family=b"f"), False
        )
        puts = [put(b"%05d" % number, b"f") for number in range(2500)]
        with pytest.raises(two.TIOError) as refused:
            ann.putMultiple(b"t", [*puts, put(b"last", b"g")])
        assert "family=g:q" in refused.value.message
        assert admin.getScannerResults(b"t", two.TScan(), 10) == []
        ann.putMultiple(b"t", puts)
        assert len(admin.getScannerResults(b"t", two.TScan(), 5000)) == 2500

    replay._run(body)


@pytest.mark.slow
def test_a_refused_call_of_many_counters_changes_none_of_them() -> None:
    replay, one = Replay(), interface("thrift1")
    gateway = replay.gateway

    def body() -> None:
        admin, ann = gateway.client(User("admin"), "thrift1"), gateway.client(User("ann"), "thrift1")
        for table in (b"t", b"u"):
            admin.createTable(table, [one.ColumnDescriptor(name=name) for name in (b"f", b"g")])
        grants = gateway.client(User("admin"), "admin")
        grants.adminGrant(interface("admin").AdminGrant(holder="ann", actions="RW", table=b"t", family=b"f"), False)
        mine = one.TIncrement(table=b"t", row=b"r", column=b"f:c", ammount=1)
        for refused in ((b"t", b"g:c"), (b"u", b"f:c")):
            with pytest.raises(one.IOError, match="AccessDenied"):
                ann.incrementRows([mine, one.TIncrement(table=refused[0], row=b"r", column=refused[1], ammount=1)])
            assert admin.getRow(b"t", b"r", {}) == []
        ann.incrementRows([mine, mine])
        assert [cell.value for cell in admin.get(b"t", b"r", b"f:c", {})] == [(2).to_bytes(8, "big")]

    replay._run(body)


@pytest.mark.slow
def test_who_may_read_a_part_does_not_find_out_which_other_families_there_are() -> None:
    replay, one = Replay(), interface("thrift1")
    gateway = replay.gateway

    def answer(call: Any, *arguments: Any) -> Any:
        try:
            return call(*arguments)
        except one.IOError as error:
            return error.message

    def body() -> None:
        admin, ann = gateway.client(User("admin"), "thrift1"), gateway.client(User("ann"), "thrift1")
        admin.createTable(b"t", [one.ColumnDescriptor(name=name) for name in (b"f", b"g")])
        admin.mutateRow(b"t", b"r", [one.Mutation(column=name + b":q", value=b"v") for name in (b"f", b"g")], {})
        for action, family in (("RW", b"f"), ("W", b"f")):
            gateway.client(User("admin"), "admin").adminGrant(
                interface("admin").AdminGrant(holder="ann", actions=action, table=b"t", family=family), True
            )
            there, missing = (
                [
                    [
                        answer(ann.getRowWithColumns, b"t", b"r", columns, {}),
                        answer(ann.getRowsWithColumns, b"t", [b"r"], columns, {}),
                        type(answer(ann.scannerOpen, b"t", b"", columns, {})),
                        answer(ann.deleteAllRow, b"t", b"r", {}),
                    ]
                    for columns in ([name], [name, b"f"])
                ]
                for name in (b"g", b"zz")
            )
            assert there == missing
            assert "g" not in re.findall(r"family=(\w+)", str(there))

    replay._run(body)
