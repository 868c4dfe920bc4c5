"""The parts of an export: one for each tablet, so that several workers read different tablets at the same time.

A part is the rows of [start, stop) in a file of its own beside the target, <target>.part-<number>. When all are done
they are joined in the order of their rows, and removed. A text part that was broken off goes on behind its last page
known to be whole; a Parquet part, whose footer comes last, begins again. A part whose file is gone begins again, one
whose file was changed is refused.
"""

import glob
import hashlib
import os
import shutil
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from hbtable.hbase.admin.structs import AdminPosition
from hbtable.shell.errors import ArgumentError
from hbtable.shell.transfer.origin import ANEW

_Row = bytes  # which is a field below
_Saved = dict[str, object]
_PIECE: Final = 1 << 20


@dataclass(slots=True)
class ExportPart:
    """One part of an export: `bytes` of its file and `rows` in it that are known to be whole, and where its scan goes
    on."""

    number: int
    start: bytes
    stop: bytes
    rows: int = 0
    bytes: int = 0
    position: AdminPosition | None = None
    done: bool = False
    digest: "hashlib._Hash" = field(default_factory=hashlib.sha256)
    """Of those bytes."""
    empty: int = 0
    """Cells that CSV and TSV do not keep."""
    mortal: int = 0
    """Cells whose own time to live Parquet does not keep."""
    last: _Row = b""
    """The row that ends the file: the next page may begin with more of it."""

    def begin(self) -> None:
        """Again."""
        self.rows, self.bytes, self.position, self.done, self.digest = 0, 0, None, False, hashlib.sha256()
        self.empty, self.mortal, self.last = 0, 0, b""

    def count(self, rows: Sequence[_Row]) -> None:
        """The rows of the next page, of which several in succession may be pieces of one."""
        for row in rows:
            if row != self.last:
                self.rows += 1
                self.last = row

    def take(self, path: Path, size: int | None = None) -> str:
        """The part is the first `size` bytes of `path`, or all of it; their digest."""
        digest = hashlib.sha256()
        read = 0
        left = path.stat().st_size if size is None else size
        with path.open("rb") as file:
            while piece := file.read(min(left - read, _PIECE)):
                digest.update(piece)
                read += len(piece)
        self.digest, self.bytes = digest, read
        return digest.hexdigest()

    def path(self, target: Path) -> Path:
        return target.with_name(f"{target.name}.part-{self.number:05d}")

    def saved(self) -> _Saved:
        position = self.position
        return {
            "start": _text(self.start),
            "stop": _text(self.stop),
            "rows": self.rows,
            "bytes": self.bytes,
            "position": _place(position) if position else None,
            "done": self.done,
            "digest": self.digest.hexdigest(),
            "empty": self.empty,
            "mortal": self.mortal,
            "last": _text(self.last),
        }


def restored(state: dict[str, object], target: Path) -> list[ExportPart]:
    """[] when nothing was saved. ArgumentError when a file is not what was saved."""
    found = []
    saved = state.get("parts")
    for number, one in enumerate(saved if isinstance(saved, list) else []):
        held = one["position"]
        position = _position(held) if held else None
        part = ExportPart(
            number,
            b64decode(one["start"]),
            b64decode(one["stop"]),
            one["rows"],
            one["bytes"],
            position,
            one["done"],
        )
        part.empty = one.get("empty", 0)  # earlier releases kept neither this nor the last row, nor the next
        part.mortal = one.get("mortal", 0)
        begun = position.row if position and position.cells_done else b""
        part.last = b64decode(one["last"]) if "last" in one else begun
        path = part.path(target)
        # One that is not done and has nowhere to go on from begins again. A run that was broken off in that may have
        # begun to write its file anew, which is then not what was saved.
        if not path.exists() or (position is None and not part.done):
            part.begin()
        elif part.take(path, part.bytes) != one["digest"]:
            raise ArgumentError(f"{path} was changed since the run that left it; {ANEW}")
        found.append(part)
    return found


def joined(target: Path, parts: Sequence[ExportPart], header: bytes) -> None:
    """Text parts as one file, durable on return. A break leaves the parts, and no half target."""
    beside = target.with_name(f"{target.name}.new")
    with beside.open("wb") as whole:
        whole.write(header)
        for part in parts:
            with part.path(target).open("rb") as piece:
                shutil.copyfileobj(piece, whole, 1 << 20)
        whole.flush()
        os.fsync(whole.fileno())
    os.replace(beside, target)


def forget(target: Path) -> None:
    """Whatever parts earlier runs left, of however many tablets."""
    for path in target.parent.glob(f"{glob.escape(target.name)}.part-[0-9][0-9][0-9][0-9][0-9]"):
        path.unlink()


def remove(target: Path, parts: Sequence[ExportPart]) -> None:
    for part in parts:
        part.path(target).unlink(missing_ok=True)


def _text(value: bytes) -> str:
    return b64encode(value).decode()


def _place(position: AdminPosition) -> list[object]:
    named = _text(position.row), position.cells_done, _text(position.filter_state), _text(position.column)
    return [*named, position.timestamp, position.versions]


def _position(held: Any) -> AdminPosition:
    """Earlier releases kept three fields of it: the cells are counted then."""
    row, done, state, *last = held
    column, timestamp, versions = last or ("", 0, 0)
    return AdminPosition(b64decode(row), done, b64decode(state), b64decode(column), timestamp, versions)
