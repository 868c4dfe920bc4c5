"""Who changes the tables meanwhile: flushes, compactions, splits, merges, moves, schemas, drains, new tables.

What a fault makes fail is not repeated: that it fails is no violation, that it harms is.
"""

import random
import threading
from collections import Counter
from collections.abc import Sequence
from contextlib import closing

from hbtable.hbase.admin.structs import AdminFamily, AdminTable
from hbtable.shell.connection import ShellConnection
from tests.campaigns.chaos import links, rows

_MOST_TABLETS = 24


class Operator(threading.Thread):
    def __init__(self, seed: int, ports: Sequence[int], stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self.done: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        self.reasons: dict[str, str] = {}
        """Why what failed did so, the last time."""
        self._ports, self._stop_it = ports, stop
        self._chance = random.Random(f"operator {seed}")
        self._changes = {
            "flush": self._flush,
            "compaction": self._compact,
            "split": self._split,
            "merge": self._merge,
            "move": self._move,
            "schema": self._alter,
            "drain": self._drain,
            "table made and dropped": self._make_and_drop,
        }

    def run(self) -> None:
        while not self._stop_it.wait(self._chance.uniform(0.2, 1.5)):
            name = self._chance.choice(list(self._changes))
            address = f"127.0.0.1:{self._chance.choice(self._ports)}"
            try:
                with closing(ShellConnection(address, call_seconds=60.0)) as connection:
                    self._changes[name](connection)
            except Exception as error:
                self.failed[name] += 1
                self.reasons[name] = f"{error!r}"[:300]
            else:
                self.done[name] += 1

    def end(self) -> None:
        """After run(): servers that are drained are taken back."""
        with closing(ShellConnection(f"127.0.0.1:{self._ports[0]}", call_seconds=60.0)) as connection:
            for name in connection.admin("adminDecommissioned"):
                connection.admin("adminRecommission", name.encode())

    def _table(self) -> bytes:
        return self._chance.choice((links.TABLE, links.TABLE, rows.TABLE, rows.COUNTERS)).encode()

    def _flush(self, connection: ShellConnection) -> None:
        connection.admin("adminFlush", self._table(), 0)

    def _compact(self, connection: ShellConnection) -> None:
        connection.admin("adminCompact", self._table(), self._chance.random() < 0.5, 0, b"")

    def _split(self, connection: ShellConnection) -> None:
        name = self._table()
        if len(connection.admin("adminTablets", name)) < _MOST_TABLETS:
            connection.admin("adminSplit", name, b"%04x" % self._chance.randrange(1, 65536), 0)

    def _merge(self, connection: ShellConnection) -> None:
        name = self._table()
        tablets = connection.admin("adminTablets", name)
        if len(tablets) >= 4:
            first = self._chance.randrange(len(tablets) - 1)
            connection.admin("adminMerge", name, [one.tablet_id for one in tablets[first : first + 2]])

    def _move(self, connection: ShellConnection) -> None:
        name = self._table()
        tablet = self._chance.choice(connection.admin("adminTablets", name))
        connection.admin("adminMove", name, tablet.tablet_id, b"")

    def _alter(self, connection: ShellConnection) -> None:
        name = self._table()
        table = connection.admin("adminTable", name)
        families = [
            family._replace(
                compression=self._chance.choice(("NONE", "GZ")),
                bloom=self._chance.choice(("ROW", "ROWCOL", "NONE")),
                max_versions=self._chance.choice((1, 3)),
                block_bytes=self._chance.choice((4096, 65536)),
            )
            for family in table.families
            if family.name != b"spare"
        ]
        if len(families) == len(table.families):
            families.append(AdminFamily(b"spare"))  # and the next change takes it away
        connection.admin("adminAlterTable", table._replace(version=table.version + 1, families=families))

    def _drain(self, connection: ShellConnection) -> None:
        for name in connection.admin("adminDecommissioned"):
            connection.admin("adminRecommission", name.encode())
        if self._chance.random() < 0.5:
            server = self._chance.choice(connection.admin("adminServers", []))
            connection.admin("adminDecommission", [server.name.encode()], True)
            self._stop_it.wait(self._chance.uniform(0.5, 5))
            connection.admin("adminRecommission", server.name.encode())

    def _make_and_drop(self, connection: ShellConnection) -> None:
        name = b"short-lived-%d" % self._chance.randrange(10**9)
        connection.admin("adminCreateTable", AdminTable(name, families=[AdminFamily(b"f")]), [b"m"])
        connection.hbase("disableTable", name)
        connection.hbase("deleteTable", name)
