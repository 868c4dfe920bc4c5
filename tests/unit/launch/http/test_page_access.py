"""Where users are asked who they are, the pages are for them; only whether the process is well is for everybody."""

import base64
import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import pytest

from hbtable.access import password_checks, verification
from hbtable.access.accounts import Accounts
from hbtable.access.options import AuthOptions
from hbtable.access.passwords import new_token
from hbtable.access.user import User, acting_user
from hbtable.access.verification import Verifier
from hbtable.errors import Unavailable
from hbtable.hbase.security import NO_SECURITY
from hbtable.launch.http.page_access import Needs, PageAccess, page_access
from hbtable.launch.http.pages import HttpPages
from hbtable.runtime.gevent_runtime import GeventRuntime
from tests.harness.cheap_passwords import cheap

FAR = 10_000_000_000_000
TOKENS = {name: new_token(FAR) for name in ("root", "ann")}
OLD = new_token(1)


class Kept:
    problem: Exception | None = None

    def read(self, latest: bool = False) -> Accounts:
        if self.problem is not None:
            raise self.problem
        accounts = Accounts().with_user("root", None).with_user("ann", cheap(b"correct horse"))
        for name, (_, record) in TOKENS.items():
            accounts = accounts.with_token(name, record, 0)
        return accounts.with_token("ann", OLD[1], 0)

    def change(self, edit: Any) -> None:
        raise AssertionError


OPEN = b"""# HELP hbtable_family_files SSTables.
# TYPE hbtable_family_files gauge
hbtable_thrift_calls_total{method="getRow"} 3.0
process_open_fds 7.0
"""
OF_ANN = b"""hbtable_family_files{family="f",table="anns"} 1.0
hbtable_family_files{family="\\",table=\\"t",table="anns"} 1.0
hbtable_family_files{table="anns",family="f"} 1.0
"""
OF_OTHERS = b"""hbtable_family_files{family="secret",table="t"} 2.0
hbtable_family_files{table="t",family="secret"} 2.0
hbtable_family_files{family="\\",table=\\"anns",table="t"} 1.0
hbtable_family_files{family="\\\\",table="t"} 1.0
hbtable_family_files{family="f",table="ns:t"} 2.0
"""
OF_READS = b"""hbtable_bloom_negative_total 5.0
hbtable_block_cache_hits_total 6.0
hbtable_block_cache_bytes 7.0
"""
METRICS = OPEN + OF_ANN + OF_OTHERS + OF_READS


class Site:
    """The pages of a process, and those who ask for them."""

    def __init__(self, runtime: GeventRuntime, plain_text: bool = False) -> None:
        self.kept = Kept()
        self.denied: list[tuple[User | None, str]] = []
        verifier = Verifier(runtime, self.kept, AuthOptions(enabled=True, superusers="root"))
        access = PageAccess(
            verifier,
            lambda user: user == User("root"),
            lambda user, table: user == User("root") or table == b"anns",
            plain_text,
            lambda client, call, why: self.denied.append((acting_user(), call)),
        )
        self.metrics = METRICS
        self.pauses = 0
        self.pages = HttpPages(
            lambda: self.metrics,
            list,
            lambda: 0.0,
            lambda: [{"row": "secret"}],
            lambda: ["row k of t is damaged"],
            access,
            self._paused,
        )

    def _paused(self) -> None:
        self.pauses += 1

    def ask(
        self, path: str, said: str = "", host: str = "127.0.0.1", headers: Mapping[str, str] = MappingProxyType({})
    ) -> tuple[int, dict[str, str], bytes]:
        seen: list[Any] = []
        environment = {"PATH_INFO": path, "REMOTE_ADDR": host, "REMOTE_PORT": "7"}
        environment |= {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in headers.items()}
        if said:
            environment["HTTP_AUTHORIZATION"] = said
        body = b"".join(self.pages(environment, lambda status, sent: seen.append((status, dict(sent)))))
        ((status, sent),) = seen
        return int(status.split()[0]), sent, body


def bearer(name: str) -> str:
    return f"Bearer {TOKENS[name][0]}"


def basic(name: str, secret: str) -> str:
    return "Basic " + base64.b64encode(f"{name}:{secret}".encode()).decode()


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[GeventRuntime]:
    monkeypatch.setattr(verification, "NOBODYS", cheap(b"of nobody"))
    made = GeventRuntime()
    yield made
    made.close()


@pytest.fixture
def site(runtime: GeventRuntime) -> Site:
    return Site(runtime)


CLIENTS = {
    "nobody": "",
    "a wrong password": basic("ann", "wrong horse"),
    "an unknown user": basic("eve", "correct horse"),
    "an expired token": f"Bearer {OLD[0]}",
    "no token": "Bearer hbt.00.secret",
    "another scheme": "Negotiate YII=",
    "a user by token": bearer("ann"),
    "a user by password": basic("ann", "correct horse"),
    "an administrator": bearer("root"),
}
LET_IN = {"a user by token", "a user by password", "an administrator"}
MAY = {
    Needs.NOBODY: set(CLIENTS),
    Needs.USER: LET_IN,
    Needs.ADMINISTRATOR: {"an administrator"},
}
PAGES = {
    "/metrics": Needs.USER,
    "/livez": Needs.NOBODY,
    "/healthz": Needs.NOBODY,
    "/readyz": Needs.NOBODY,
    "/slow": Needs.ADMINISTRATOR,
}


def test_every_page_is_in_the_table(site: Site) -> None:
    assert {path: needs for path, (needs, _) in site.pages.pages.items()} == PAGES


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("path", PAGES)
def test_each_page_is_for_those_who_may_see_it(site: Site, path: str, client: str) -> None:
    status, headers, body = site.ask(path, CLIENTS[client])
    if client in MAY[PAGES[path]]:
        assert status == 200
        assert site.denied == []
        return
    assert status == (403 if client in LET_IN else 401)
    assert ("WWW-Authenticate" in headers) == (status == 401)
    assert b'secret"' not in body
    assert len(body) > 20
    if status == 403:
        assert b"'ann'" in body
    denied = (None, "login") if status == 401 else (User("ann"), path)
    assert site.denied == [denied]


def test_strangers_do_not_read_which_rows_are_damaged(site: Site) -> None:
    assert json.loads(site.ask("/readyz")[2]) == {"ok": True, "reasons": []}


@pytest.mark.parametrize("host", ["10.0.0.7", "2001:db8::7", "", "::ffff:10.0.0.7"])
@pytest.mark.parametrize("said", [bearer("root"), basic("ann", "correct horse")], ids=["token", "password"])
def test_secrets_are_taken_from_this_machine_only(site: Site, said: str, host: str) -> None:
    status, _, body = site.ask("/metrics", said, host)
    assert status == 401
    assert b"change the password, or revoke the token" in body
    assert site.ask("/readyz", host=host)[0] == 200


@pytest.mark.parametrize("host", ["127.0.0.1", "127.5.5.5", "::1", "::ffff:127.0.0.1"])
def test_this_machine_has_many_addresses(site: Site, host: str) -> None:
    assert site.ask("/metrics", bearer("ann"), host)[0] == 200


OF_PROXIES = [
    {"X-Forwarded-For": "10.0.0.7"},
    {"X-Real-IP": "10.0.0.7"},
    {"X-Forwarded-Host": "metrics.example.com"},
    {"Via": "1.1 proxy"},
    {"Forwarded": "for=10.0.0.7"},
    {"Forwarded": "for=10.0.0.7;proto=http"},
    {"X-Forwarded-Proto": "http"},
    {"X-Forwarded-For": "10.0.0.7", "X-Forwarded-Proto": "http"},
    {"X-Forwarded-Proto": "https, http"},
    {"Forwarded": "for=10.0.0.7;proto=https, for=10.0.0.8;proto=http"},
    {"Forwarded": "proto=https", "X-Forwarded-Proto": "http"},
]
OF_PROXIES_WITH_TLS = [
    {"X-Forwarded-For": "10.0.0.7", "X-Forwarded-Proto": "https"},
    {"Forwarded": 'for=10.0.0.7; Proto="HTTPS"'},
    {"Forwarded": "for=10.0.0.7;proto=https, for=10.0.0.8;proto=https", "Via": "1.1 proxy"},
]


@pytest.mark.parametrize("headers", OF_PROXIES, ids=str)
@pytest.mark.parametrize("said", [bearer("root"), basic("ann", "correct horse")], ids=["token", "password"])
def test_what_a_proxy_of_this_machine_took_without_tls_is_not_of_this_machine(
    runtime: GeventRuntime, said: str, headers: dict[str, str]
) -> None:
    site = Site(runtime)
    status, _, body = site.ask("/metrics", said, headers=headers)
    assert (status, site.denied) == (401, [(None, "login")])
    assert b"X-Forwarded-Proto: https" in body
    assert b"change the password, or revoke the token" in body
    assert site.ask("/readyz", headers=headers)[0] == 200
    assert Site(runtime, plain_text=True).ask("/metrics", said, headers=headers)[0] == 200


@pytest.mark.parametrize("headers", OF_PROXIES_WITH_TLS, ids=str)
def test_what_a_proxy_of_this_machine_took_over_tls_is_good(site: Site, headers: dict[str, str]) -> None:
    assert site.ask("/metrics", bearer("ann"), headers=headers)[0] == 200
    assert site.ask("/metrics", bearer("ann"), "10.0.0.7", headers)[0] == 401, "everybody may say so from elsewhere"


def test_with_plain_text_they_are_taken_everywhere(runtime: GeventRuntime) -> None:
    assert Site(runtime, plain_text=True).ask("/metrics", bearer("ann"), "10.0.0.7")[0] == 200


def test_without_the_list_of_users_nobody_is_let_in(site: Site) -> None:
    site.kept.problem = Unavailable("ZooKeeper is away")
    status, _, body = site.ask("/metrics", bearer("root"))
    assert status == 503
    assert b"ZooKeeper" not in body
    assert site.denied == [(None, "login")]


def test_who_is_turned_away_because_too_many_passwords_wait_leaves_a_line(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(password_checks, "WAITING", 0)
    assert site.ask("/metrics", basic("eve", "guess"))[0] == 503
    assert site.denied == [(None, "login")]


def test_where_nobody_is_asked_everybody_sees_all() -> None:
    assert page_access(NO_SECURITY, lambda user: False, lambda user, table: False) is None


def test_figures_of_families_are_for_those_who_may_see_how_their_table_is_made(site: Site) -> None:
    """Labels' values may say anything, also that they are other labels."""
    assert site.ask("/metrics", bearer("root"))[2] == METRICS
    assert site.ask("/metrics", bearer("ann"))[2] == OPEN + OF_ANN
    assert site.ask("/metrics", basic("ann", "correct horse"))[2] == OPEN + OF_ANN


def test_the_samples_of_thousands_of_tables_are_looked_at_in_parts(runtime: GeventRuntime) -> None:
    site = Site(runtime)
    site.metrics = OPEN + (OF_ANN + OF_OTHERS) * 2000
    assert site.ask("/metrics", bearer("ann"))[2] == OPEN + OF_ANN * 2000
    assert site.pauses >= 10
