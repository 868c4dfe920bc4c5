"""HBase's shell on permissions (compat-tests/shell/access_cases.jsonl), by hbtable's shell over a gateway in this
process."""

import json
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hbtable.access.user import User
from hbtable.shell.connection import ShellConnection
from tests.harness.guarded_gateway import GuardedGateway, interface
from tests.harness.recorded_shell import FOLDER, load_checker, run_here

GROUPS = {"gina": ("team",), "gus": ("team", "readers"), "sue": ("supers",)}
CASES: list[dict[str, Any]] = [
    case
    for case in map(json.loads, (FOLDER / "access_cases.jsonl").read_text().splitlines())
    if case["group"] != "help"
]
_ERRORS = {"thrift1": ("IOError", "IllegalArgument", "AlreadyExists"), "admin": ("IOError", "IllegalArgument")}
BETTER = "better: the message says more"
NOT_THERE = "hbtable does not have it"
LETTERS = "an unknown letter, and a name that no user can have, are refused"
DIFFERENT: dict[str, str] = {
    "grant/unknown-letter-p": LETTERS,
    "grant/empty-user-p": LETTERS,
    "grant/cells-p": NOT_THERE,
    "grant/cells-no-scan-p": NOT_THERE,
    "revoke/user-not-string-p": BETTER,
    "user_permission/bad-regex-p": BETTER,
    "whoami/root-p": "the groups are those of auth.groups, and not of the operating system",
    "list_security_capabilities/on-p": "there are no permissions of cells",
    "set_quota/no-limit-p": BETTER,
    "set_quota/namespace-p": "without a stray 0 under QUOTAS",
    "refused/grant-p": "the right that granting needs is named, not the one to see the table",
    "refused/revoke-p": "the right that revoking needs is named, not the one to see the table",
    "refused/snapshot-p": NOT_THERE,
    "refused/balancer-p": "refused, instead of an answer to which nothing was done",
}
"""Case -> why its answer is not HBase's."""
_CLASS = re.compile(r"org\.apache\.hadoop\.hbase\.security\.AccessDeniedException: ")
"""The shell shows messages without Java's class, of all errors."""


class Shells:
    """`hbtable shell` of several users in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.gateway = GuardedGateway()
        self._user = User("root")
        shells = self

        def connected(connection: Any) -> None:
            client = shells.gateway.client
            connection._admin_structs, connection._hbase_structs = interface("admin"), interface("thrift1")
            connection._exceptions = tuple(
                getattr(interface(service), name) for service, names in _ERRORS.items() for name in names
            )
            connection._clients = {
                "hbase": client(shells._user, "thrift1"),
                "admin": client(shells._user, "admin"),
            }

        monkeypatch.setattr(ShellConnection, "_open", connected)
        # The shell is a program of its own: what of it waits for an answer has no mark.
        monkeypatch.setattr("hbtable.testing.simulated.scheduler.unmarked_functions", lambda *_: [])

    def run(self, user: str, script: str) -> tuple[str, str, int]:
        self._user = User(user, frozenset(GROUPS.get(user, ())))
        return run_here("127.0.0.1:1", script)

    def inside(self, body: Callable[[], Any]) -> Any:
        def main() -> Any:
            self.gateway.start()
            try:
                return body()
            finally:
                self.gateway.stop()

        return self.gateway.runtime.run(main)


def sorted_rows(text: str) -> str:
    """user_permission's rows come in the order of a hash table."""
    header = "User  Namespace,Table,Family,Qualifier:Permission\n"
    return re.sub(
        f"({re.escape(header)})((?: .*\n)+)", lambda found: found[1] + "".join(sorted(found[2].splitlines(True))), text
    )


def differences(shells: Shells, case: dict[str, Any]) -> list[Any]:
    check = load_checker()
    plain = check.normalise
    check.normalise = lambda text, *more, **named: sorted_rows(plain(text, *more, **named) + "\n").rstrip()
    case = {**case, "stderr_first_line": _CLASS.sub("", case["stderr_first_line"])}
    if case["setup"]:
        shells.run("root", check.text(case["setup"]))
    out, err, code = shells.run(case.get("user", "root"), check.text(case["commands"]))
    for group in case["teardown"]:
        shells.run("root", check.text(group))
    answer = {"stdout": out, "stderr_first_line": check.first_error_line(err) if code else "", "exit": code}
    return list(check.compare(case, answer))


@pytest.fixture
def in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The time zone of the recordings."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.slow
@pytest.mark.usefixtures("in_utc")
def test_recorded_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    shells, failed = Shells(monkeypatch), {}

    def body() -> None:
        for case in CASES:
            found = differences(shells, case)
            if bool(found) != (case["name"] in DIFFERENT):
                failed[case["name"]] = found or "passes now"

    shells.inside(body)
    assert not failed, "\n".join(f"{name}: {found}" for name, found in failed.items())
    assert len(CASES) > 80


@pytest.mark.slow
def test_none_ends_one_throttle_or_all_of_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """As HBase 2.6.1 merges settings (GlobalQuotaSettingsImpl): with a type that one, without a type each of them."""
    shells = Shells(monkeypatch)

    def run(script: str) -> str:
        out, err, code = shells.run("root", script)
        assert (err, code) == ("", 0)
        return out

    def body() -> None:
        run("""create 't', 'f'
            set_quota TYPE => THROTTLE, THROTTLE_TYPE => WRITE, TABLE => 't', LIMIT => '20M/sec'
            set_quota TYPE => THROTTLE, THROTTLE_TYPE => WRITE, TABLE => 't', LIMIT => '7req/sec'
            set_quota TYPE => THROTTLE, TABLE => 't', LIMIT => '100req/sec'
            set_quota TYPE => THROTTLE, USER => 'ann', TABLE => 't', LIMIT => '9req/sec'
            set_quota TYPE => THROTTLE, THROTTLE_TYPE => WRITE_NUMBER, TABLE => 't', LIMIT => NONE""")
        listed = run("list_quotas TABLE => 't'")
        assert all(word in listed for word in ("WRITE_SIZE", "REQUEST_NUMBER", "2 row(s)"))
        run("set_quota TYPE => THROTTLE, TABLE => 't', LIMIT => NONE")
        assert "0 row(s)" in run("list_quotas TABLE => 't'")
        assert "9req/sec" in run("list_quotas USER => 'ann'")

    shells.inside(body)


@pytest.mark.slow
def test_quotas_in_descriptions_and_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    shells = Shells(monkeypatch)

    def body() -> None:
        script = """create_namespace 'n'
            create 'n:t', 'f'
            describe 'n:t'
            set_quota TYPE => THROTTLE, TABLE => 'n:t', THROTTLE_TYPE => READ, LIMIT => '1536B/hour'
            set_quota TYPE => SPACE, NAMESPACE => 'n', LIMIT => '10G', POLICY => NO_WRITES
            set_quota TYPE => THROTTLE, USER => 'ann', TABLE => 'n:t', LIMIT => '5CU/day'"""
        out, err, code = shells.run("root", script)
        assert (err, code) == ("", 0)
        assert "Quota is disabled" in out
        limit = "TYPE => THROTTLE, THROTTLE_TYPE => READ_SIZE, LIMIT => 1.50K/hour, SCOPE => MACHINE"
        space = "TYPE => SPACE, NAMESPACE => n, LIMIT => 10.00G, VIOLATION_POLICY => NO_WRITES"
        assert f"QUOTAS\n{limit}\n1 row(s)\n" in shells.run("root", "describe 'n:t'")[0]
        assert f"QUOTAS\n{space}\n1 row(s)\n" in shells.run("root", "describe_namespace 'n'")[0]
        snapshots = shells.run("root", "list_quota_snapshots NAMESPACE => 'n'")[0]
        assert "\n n:t 0 10737418240 false None\n1 row(s)\n" in snapshots
        assert "0 row(s)" in shells.run("root", "list_quota_snapshots({TABLE => 'n:other'})")[0]
        assert "\n n:t 0\n1 row(s)\n" in shells.run("root", "list_quota_table_sizes")[0]
        assert "1 row(s)" in shells.run("root", "list_quotas USER => 'a.*', TABLE => 'n:t'")[0]
        assert "0 row(s)" in shells.run("root", "list_quotas REGIONSERVER => 'all'")[0]
        assert "0 row(s)" in shells.run("ann", "list_quotas")[0]

    shells.inside(body)
