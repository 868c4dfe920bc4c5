"""The origin of a transfer: the cluster, the table, the options, and the file that was read.

It is kept with the state of a transfer, and compared when the transfer goes on: the offset of another file, or the
position in another table, would leave rows out or mix two tables without a word. For the same reason the table is
compared while the transfer runs, and when it ends.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Final, final

from hbtable.model.names import shown
from hbtable.shell.errors import ArgumentError, ShellError
from hbtable.shell.transfer.servers import REGIONS, State, TransferServer

_PIECE: Final = 1 << 20
_CHANGED: Final = {
    "cluster": "went to another cluster",
    "table": "was about another table",
    "table_id": "was about another table: this one was dropped and created, or truncated, meanwhile",
    REGIONS: "was about another table, or all regions of this one are others now: it was truncated, split or dropped",
    "file_format": "had another --format",
    "columns": "had other --columns or --types",
    "size": "read a file of another size",
    "digest": "read a file with other bytes",
}
"""In the order in which they are told: a changed file differs in size and digest."""
_MADE_ANEW: Final = {
    "table_id": "was dropped and created, or truncated,",
    REGIONS: "was dropped and created, or truncated, or all of its regions were split or merged,",
}
"""Without the cluster: as HBase's services tell it, a server that begins again gives it another name."""


def origin_of(server: TransferServer, table: bytes, **options: object) -> State:
    """The origin of the table as the server knows it now. ShellError: there is no such table."""
    return {"table": table.decode("utf-8", "backslashreplace"), **server.origin(table), **options}


def refuse_another(path: Path, state: State, now: State) -> None:
    """ArgumentError when the state at `path` was not kept by the transfer that is to go on."""
    for what, message in _CHANGED.items():
        if _differs(what, state, now):
            raise ArgumentError(f"{path} was left by a run that {message}; {ANEW}")


def looked_at(server: TransferServer, table: bytes, origin: State, left: str) -> State:
    """The origin of a transfer under way as it is now: regions may have been split or merged since. ShellError: the
    table was made anew. `left`: what the transfer leaves then, for people."""
    now = {**origin, **server.origin(table)}
    for what, message in _MADE_ANEW.items():
        if _differs(what, origin, now):
            raise ShellError(f"table {shown(table)} {message} while this ran: {left}; {ANEW}")
    return now


def _differs(what: str, state: State, now: State) -> bool:
    return state.get(what) != now.get(what) and not (what == REGIONS and _shared(state, now))


def _shared(state: State, now: State) -> bool:
    """Whether the table has one of the regions still that it had: some may have been split or merged."""
    before, after = state.get(REGIONS), now.get(REGIONS)
    return isinstance(before, list) and isinstance(after, list) and not set(before).isdisjoint(after)


ANEW: Final = "begin anew with --anew, which forgets how far that run came"


@final
class FilesDigest:
    """SHA-256 of the first bytes of files, as if they were one. Each byte is read once, however often it is asked."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._left = list(reversed(paths))
        self._file: IO[bytes] | None = None
        self._hash = hashlib.sha256()
        self._at = 0

    def up_to(self, end: int) -> str:
        """The digest of the first `end` bytes, or of all when there are fewer. `end` never goes back."""
        while self._at < end and (self._file or self._left):
            if self._file is None:
                self._file = self._left.pop().open("rb")
            piece = self._file.read(min(end - self._at, _PIECE))
            self._hash.update(piece)
            self._at += len(piece)
            if not piece:
                self.close()
        return self._hash.hexdigest()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
