"""Entries of a data folder that are files where folders belong, or the other way round.

To whoever reads, such an entry is not there, and nobody can write it: a start would fail somewhere, and a check that
reads would find a file missing at most. So both look here first, and a repair puts the entry aside.
"""

import os
from collections.abc import Iterator
from typing import Final

from hbtable.fs import disk
from hbtable.fs.paths import UNFINISHED

_FILES: Final = (
    "FORMAT", "LOCK", "ballast", "cluster", "lockservice/epochs", "metadata/root-tablet", "requests-under-way",
)  # fmt: skip
_FOLDERS: Final = (
    "front-door", "lockservice", "lockservice/damaged", "lockservice/files", "logs", "metadata", "probes", "sstables",
    "trash", UNFINISHED,
)  # fmt: skip
_OF_FILES: Final = ("lockservice/files",)
_OF_FOLDERS: Final = ("logs", "sstables")
_ASIDE: Final = "wrong-kind"
"""A folder that nothing else reads."""


def of_wrong_kind(root: str) -> dict[str, str]:
    """The message about each, by its path below `root`."""
    return dict(_found(root))


def put_aside(root: str, dry_run: bool = False) -> list[str]:
    """Moves them to a folder that nothing reads, and says so; durable on return. Nobody may use the data folder."""
    done = []
    for path, what in list(_found(root)):
        aside = f"{_ASIDE}/{path}"
        while os.path.lexists(f"{root}/{aside}"):  # of an earlier repair
            aside += "+"
        if not dry_run:
            disk.make_folders(root, os.path.dirname(f"{root}/{aside}"))
            os.rename(f"{root}/{path}", f"{root}/{aside}")
            disk.sync_folder_of(f"{root}/{aside}", f"{root}/{path}")
        done.append(f"{path} {what}: moved to {aside}")
    return done


def _found(root: str) -> Iterator[tuple[str, str]]:
    for path in (*_FILES, *_inside(root, _OF_FILES)):
        if os.path.isdir(f"{root}/{path}"):
            yield path, "is a folder, where hbtable keeps a file"
    for path in (*_FOLDERS, *_inside(root, _OF_FOLDERS)):
        if os.path.exists(f"{root}/{path}") and not os.path.isdir(f"{root}/{path}"):
            yield path, "is a file, where hbtable keeps a folder"


def _inside(root: str, folders: tuple[str, ...]) -> list[str]:
    """The entries right below these."""
    there = [folder for folder in folders if os.path.isdir(f"{root}/{folder}")]
    return [f"{folder}/{name}" for folder in there for name in sorted(os.listdir(f"{root}/{folder}"))]
