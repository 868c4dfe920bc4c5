"""A client that puts one row after the other through one server of a cluster, whatever happens to it."""

import threading
import time

import happybase

from tests.harness.role_processes import RoleProcess
from tests.harness.waiting import SOON_SECONDS, eventually


class WrittenRows:
    """Rows 1, 2, 3 ... of a table with the family "f", each put until it is acknowledged."""

    def __init__(self, server: RoleProcess, table: str) -> None:
        self._server = server
        self._table = table
        self.acknowledged = 0
        self.longest_seconds = 0.0
        """Between two that were acknowledged; may be set back to 0."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        connection: happybase.Connection | None = None
        last = time.monotonic()
        while not self._stop.is_set():
            row = _row(self.acknowledged + 1)
            try:
                connection = connection or self._server.connect()
                connection.table(self._table).put(row, {b"f:q": row})
            except Exception:
                if connection is not None:
                    connection.close()
                connection = None
                self._stop.wait(0.1)
            else:
                self.acknowledged += 1
                now = time.monotonic()
                self.longest_seconds = max(self.longest_seconds, now - last)
                last = now
        if connection is not None:
            connection.close()

    def go_on(self, when: str, rows: int = 20) -> None:
        """So many more are acknowledged on return."""
        enough = self.acknowledged + rows
        eventually(lambda: self.acknowledged >= enough, 3 * SOON_SECONDS, f"rows acknowledged {when}")

    def end(self) -> None:
        """No more are put on return."""
        self._stop.set()
        self._thread.join(3 * SOON_SECONDS)
        assert not self._thread.is_alive()

    def lost(self, connection: happybase.Connection) -> list[bytes]:
        """The acknowledged rows that are not there, after end()."""
        found = {row for row, _ in connection.table(self._table).scan()}
        return [row for row in map(_row, range(1, self.acknowledged + 1)) if row not in found]


def _row(number: int) -> bytes:
    return b"%08d" % number
