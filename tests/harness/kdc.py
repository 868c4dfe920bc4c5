"""A real Kerberos for tests: MIT's KDC on a free port of loopback, with a realm, users and a service of its own, and
another realm that the first trusts, where somebody else may have the same names."""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.harness.commands import LONG_SECONDS
from tests.harness.waiting import SOON_SECONDS, eventually

REALM: Final = "TEST.EXAMPLE"
OTHER_REALM: Final = "OTHER.EXAMPLE"
_SBIN: Final = "/usr/sbin"
_CONFIG: Final = """\
[libdefaults]
 default_realm = {realm}
 dns_lookup_kdc = false
 dns_lookup_realm = false
 dns_canonicalize_hostname = false
 rdns = false
 udp_preference_limit = 1
[realms]
 {realm} = {{
  kdc = 127.0.0.1:{port}
 }}
 {other} = {{
  kdc = 127.0.0.1:{port}
 }}
[domain_realm]
 localhost = {realm}
"""
_KDC: Final = """\
[kdcdefaults]
 kdc_listen = ""
 kdc_tcp_listen = 127.0.0.1:{port}
[realms]
 {realm} = {{
  database_name = {folder}/principal
  key_stash_file = {folder}/stash
  acl_file = {folder}/acl
 }}
 {other} = {{
  database_name = {folder}/others
  key_stash_file = {folder}/others-stash
  acl_file = {folder}/acl
 }}
"""


def missing() -> str:
    """Why there can be none here; empty when there can."""
    lacking = [name for name in ("krb5kdc", "kdb5_util", "kadmin.local") if _command(name) is None]
    lacking += [name for name in ("kinit",) if shutil.which(name) is None]
    return f"Kerberos lacks {', '.join(lacking)} (Debian: krb5-kdc krb5-admin-server krb5-user)" if lacking else ""


def _command(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ['PATH']}:{_SBIN}")


@dataclass(frozen=True)
class Kdc:
    """Running. `environment` is what clients and servers of the realm need."""

    folder: Path
    environment: dict[str, str]

    def add_user(self, name: str, password: str, realm: str = REALM) -> None:
        self._admin(f"addprinc -pw {password} {name}", realm)

    def trust(self) -> None:
        """From now on whoever has a ticket of OTHER_REALM gets tickets for services of REALM."""
        for realm in (REALM, OTHER_REALM):
            self._admin(f"addprinc -pw between-realms krbtgt/{REALM}@{OTHER_REALM}", realm)

    def add_service(self, name: str, keytab: str = "") -> str:
        """The path of its keytab: `keytab`, which has keys of others already, or one of its own."""
        keytab = keytab or str(self.folder / f"{name.replace('/', '-')}.keytab")
        self._admin(f"addprinc -randkey {name}")
        self._admin(f"ktadd -k {keytab} {name}")
        os.chmod(keytab, 0o600)
        return keytab

    def log_in(self, name: str, password: str, seconds: int = 3600) -> dict[str, str]:
        """The environment of somebody with this user's ticket, which is good for so long."""
        environment = {
            **self.environment,
            "KRB5CCNAME": f"FILE:{self.folder}/tickets-{name.replace('/', '-').replace(chr(92), '')}",
        }
        subprocess.run(
            ["kinit", "-l", f"{seconds}s", name], input=password + "\n", env={**os.environ, **environment}, check=True,
            capture_output=True, text=True, timeout=LONG_SECONDS,
        )  # fmt: skip
        return environment

    def _admin(self, query: str, realm: str = REALM) -> None:
        _run(self.environment, "kadmin.local", "-r", realm, "-q", query)


@contextmanager
def running_kdc(folder: Path) -> Iterator[Kdc]:
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        port = trial.getsockname()[1]
    (folder / "krb5.conf").write_text(_CONFIG.format(realm=REALM, other=OTHER_REALM, port=port))
    (folder / "kdc.conf").write_text(_KDC.format(realm=REALM, other=OTHER_REALM, port=port, folder=folder))
    (folder / "acl").write_text("")
    environment = {
        "KRB5_CONFIG": str(folder / "krb5.conf"),
        "KRB5_KDC_PROFILE": str(folder / "kdc.conf"),
        "KRB5RCACHEDIR": str(folder),
        "KRB5RCACHENAME": f"file2:{folder}/replays",
    }
    for realm in (REALM, OTHER_REALM):
        _run(environment, "kdb5_util", "-r", realm, "create", "-s", "-P", "master")
    command = [_command("krb5kdc") or "", "-n", "-r", REALM, "-r", OTHER_REALM, "-P", str(folder / "pid")]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, env={**os.environ, **environment}, stdout=log, stderr=log)
    try:
        eventually(lambda: _listens(port), SOON_SECONDS, "the KDC")
        yield Kdc(folder, environment)
    finally:
        process.terminate()
        process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as trial:
        return trial.connect_ex(("127.0.0.1", port)) == 0


def _run(environment: dict[str, str], name: str, *arguments: str) -> None:
    done = subprocess.run(
        [_command(name) or name, *arguments],
        env={**os.environ, **environment}, capture_output=True, text=True, timeout=LONG_SECONDS,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
