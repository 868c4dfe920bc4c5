"""Settings that keep everybody out, or let everybody in, are told at the start."""

import logging
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hbtable.access.accounts import Accounts
from hbtable.access.options import AuthOptions
from hbtable.access.store import AccountFile
from hbtable.errors import Unavailable
from hbtable.launch.access_warnings import UNASKED, readiness_warnings, warn_of_access, warn_of_group, warnings
from hbtable.runtime.network.tls import TlsOptions

TLS = TlsOptions(certificate="c.pem")
CLIENTS = TlsOptions(certificate="c.pem", client_ca="ca.pem", required=True)
NO_SUPERUSER = "nobody can do anything but those to whom something was granted before"
NO_USERS = "nobody can log in before `hbtable user add`"
NO_TLS = "auth.enabled is set without tls.certificate: nobody can log in"
LEFT_OUT = "there is a list of users, and auth.enabled = true is not set"
NOT_ENABLED = "is set without auth.enabled = true: nobody is asked who he is"


@pytest.mark.parametrize(
    ("tls", "auth", "has_users", "said"),
    [
        (TLS, {"superusers": "ann"}, True, []),
        (TLS, {"superusers": "@admins", "groups": "admins = ann"}, True, []),
        (TLS, {}, True, ["auth.superusers names nobody: " + NO_SUPERUSER]),
        (TLS, {}, False, [NO_USERS, NO_SUPERUSER]),
        (TLS, {"superusers": "@admins"}, True, ["has only groups that nobody is in: " + NO_SUPERUSER]),
        (TLS, {"superusers": "@a", "groups": "a = ; b = ann"}, True, ["has only groups that nobody is in"]),
        (TLS, {"superusers": "@a, ben"}, True, []),
        (TLS, {"superusers": "ann"}, False, [NO_USERS]),
        (CLIENTS, {"superusers": "ann"}, False, []),
        (TlsOptions(), {"superusers": "ann", "keytab": "k", "realm": "R"}, False, []),
        (TlsOptions(), {"superusers": "ann"}, True, [NO_TLS]),
        (TlsOptions(), {"superusers": "ann", "plain_text": True}, True, []),
        (TLS, {"enabled": False}, False, []),
        (TLS, {"enabled": False}, True, [LEFT_OUT]),
        (TLS, {"enabled": False, "superusers": "ann"}, True, ["auth.superusers " + NOT_ENABLED, LEFT_OUT]),
        (TLS, {"enabled": False, "superusers": "ann"}, False, ["auth.superusers " + NOT_ENABLED]),
        (TLS, {"enabled": False, "proxies": "hue"}, False, ["auth.proxies " + NOT_ENABLED]),
    ],
)
def test_what_cannot_be_meant_is_a_warning(
    tls: TlsOptions, auth: dict[str, Any], has_users: bool, said: list[str]
) -> None:
    found = list(warnings(tls, AuthOptions(**{"enabled": True, **auth}), has_users))
    assert len(found) == len(said), found
    for message, part in zip(found, said, strict=True):
        assert part in message


ANY_REALM = "asks for no realm, so principals of every realm"
OTHERS = r"RULE:[1:$1@$0](.*@OTHER\.EXAMPLE)s/@.*// DEFAULT"


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ("", []),
        ("DEFAULT", []),
        (r"RULE:[1:$1@$0](.*@TEST\.EXAMPLE)s/@.*// RULE:[2:$1@$0](.*@TEST\.EXAMPLE)s/@.*//", []),
        (r"RULE:[1:$1@$0](zoe@OTHER\.EXAMPLE)s/.*/zoe/ DEFAULT", []),
        (r"RULE:[1:$1@$0](.*@OTHER\.EXAMPLE)s/(.*)@.*/other-$1/ DEFAULT", []),
        (OTHERS, ["auth.auth_to_local: ann@OTHER.EXAMPLE is the superuser ann here", "ben@OTHER.EXAMPLE is the super"]),
        ("RULE:[2:$1@$0](.*@OTHER.EXAMPLE)s/@.*//", ["ann/host@OTHER.EXAMPLE is", "ben/host@OTHER.EXAMPLE is"]),
        (
            r"RULE:[1:$1@$0](ann@O\.E)s/.*/nobody/ RULE:[1:$1@$0](.*@O\.E)s/@.*//",
            ["ben@O.E is the superuser ben"],
        ),
        ("RULE:[1:$1](zoe)", [f"RULE:[1:$1](zoe) {ANY_REALM}"]),
        (
            "RULE:[1:$1]",
            [ANY_REALM, "ann of any other realm that the KDC trusts is the superuser ann", "ben of any other realm"],
        ),
        ("RULE:[1:$1@$0]s/@.*//", [ANY_REALM, "ann of any other realm", "ben of any other realm"]),
        (r"RULE:[1:$1@$0](.*@O\.E)s/.*/guest/", ["makes one user, guest, of every principal that fits"]),
        (r"RULE:[1:$1@$0](.*@O\.E)s/.*/ann/", ["makes one user, ann, of every", "ann@O.E is the superuser ann"]),
    ],
)
def test_a_rule_that_lets_in_more_than_was_meant_is_a_warning(rules: str, said: list[str]) -> None:
    options = AuthOptions(True, "ann, @admins", "admins = ben", keytab="k", realm="TEST.EXAMPLE", auth_to_local=rules)
    found = list(warnings(TLS, options, True))
    assert len(found) == len(said), found
    for message, part in zip(found, said, strict=True):
        assert part in message


class Kept:
    def __init__(self, accounts: Accounts | None) -> None:
        self.accounts = accounts

    def read(self, latest: bool = False) -> Accounts:
        if self.accounts is None:
            raise Unavailable("ZooKeeper is away")
        return self.accounts

    def change(self, edit: Any) -> None:
        raise AssertionError


@pytest.mark.parametrize(("accounts", "warned"), [(Accounts(), 1), (Accounts().with_user("ann", None), 0), (None, 0)])
def test_the_list_of_users_is_looked_at(
    accounts: Accounts | None, warned: int, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        warn_of_access(TLS, AuthOptions(enabled=True, superusers="ann"), Kept(accounts))
    assert len(caplog.records) == warned


OWNER, GROUP = 4711, 4712
PEOPLE = {"server": (OWNER, GROUP), "ann": (1, 1), "ben": (2, 2)}
"""Their numbers and the groups that they have first."""


@pytest.mark.parametrize(
    ("mode", "members", "first", "warned"),
    [
        (0o770, [], GROUP, False),
        (0o770, ["server"], GROUP, False),
        (0o770, ["server", "ann"], GROUP, True),
        (0o770, ["ann"], 9, True),
        (0o2770, ["ann"], GROUP, True),
        (0o770, None, 9, True),
        (0o750, ["ann"], GROUP, False),
        (0o700, ["ann"], GROUP, False),
    ],
)
def test_a_group_of_others_that_may_change_who_comes_in_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture,
    mode: int, members: list[str] | None, first: int, warned: bool,
) -> None:  # fmt: skip
    """`members`: that the group lists; None: there is no such group. `first`: the owner's first group."""
    people = [SimpleNamespace(pw_name=name, pw_uid=uid, pw_gid=gid) for name, (uid, gid) in PEOPLE.items()]
    people[0].pw_gid = first

    def group(number: int) -> SimpleNamespace:
        if members is None:
            raise KeyError(number)
        return SimpleNamespace(gr_mem=members)

    monkeypatch.setattr("pwd.getpwall", lambda: people)
    monkeypatch.setattr("pwd.getpwuid", lambda uid: people[0])
    monkeypatch.setattr("grp.getgrgid", group)
    monkeypatch.setattr(os, "stat", lambda _: os.stat_result((mode | 0o40000, 0, 0, 0, OWNER, GROUP, 0, 0, 0, 0)))
    with caplog.at_level(logging.WARNING):
        warn_of_group(AuthOptions(enabled=True, superusers="ann"), str(tmp_path))
        warn_of_group(AuthOptions(), str(tmp_path))
    assert [f"group {GROUP} may write to {tmp_path} (mode {mode:04o})" in one for one in caplog.messages] == [
        True
    ] * warned


def test_users_whom_nobody_asks_are_a_warning_for_as_long_as_they_are_there(tmp_path: Path) -> None:
    folder = str(tmp_path)
    users = AccountFile(folder)
    found, asked = readiness_warnings(AuthOptions(), folder), readiness_warnings(AuthOptions(enabled=True), folder)
    assert found() == []
    users.change(lambda accounts: accounts.with_user("ann", None))
    assert found() == [UNASKED]
    assert asked() == []
    (tmp_path / "users").chmod(0o644)  # which is no list that may be used, and a sign of users all the same
    assert found() == [UNASKED]
    (tmp_path / "users").unlink()
    assert found() == []
