"""The parts of an export: one for each tablet, so that several workers read different tablets at the same time.

A part is the rows of [start, stop) in a file of its own beside the target, <target>.part-<number>. When all are done
they are joined in the order of their rows, and removed. A text part that was broken off goes on behind its last page
known to be whole; a Parquet part, whose footer comes last, begins again.
"""

import base64
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hbtable.hbase.admin_structs import AdminPosition

_Saved = dict[str, object]


@dataclass(slots=True)
class Part:
    """`bytes` of the part's file, `rows` in it, and where its scan goes on: what is known to be whole."""

    number: int
    start: bytes
    stop: bytes
    rows: int = 0
    bytes: int = 0
    position: AdminPosition | None = None
    done: bool = False

    def path(self, target: Path) -> Path:
        return target.with_name(f"{target.name}.part-{self.number:05d}")

    def saved(self) -> _Saved:
        position = self.position
        return {
            "start": _text(self.start),
            "stop": _text(self.stop),
            "rows": self.rows,
            "bytes": self.bytes,
            "position": [_text(position.row), position.cells_done, _text(position.filter_state)] if position else None,
            "done": self.done,
        }


def restored(state: dict[str, object]) -> list[Part]:
    """[] when nothing usable was saved."""
    found = []
    saved = state.get("parts")
    for number, one in enumerate(saved if isinstance(saved, list) else []):
        held = one["position"]
        position = AdminPosition(_bytes(held[0]), held[1], _bytes(held[2])) if held else None
        part = Part(number, _bytes(one["start"]), _bytes(one["stop"]), one["rows"], one["bytes"], position, one["done"])
        found.append(part)
    return found


def joined(target: Path, parts: Sequence[Part], header: bytes) -> None:
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


def remove(target: Path, parts: Sequence[Part]) -> None:
    for part in parts:
        part.path(target).unlink(missing_ok=True)


def _text(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _bytes(value: str) -> bytes:
    return base64.b64decode(value)
