"""Makes golden folders of a cluster: its shared file system and its lock service, as a crash of everything left them.

    cd CHECKOUT && PYTHONPATH=CHECKOUT python .../tests/golden/make_cluster.py NAME

CHECKOUT as in make.py. A simulated cluster of that commit is filled, has ranges of rows deleted, a family added later,
quotas, users and grants, loses a tablet server, and ends as in a loss of power while it recovers:
tests/golden/NAME-hdfs.tar.xz, whose logs are of segments, and NAME-webhdfs.tar.xz, of group files. Each holds `files/`,
what is on the shared file system, `lockservice.json`, what the lock service has, and `model.json`.
"""

import io
import json
import sys
import tarfile
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from workload import COLUMN, FAMILY, FAMILY_VERSION, T0, VERSION, ModelTable

from hbtable.access.actions import actions_of, letters_of
from hbtable.access.grants_file import grants_file
from hbtable.access.passwords import PasswordHash, TokenRecord
from hbtable.access.scopes import GLOBAL, of_table
from hbtable.access.store import AccountNode
from hbtable.model.mutation import (
    DELETE_COLUMN,
    DELETE_FAMILY,
    DELETE_FAMILY_VERSION,
    DELETE_VERSION,
    PUT,
    RowMutation,
)
from hbtable.model.ranges import RowRange
from hbtable.model.schema import FamilySchema, TableSchema
from tests.harness.sim_cluster import SimCluster, SimOptions

KINDS: Final = {
    FAMILY: DELETE_FAMILY,
    FAMILY_VERSION: DELETE_FAMILY_VERSION,
    COLUMN: DELETE_COLUMN,
    VERSION: DELETE_VERSION,
}


class GoldenCluster:
    """A simulated cluster, and the model of what it was told."""

    def __init__(self, log_kind: str) -> None:
        self.cluster = SimCluster(SimOptions(seed=20, servers=2, masters=1, log_kind=log_kind))
        self.table = ModelTable(b"t", "", {b"f": {"max_versions": 3}, b"g": {"max_versions": 2, "compression": "ZSTD"}})

    def fill(self) -> None:
        """In the cluster's own process."""
        cluster = self.cluster
        cluster.start()
        cluster.runtime.sleep(5)
        self._process = cluster.add_client()
        schemas = {name: FamilySchema(name, **options) for name, options in self.table.families.items()}
        self._client("create_table", TableSchema(b"t", schemas), [b"row-15"])
        self._write(0)
        self._delete_range(0)
        self._client("flush", b"t")
        self._write(1)
        self._delete_range(1)
        self._client("split", b"t", b"row-22")
        self._add_family()
        self._write(2)
        self._put_ranged(b"new", T0 + 100)
        self.access()
        self._kill_owner()
        while not self._recovering():
            cluster.runtime.sleep(0.01)
        cluster.down = True
        for process in cluster.processes():
            process.kill()

    def _put_ranged(self, value: bytes, time: int, rows: tuple[bytes, ...] = (b"row-30-gone-2",)) -> None:
        for row in rows:
            self._mutate(row, [(PUT, b"f", b"q", time, value)])
            self.table.put(row, b"f:q", value, time)

    def _delete_range(self, turn: int) -> None:
        """Of what lies in files, and of what is in memory."""
        rows = tuple(b"row-30-%s-%d" % (kind, number) for kind in (b"gone", b"kept") for number in range(5))
        self._put_ranged(b"turn %d" % turn, T0 + 10 * turn, rows)
        if turn:
            self._client("flush", b"t")
        table = self._process.client.table(b"t")
        self.cluster.in_process(self._process, table.delete_range, RowRange(b"row-30-gone", b"row-30-h"))
        self.table.delete_rows(b"row-30-gone")

    def _add_family(self) -> None:
        """Its cells stand under its identity: /cluster lists that as a feature."""
        self.table.families[b"h"] = {"max_versions": 1}
        schemas = {name: FamilySchema(name, **options) for name, options in self.table.families.items()}
        self._client("alter_table", TableSchema(b"t", schemas, version=2))

    def access(self) -> None:
        """Who may come in, do what, and ask for how much."""
        process = self._process
        session = process.connect()

        def change() -> None:
            token = TokenRecord("0123456789abcdef", sha256(b"secret").digest(), 0)
            AccountNode(session).change(
                lambda users: (
                    users.with_user("ann", PasswordHash.of("golden password"))
                    .with_user("ben", None)
                    .with_token("ben", token, 0)
                )
            )
            grants_file(session).change(
                lambda grants: (
                    grants.with_grant("ann", of_table(b"t", b"f"), actions_of("RW"))
                    .with_grant("@staff", of_table(b"t"), actions_of("R"))
                    .with_grant("ben", GLOBAL, actions_of("CA"))
                )
            )
            master = process.transport.master()
            master.set_throttle("ann", b"", b"t", False, "READ_NUMBER", 1000, 60)
            master.set_throttle("", b"default", b"", False, "WRITE_SIZE", 1 << 30, 3600)
            master.set_space_limit(b"", b"t", 1 << 40, "NO_WRITES")
            master.set_quota_exemption("ben", True)
            self.quotas = [dict(one) for one in master.quotas()]
            self.users = sorted(AccountNode(session).read().by_name)
            self.grants = [[one.holder, str(one.scope), letters_of(one.actions)] for one in grants_file(session).read()]

        self.cluster.in_process(process, change)

    def _kill_owner(self) -> None:
        """Of the first tablet: what it had in memory is in its log alone."""
        cluster = self.cluster
        owner = self._client("tablets", b"t")[0].owner
        for slot in cluster.servers:
            if slot.process.role.incarnation == owner:
                slot.process.kill()

    def _recovering(self) -> bool:
        """The end of the dead server's log is decided, its records are sorted, and nobody has loaded them yet."""
        return any(path.endswith("/sorted/complete") for path in self.cluster.disk.files)

    def _client(self, name: str, *arguments: Any) -> Any:
        return self.cluster.in_process(self._process, getattr(self._process.client.admin, name), *arguments)

    def _mutate(self, row: bytes, operations: list[Any]) -> None:
        table = self._process.client.table(b"t")
        self.cluster.in_process(self._process, table.mutate, [RowMutation(row, operations)])

    def _write(self, turn: int) -> None:
        time = T0 + 10 * turn
        for number in range(30):
            row, value = b"row-%02d" % number, b"turn %d " % turn * 20
            self._mutate(row, [(PUT, family, b"q", time, value) for family in self.table.families])
            for family in self.table.families:
                self.table.put(row, family + b":q", value, time)
        for number, (kind, code) in enumerate(KINDS.items()):
            row = b"row-%02d" % (6 * number + turn)
            qualifier = b"" if "family" in kind else b"q"
            self._mutate(row, [(code, b"f", qualifier, time, b"")])
            self.table.delete(kind, row, b"f:" + qualifier, time)


def main(name: str, log_kind: str) -> None:
    golden = GoldenCluster(log_kind)
    golden.cluster.runtime.run(golden.fill)
    here = Path(__file__).resolve().parent
    files = golden.cluster.lock_service._files
    locks = {path: files.load(path) for path in files.paths()}
    cells = [[_text(part) for part in place] + [[[time, _text(value)] for time, value in versions]]
             for place, versions in golden.table.cells()]  # fmt: skip
    with tarfile.open(here / f"{name}-{log_kind}.tar.xz", "w:xz") as archive:
        for path, content in sorted(golden.cluster.disk.files.items()):
            _add(archive, f"files/{path}", bytes(content.content))
        _add(
            archive, "lockservice.json", _json({path: [file.version, _text(file.data)] for path, file in locks.items()})
        )
        model = {"log_kind": log_kind, "tables": {"t": {"cells": cells}}}
        access = {"quotas": golden.quotas, "users": golden.users, "grants": golden.grants}
        _add(archive, "model.json", _json(model | access))


def _text(data: bytes) -> str:
    return data.decode("latin-1")


def _json(content: object) -> bytes:
    return json.dumps(content, indent=1).encode("ascii")


def _add(archive: tarfile.TarFile, path: str, content: bytes) -> None:
    entry = tarfile.TarInfo(path)
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))


if __name__ == "__main__":
    for kind in ("hdfs", "webhdfs"):
        main(sys.argv[1], kind)
