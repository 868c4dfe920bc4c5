"""The parts of a copy: one for each region of the source, so that several are copied at the same time.

A part is known to be copied up to `row`, which is copied once more when the copy goes on: that changes nothing.
"""

from base64 import b64decode, b64encode
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hbtable.model.visible import visible
from hbtable.shell.errors import ArgumentError
from hbtable.shell.transfer.origin import ANEW


@dataclass(slots=True)
class CopyPart:
    """Rows from `start` up to, and without, `stop` of a table; b"" is no bound."""

    table: bytes
    start: bytes
    stop: bytes
    row: bytes = b""
    """It goes on with this one; b"" is the start."""
    rows: int = 0
    cells: int = 0
    done: bool = False

    def shown(self) -> str:
        """The part, for people."""
        name = self.table.decode("utf-8", "backslashreplace")
        return f"{name} [{_words(self.start)}, {_words(self.stop)})"

    def hidden_cells(self, allow_fewer: bool) -> str:
        """The reason for cells that are missing after they were written."""
        name = self.table.decode("utf-8", "backslashreplace")
        fewer = ", or the target keeps fewer cells" if allow_fewer else ""
        return (
            f"{self.shown()}: what was written is missing still. If nobody wrote to the source meanwhile, "
            f"delete markers of the target hide it{fewer}: "
            f"flush '{name}' and major_compact '{name}' in the target's shell remove the markers; "
            "then give the same command again"
        )

    def saved(self) -> dict[str, object]:
        return {
            "table": _text(self.table),
            "start": _text(self.start),
            "stop": _text(self.stop),
            "row": _text(self.row),
            "rows": self.rows,
            "cells": self.cells,
            "done": self.done,
        }


def restored(saved: Any) -> list[CopyPart]:
    """[] when nothing was saved."""
    return [
        CopyPart(
            b64decode(one["table"]),
            b64decode(one["start"]),
            b64decode(one["stop"]),
            b64decode(one["row"]),
            one["rows"],
            one["cells"],
            one["done"],
        )
        for one in saved or ()
    ]


def left_of(path: Path, left: dict[str, Any]) -> tuple[int, list[CopyPart]]:
    """`began_millis` and the parts of a state; `path` is where it was. ArgumentError when it is damaged."""
    try:
        parts = restored(left["parts"])
        numbers = [left["began_millis"], *(number for part in parts for number in (part.rows, part.cells))]
    except (LookupError, TypeError, ValueError):
        raise ArgumentError(f"{path} is damaged, so how far the last copy came is unknown; {ANEW}") from None
    if not all(type(number) is int and number >= 0 for number in numbers):
        raise ArgumentError(f"{path} is damaged, so how far the last copy came is unknown; {ANEW}")
    return numbers[0], parts


def _words(row: bytes) -> str:
    return visible(row.decode("utf-8", "backslashreplace"))


def _text(value: bytes) -> str:
    return b64encode(value).decode()
