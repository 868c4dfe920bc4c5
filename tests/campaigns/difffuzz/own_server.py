"""hbtable: its admin service (thrift/admin.thrift, on the same port) does what Thrift1 has no call for."""

import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import thriftpy2
from thriftpy2.protocol.binary import TBinaryProtocol
from thriftpy2.thrift import TClient
from thriftpy2.transport import TSocket
from thriftpy2.transport.buffered import TBufferedTransport

from tests.campaigns.difffuzz.alphabet import FOREVER
from tests.campaigns.difffuzz.sides import REPOSITORY, Broken, Family, Side, raw

DEFINES: Final = ["tablet.merge_files=10000", "tablet.max_files=10000", "tablet.stall_files=20000"]
"""No compactions of some files: HBase has them at other moments, and a dropped marker shows."""

_KINDS: Final = {"family-version": 2, "version": 4}


class OwnServer(Side):
    """A running one."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(host, port)
        self._idl = thriftpy2.load(str(REPOSITORY / "thrift" / "admin.thrift"), module_name="difffuzz_admin_thrift")
        self._admin: Any = None

    def tell(self, method: str, *arguments: object) -> Any:
        if self._admin is None:
            transport = TBufferedTransport(TSocket(*self.address, socket_timeout=60000))
            transport.open()
            self._admin = TClient(self._idl.HbtableAdmin, TBinaryProtocol(transport))
        try:
            return getattr(self._admin, method)(*arguments)
        except (self._idl.IOError, self._idl.IllegalArgument) as error:
            raise Broken(f"hbtable {method}: {error.message}") from error
        except OSError as error:
            self._admin = None
            raise Broken(f"hbtable {method}: {error}") from error

    def _family(self, family: Family) -> Any:
        attributes = {"KEEP_DELETED_CELLS": family["keepDeleted"]} if "keepDeleted" in family else {}
        return self._idl.AdminFamily(
            name=raw(family["name"]),
            maxVersions=family.get("versions", 1),
            minVersions=family.get("min", 0),
            timeToLiveSeconds=family.get("ttl", FOREVER),
            bloom=family.get("bloom", "NONE"),
            compression=family.get("compression", "NONE"),
            inMemory=bool(family.get("memory")),
            newVersionBehavior=bool(family.get("newVersions")),
            attributes=attributes,
        )

    def create(self, name: str, families: list[Family], splits: Sequence[str]) -> None:
        table = self._idl.AdminTable(name=raw(name), families=[self._family(f) for f in families], attributes={})
        self.tell("adminCreateTable", table, [raw(split) for split in splits])

    def drop(self, names: list[str]) -> None:
        for name in names:
            self.client.call("disableTable", {"tableName": name})
            self.client.call("deleteTable", {"tableName": name})

    def flush(self, name: str) -> None:
        self.tell("adminFlush", raw(name), 0)

    def major(self, name: str) -> None:
        self.flush(name)
        self.tell("adminCompact", raw(name), True, 0, b"")
        quiet = 0
        while quiet < 2:
            quiet = quiet + 1 if self.tell("adminCompactionState", raw(name)) == "NONE" else 0
            time.sleep(0.005)

    def split(self, name: str, row: str) -> None:
        self.tell("adminSplit", raw(name), raw(row), 0)

    def truncate(self, name: str, keep: bool) -> None:
        self.client.call("disableTable", {"tableName": name})
        self.tell("adminTruncateTable", raw(name), keep)

    def _alter(self, name: str, change: Callable[[list[Any]], list[Any]]) -> None:
        table = self.tell("adminTable", raw(name))
        table.families = change(table.families)
        table.version += 1
        self.tell("adminAlterTable", table)

    def add(self, name: str, family: Family) -> None:
        self._alter(name, lambda families: [*families, self._family(family)])

    def modify(self, name: str, family: Family) -> None:
        changed = self._family(family)
        self._alter(name, lambda families: [changed if one.name == changed.name else one for one in families])

    def remove(self, name: str, family: str) -> None:
        self._alter(name, lambda families: [one for one in families if one.name != raw(family)])

    def delete(self, name: str, row: str, kind: str, family: str, qualifier: str, timestamp: int) -> None:
        operation = self._idl.AdminOperation(
            kind=_KINDS[kind], family=raw(family), qualifier=raw(qualifier), timestamp=timestamp, value=b""
        )
        self.tell("adminMutate", raw(name), raw(row), [operation], 0)

    def close(self) -> None:
        super().close()
        if self._admin is not None:
            self._admin.close()
