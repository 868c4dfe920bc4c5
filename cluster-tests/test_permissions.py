"""Permissions in a cluster of real processes: granted through one server, in force on the others as well, and checked
where the tablet is, so that a gateway without authentication is no way around them."""

import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import happybase
import pytest
from Hbase_thrift import IOError as HBaseError

import hbtable
from hbtable.errors import AccessDenied
from tests.harness.commands import LONG_SECONDS
from tests.harness.recorded_shell import run_here
from tests.harness.role_processes import ProcessCluster, RoleProcess
from tests.harness.waiting import SOON_SECONDS, eventually

pytestmark = pytest.mark.java

AUTH = '[auth]\nenabled = true\nsuperusers = "admin"\nplain_text = true\n'
ROWS = [b"a1", b"c1", b"e1"]


@pytest.fixture
def cluster(cluster_with: Callable[[str], ProcessCluster]) -> ProcessCluster:
    """Two tablet servers that ask who their clients are, and three users."""
    cluster = cluster_with(AUTH).start(2)
    for user in ("admin", "ann"):
        add_user(cluster, user)
    return cluster


def add_user(cluster: ProcessCluster, name: str) -> None:
    command = [sys.executable, "-m", "hbtable", "user", "add", name, "--cluster", "--config", str(cluster.config)]
    subprocess.run(
        command, input=f"secret of {name}\n", text=True, check=True, capture_output=True, timeout=LONG_SECONDS
    )


def shell(server: RoleProcess, folder: Path, user: str, *lines: str) -> str:
    """What the shell prints for this user, errors included."""
    secret = folder / user
    secret.touch(0o600)
    secret.write_text(f"secret of {user}")
    address = f"thrift://{user}@127.0.0.1:{server.port}?secret={secret}"
    out, err, _ = run_here(address, "".join(f"{line}\n" for line in lines))
    return out + err


def test_a_grant_holds_on_every_server_and_nothing_leads_around_it(cluster: ProcessCluster, tmp_path: Path) -> None:
    first, second = cluster.servers
    made = shell(
        first,
        tmp_path,
        "admin",
        "create 't', 'f', 'g', SPLITS => ['b', 'd']",
        *(f"put 't', '{row.decode()}', '{family}:v', 'of {family}'" for row in ROWS for family in "fg"),
        "balance_switch false",
    )
    assert "ERROR" not in made
    assert "Insufficient permissions" in shell(second, tmp_path, "ann", "scan 't'")

    shell(first, tmp_path, "admin", "grant 'ann', 'R', 't', 'f'")

    def all_of_f_is_seen() -> bool:
        seen = [shell(server, tmp_path, "ann", "scan 't'") for server in (first, second)]
        assert all("value=of g" not in one for one in seen)
        return all(one.count("value=of f") == len(ROWS) for one in seen)

    eventually(all_of_f_is_seen, SOON_SECONDS, "the grant on both servers")
    for server in (first, second):
        assert "Insufficient permissions" in shell(server, tmp_path, "ann", "put 't', 'a1', 'f:v', 'x'")

    without = cluster.start_server("-D", "auth.enabled=false")
    with closing(happybase.Connection("127.0.0.1", without.port, timeout=120_000)) as connection:
        table = connection.table("t")
        # Of a tablet that it serves itself such a server asks nobody.
        elsewhere = [row for row, tablet in zip(ROWS, table.regions(), strict=True) if tablet["port"] != without.port]
        for row in elsewhere:
            with pytest.raises(HBaseError, match="AccessDeniedException"):
                table.row(row)
            with pytest.raises(HBaseError, match="AccessDeniedException"):
                table.put(row, {b"f:v": b"x"})
        assert connection.tables() == [b"t"]  # METADATA is the roles' own

    shell(second, tmp_path, "admin", "revoke 'ann', 't', 'f'")
    eventually(
        lambda: all("Insufficient" in shell(server, tmp_path, "ann", "scan 't'") for server in (first, second)),
        SOON_SECONDS,
        "the revoke on both servers",
    )


def test_a_revoke_is_in_force_on_every_server_soon(cluster: ProcessCluster, tmp_path: Path) -> None:
    """Prints how soon: less than a second is promised, which a machine that stands still may not keep."""
    cluster.start_server()
    first = cluster.servers[0]
    shell(first, tmp_path, "admin", "create 't', 'f'", "put 't', 'r', 'f:v', 'x'", "grant 'ann', 'R', 't', 'f'")
    clients = [as_ann(server) for server in cluster.servers]
    try:
        eventually(lambda: all(may_read(one) for one in clients), SOON_SECONDS, "the grant on all servers")
        shell(first, tmp_path, "admin", "revoke 'ann', 't', 'f'")
        began = time.monotonic()
        late: dict[int, float] = {}

        def is_refused_everywhere() -> bool:
            for number, one in enumerate(clients):
                if number not in late and not may_read(one):
                    late[number] = time.monotonic() - began
            return len(late) == len(clients)

        eventually(is_refused_everywhere, SOON_SECONDS, "the revoke on all servers")
        print(f"refused after the revoke's answer, server by server: {[f'{late[one]:.2f} s' for one in sorted(late)]}")
        assert not any(may_read(one) for one in clients), "and stays so"
    finally:
        for one in clients:
            one.close()


def as_ann(server: RoleProcess) -> hbtable.Database:
    secret = server.errors.parent / "ann-to-connect"
    secret.touch(0o600)
    secret.write_text("secret of ann")
    return hbtable.connect("127.0.0.1", server.port, user="ann", secret=str(secret))


def may_read(client: hbtable.Database) -> bool:
    try:
        return client.table("t").row("r") == {b"f:v": b"x"}
    except AccessDenied:
        return False
