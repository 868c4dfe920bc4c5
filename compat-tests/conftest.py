"""One server for a compatibility run: HBTABLE_COMPAT_SERVER=host:port names a running one (ours or a real HBase);
without it an hbtable is started on a free port."""

import importlib.util
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hbtable.access.passwords import PasswordHash
from hbtable.access.store import AccountFile
from tests.harness import kdc, ways_in
from tests.harness.certificates import put_certificate
from tests.harness.fresh_seed import fresh_seed
from tests.harness.known_token import RECORD
from tests.harness.runs import begin_run, show_commands
from tests.harness.server import ServerProcess


def pytest_configure(config: pytest.Config) -> None:
    begin_run(config)


def pytest_report_header() -> str:
    return f"seed of what takes turns: {fresh_seed()} (SEED={fresh_seed()} takes it again)"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    show_commands(terminalreporter)


_KERBEROS = {"python-gssapi": "gssapi", "pykerberos": "kerberos"}
"""Packages and their modules."""


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    given = os.environ.get("HBTABLE_COMPAT_SERVER")
    if given:
        host, _, port = given.rpartition(":")
        yield host, int(port)
        return
    folder: Path = tmp_path_factory.mktemp("compat")
    # majorCompact returns when it is done, however busy the disk: recordings go on 2 s after the call.
    with ServerProcess(folder / "data", ["thrift.compaction_wait_seconds=60.0"]) as server:
        yield "127.0.0.1", server.port
        assert server.stop() == 0


@pytest.fixture
def in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The time zone of the recordings."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture(scope="session")
def realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kdc.Kdc]:
    """A real Kerberos; every process from now on belongs to its realm. Users have the password "a-password"."""
    lacking = [name for name, module in _KERBEROS.items() if importlib.util.find_spec(module) is None]
    reason = kdc.missing() or (f"{' and '.join(lacking)} not installed" if lacking else "")
    if reason:
        message = f"{reason}: compat-tests/install-toolchains installs them"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    with kdc.running_kdc(tmp_path_factory.mktemp("kdc")) as running, pytest.MonkeyPatch.context() as patch:
        for name, value in running.environment.items():
            patch.setenv(name, value)
        for user in ("ann", "ben", "hue/host"):
            running.add_user(user, "a-password")
        yield running


@pytest.fixture(scope="session")
def service_keytab(realm: kdc.Kdc) -> str:
    """Of hbase/localhost and of HTTP/localhost."""
    return realm.add_service("HTTP/localhost", realm.add_service("hbase/localhost"))


@pytest.fixture(scope="session")
def encrypted_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """Speaks TLS and plain text, and asks nobody who he is."""
    folder = tmp_path_factory.mktemp("encrypted")
    certificate, key = put_certificate("server", folder)
    defines = [f"tls.certificate={certificate}", f"tls.key={key}", "thrift.compaction_wait_seconds=60.0"]
    with ServerProcess(folder / "data", defines) as server:
        yield server
        assert server.stop() == 0


@pytest.fixture(scope="session")
def asking_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """Asks everybody who he is, and has TLS. ways_in.USER, a superuser, has a password and a token."""
    with _asking(tmp_path_factory.mktemp("asking")) as server:
        yield server
        assert server.stop() == 0


@pytest.fixture(scope="session")
def kerberized_server(
    realm: kdc.Kdc, service_keytab: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerProcess]:
    """The same with Kerberos."""
    with _asking(
        tmp_path_factory.mktemp("kerberized"), f"auth.keytab={service_keytab}", f"auth.realm={kdc.REALM}"
    ) as server:
        yield server
        assert server.stop() == 0


def _asking(folder: Path, *more: str) -> ServerProcess:
    certificate, key = put_certificate("server", folder)
    users = AccountFile(str(folder / "data"))
    users.change(lambda accounts: accounts.with_user(ways_in.USER, PasswordHash.of(ways_in.SECRET)))
    users.change(lambda accounts: accounts.with_token(ways_in.USER, RECORD, 0))
    defines = ["auth.enabled=true", f"auth.superusers={ways_in.USER}", "auth.proxies=hue", *more]
    defines += [f"tls.certificate={certificate}", f"tls.key={key}", "thrift.compaction_wait_seconds=60.0"]
    return ServerProcess(folder / "data", defines)
