"""The origin of a transfer: the cluster, the table, the options, and the file that was read.

It is kept with the state of a transfer, and compared when the transfer goes on: the offset of another file, or the
position in another table, would leave rows out or mix two tables without a word.
"""

import hashlib
from pathlib import Path
from typing import Final, final

from hbtable.shell.connection import ShellConnection
from hbtable.shell.context import table_error
from hbtable.shell.errors import ArgumentError, ServerError

State = dict[str, object]
_PIECE: Final = 1 << 20
_CHANGED: Final = {
    "cluster": "went to another cluster",
    "table": "was about another table",
    "table_id": "was about another table: this one was dropped and created, or truncated, meanwhile",
    "file_format": "had another --format",
    "columns": "had other --columns",
    "size": "read a file of another size",
    "digest": "read a file with other bytes",
}
"""In the order in which they are told: a changed file differs in size and digest."""


def origin_of(server: ShellConnection, table: bytes, **options: object) -> State:
    """The origin of the table as the server knows it now. ShellError: there is no such table."""
    try:
        found = server.admin("adminTable", table)
    except ServerError as error:
        raise table_error(error, table) from None
    name = table.decode("utf-8", "backslashreplace")
    return {"cluster": server.hbase("getClusterId"), "table": name, "table_id": found.table_id, **options}


def refuse_another(path: Path, state: State, now: State) -> None:
    """ArgumentError when the state at `path` was not kept by the transfer that is to go on."""
    for what, message in _CHANGED.items():
        if state.get(what) != now.get(what):
            raise ArgumentError(f"{path} was left by a run that {message}; {ANEW}")


ANEW: Final = "begin anew with --anew, which forgets how far that run came"


@final
class FileDigest:
    """SHA-256 of a file's first bytes. Each byte is read once, however often it is asked."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self._hash = hashlib.sha256()
        self._at = 0

    def up_to(self, end: int) -> str:
        """The digest of the first `end` bytes, or of all when there are fewer. `end` never goes back."""
        while piece := self._file.read(min(end - self._at, _PIECE)):
            self._hash.update(piece)
            self._at += len(piece)
        return self._hash.hexdigest()

    def close(self) -> None:
        self._file.close()
