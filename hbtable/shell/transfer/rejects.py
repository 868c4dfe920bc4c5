"""The records that an import skipped: in --errors as they stand in the file, to be put right and imported again, and
what is wrong with each in a second file beside it, <errors>.why.

They are written when the round in which they were read is acknowledged, just before the progress that speaks of it:
what the progress counts as skipped is there, also after a loss of power. A break between the two leaves them twice.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import final

from hbtable.shell.transfer.records import BadRecord


@final
class Rejects:
    """The records that an import skips. `path` None: they are counted only. `header` is the first line where the file
    is new."""

    def __init__(self, path: Path | None, header: bytes) -> None:
        self._path = path
        self._header = header

    def keep(self, rejected: Sequence[tuple[str, BadRecord]]) -> None:
        """Each with its place. Durable on return."""
        if self._path is None or not rejected:
            return
        lines = [_line(record.raw) for _, record in rejected]
        reasons = [f"{place}: {record}\n".encode("utf-8", "surrogateescape") for place, record in rejected]
        _append(self._path, lines, self._header)
        _append(self._path.with_name(f"{self._path.name}.why"), reasons, b"")


def _line(raw: bytes) -> bytes:
    """The last line of a file may lack its end."""
    return raw if raw.endswith(b"\n") else raw + b"\n"


def _append(path: Path, lines: Sequence[bytes], header: bytes) -> None:
    with path.open("ab") as file:
        if not file.tell():
            file.write(header)
        file.write(b"".join(lines))
        file.flush()
        os.fsync(file.fileno())
