"""Settings that keep everybody out, or let everybody in, are told at the start."""

import logging
from typing import Any

import pytest

from hbtable.access.accounts import Accounts
from hbtable.access.options import AuthOptions
from hbtable.errors import Unavailable
from hbtable.launch.access_warnings import warn_of_access, warnings
from hbtable.runtime.network.tls import TlsOptions

TLS = TlsOptions(certificate="c.pem")
CLIENTS = TlsOptions(certificate="c.pem", client_ca="ca.pem", required=True)
NO_SUPERUSER = "nobody can do anything but those to whom something was granted before"
NO_USERS = "nobody can log in before `hbtable user add`"
NO_TLS = "auth.enabled is set without tls.certificate: nobody can log in"
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


class Kept:
    def __init__(self, accounts: Accounts | None) -> None:
        self.accounts = accounts

    def read(self) -> Accounts:
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
