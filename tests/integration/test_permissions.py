"""Permissions of a real server, as its users meet them: who they are by SASL PLAIN, what they may do by grants."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hbtable.access.store import AccountFile
from tests.harness.cheap_passwords import cheap
from tests.harness.commands import LONG_SECONDS
from tests.harness.recorded_shell import run_here
from tests.harness.waiting import SOON_SECONDS, eventually
from tests.harness.warm_server import WarmServer

pytestmark = pytest.mark.integration
SECRETS = {"admin": "admin's password", "ann": "ann's password", "ben": "ben's password"}
DENIED = "Insufficient permissions"


def serving(folder: Path) -> WarmServer:
    defines = ["auth.enabled=true", "auth.superusers=admin", "auth.groups=readers = ben", "auth.plain_text=true"]
    return WarmServer(folder, defines)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    users = AccountFile(str(tmp_path / "data"))
    for name, secret in SECRETS.items():
        users.change(lambda accounts, name=name, secret=secret: accounts.with_user(name, cheap(secret.encode())))
    return tmp_path / "data"


@pytest.fixture(params=[(), ("--servers", "2")], ids=["one process", "two"])
def server(request: pytest.FixtureRequest, folder: Path) -> Iterator[WarmServer]:
    server = serving(folder)
    server.arguments = list(request.param)
    with server:
        yield server


class Shells:
    """The shell of each user, in this process."""

    def __init__(self, server: WarmServer, folder: Path) -> None:
        self._port = server.port
        self._folder = folder

    def run(self, user: str, *lines: str) -> tuple[str, str]:
        """The answers, and the first error."""
        secret = self._folder / user
        if not secret.exists():
            secret.touch(0o600)
            secret.write_text(SECRETS[user])
        address = f"thrift://{user}@127.0.0.1:{self._port}?secret={secret}"
        out, err, _ = run_here(address, "".join(f"{line}\n" for line in lines))
        return out, err

    def fails(self, user: str, line: str) -> bool:
        out, err = self.run(user, line)
        return DENIED in out + err


def test_users_do_what_they_were_granted(server: WarmServer, tmp_path: Path) -> None:
    shells = Shells(server, tmp_path)
    filled = ("create 't', 'f', 'g'", "put 't', 'r', 'f:a', 'of f', 1", "put 't', 'r', 'g:a', 'of g', 1")
    assert not shells.run("admin", *filled)[1]
    assert shells.fails("ann", "get 't', 'r'")
    assert "t" not in shells.run("ann", "list")[0].split()
    assert shells.fails("ann", "create 'mine', 'f'")

    assert not shells.run("admin", "grant 'ann', 'RW', 't', 'f'", "grant '@readers', 'R', 't'")[1]
    seen, error = shells.run("ann", "get 't', 'r'", "scan 't'", "put 't', 'r', 'f:b', 'new'")
    assert not error
    assert seen.count("of f") == 2
    assert "of g" not in seen
    assert shells.fails("ann", "put 't', 'r', 'g:b', 'new'")
    assert shells.fails("ann", "grant 'ben', 'RW', 't'")
    assert "of g" in shells.run("ben", "scan 't'")[0]
    assert shells.fails("ben", "put 't', 'r', 'f:b', 'new'")
    assert " ann default,t,f,: [Permission: actions=READ,WRITE]" in shells.run("admin", "user_permission 't'")[0]
    assert "ben (auth:SIMPLE)\n    groups: readers" in shells.run("ben", "whoami")[0]

    assert not shells.run("admin", "revoke 'ann', 't', 'f'")[1]
    # The other server may not have heard of it for a second: test_revokes_in_time.py measures that.
    eventually(lambda: shells.fails("ann", "get 't', 'r'"), SOON_SECONDS, "the revoke")


def test_grants_outlive_a_restart_and_end_with_their_table(folder: Path, tmp_path: Path) -> None:
    with serving(folder) as server:
        made = ("create 't', 'f'", "grant 'ann', 'R', 't'", "put 't', 'r', 'f:a', 'v'")
        assert not Shells(server, tmp_path).run("admin", *made)[1]
        server.kill()
    with serving(folder) as server:
        shells = Shells(server, tmp_path)
        assert "value=v" in shells.run("ann", "get 't', 'r'")[0]
        again = ("disable 't'", "drop 't'", "create 't', 'f'", "put 't', 'r', 'f:a', 'v'")
        assert not shells.run("admin", *again)[1]
        assert shells.fails("ann", "get 't', 'r'")
        assert "ann" not in shells.run("admin", "user_permission 't'")[0]


def test_a_grant_on_the_command_line(server: WarmServer) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "hbtable", "grant", "ann", "R", "--url", f"127.0.0.1:{server.port}", "--user", "ann"],
        env={**os.environ, "HBTABLE_SECRET": SECRETS["ann"]},
        capture_output=True,
        text=True,
        timeout=LONG_SECONDS,
    )
    assert run.returncode == 1
    assert "Insufficient permissions for user 'ann' (global, action=ADMIN)" in run.stderr
