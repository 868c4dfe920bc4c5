"""An engine's reads and writes as a user with a few rights, over TLS: its tasks are in other processes or threads, and
have the user's name, the CA and the name of the file with the secret from the split."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from struct import pack
from typing import Any, Final

import pytest

import hbtable
from hbtable.access.store import AccountFile
from hbtable.hbase.admin.structs import AdminGrant
from tests.harness.certificates import CA, put_certificate
from tests.harness.cheap_passwords import cheap
from tests.harness.engine_tables import TYPES, Engine, Record, check_changes, check_mistakes, check_odd_tables
from tests.harness.server import ServerProcess

_SECRETS: Final = {"ann": "ann's password", "ben": "ben's password"}
_RECORDS: Final[list[Record]] = [(b"a", b"\xff\0", 1), (b"n", None, -2), (b"z", b"", 3)]


@contextmanager
def _server(folder: Path) -> Iterator[ServerProcess]:
    """It lets nobody in without TLS. Ann may do everything."""
    users = AccountFile(str(folder / "data"))
    for name, secret in _SECRETS.items():
        users.change(lambda accounts, name=name, secret=secret: accounts.with_user(name, cheap(secret.encode())))
        (folder / name).touch(0o600)
        (folder / name).write_text(secret)
    certificate, key = put_certificate("server", folder)
    defines = ["auth.enabled=true", "auth.superusers=ann", "tls.required=true"]
    defines += [f"tls.certificate={certificate}", f"tls.key={key}", "log.durability=os"]
    with ServerProcess(folder / "data", defines) as server:
        yield server


def check_user_rights_and_tls(engine: Engine, _: ServerProcess, place: Path) -> None:
    """What ben may read is read whole, and of what he may not neither a plan is made nor a cell written."""
    folder = place / "secured"
    folder.mkdir()
    with _server(folder) as server:

        def connected(user: str) -> hbtable.Database:
            return hbtable.connect("localhost", server.port, 60_000, ca=CA, user=user, secret=str(folder / user))

        with pytest.raises(hbtable.HbtableError), hbtable.connect("localhost", server.port, 60_000) as plain:
            plain.tables()
        with connected("ann") as ann, connected("ben") as ben:
            _fill(ann)
            may_read = engine.source(ben.table("shared"), TYPES, row_start=b"a")
            assert may_read() == _RECORDS
            with pytest.raises(hbtable.AccessDenied, match="ben"):
                engine.source(ben.table("shared"), {"hidden:n": None})
            if engine.sink is not None:
                _check_writes(engine.sink, ann, ben)
            later = engine.source(ben.table("shared"), TYPES)
            _grant(ann, "adminRevoke", "", "shared", "c")
            with pytest.raises(Exception) as caught:
                later()
            assert re.search("Insufficient permissions .*ben", str(caught.value))


def _fill(ann: hbtable.Database) -> None:
    shared = ann.create_table("shared", ["c", "hidden"], split_rows=["m"])
    for row, raw, number in _RECORDS:
        shared.put(row, {"c:n": pack(">q", number), "hidden:n": "nobody's", **({} if raw is None else {"c:raw": raw})})
    ann.create_table("own", ["c"])
    _grant(ann, "adminGrant", "R", "shared", "c")
    _grant(ann, "adminGrant", "RW", "own", "")


def _grant(ann: Any, method: str, actions: str, table: str, family: str) -> None:
    grant = AdminGrant("ben", actions, b"", table.encode(), family.encode())
    ann.calls.admin(method, grant, *((False,) if method == "adminGrant" else ()))


def _check_writes(
    sink: Callable[..., Callable[[list[tuple[bytes | None, int]]], None]], ann: hbtable.Database, ben: hbtable.Database
) -> None:
    sink(ben.table("own"), "c:n")([(b"r", 1), (b"s", -2)])
    assert dict(ann.table("own").scan()) == {b"r": {b"c:n": pack(">q", 1)}, b"s": {b"c:n": pack(">q", -2)}}
    before = list(ann.table("shared").scan())
    with pytest.raises(Exception) as caught:
        sink(ben.table("shared"), "c:n")([(b"r", 1)])
    assert "Insufficient permissions" in str(caught.value)
    assert list(ann.table("shared").scan()) == before


CHECKS: Final = (check_odd_tables, check_mistakes, check_changes, check_user_rights_and_tls)
"""Of every engine."""
