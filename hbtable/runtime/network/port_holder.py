"""Finds the process that listens on a port of this machine, in Linux's /proc, for whoever finds the port taken."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_LISTENS: Final = "0A"


def holder_of(port: int) -> str:
    """The process that has the port, such as "process 4711 (python -m hbtable)"; "" where that cannot be told: not on
    Linux, or of another user."""
    try:
        sockets = {f"socket:[{inode}]" for inode in _listening(port)}
        for process in Path("/proc").iterdir():
            if sockets and process.name.isdigit() and _holds(process, sockets):
                words = (process / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
                return f"process {process.name} ({_shown(words)})"
    except OSError:
        pass
    return ""


def _shown(words: list[str]) -> str:
    """A command line, cut at its end and without the folders of the program and of what that runs: those are long, and
    the words behind them tell who it is."""
    names = [word.rpartition("/")[2] if place < 2 else word for place, word in enumerate(words)]
    return " ".join(names)[:60].strip()


def _listening(port: int) -> Iterator[str]:
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == _LISTENS and int(fields[1].rpartition(":")[2], 16) == port:
                yield fields[9]


def _holds(process: Path, sockets: set[str]) -> bool:
    try:
        return any(os.readlink(process / "fd" / name) in sockets for name in os.listdir(process / "fd"))
    except OSError:  # another user's, or it has just ended
        return False
