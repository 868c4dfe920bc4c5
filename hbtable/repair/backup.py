"""Keeps a copy of whatever a repair changes: nothing is deleted, it is moved.

Layout: <folder>/<old path>. To take a repair back, stop whatever runs and copy these files back over the others. Until
the repair has ended the folder has a file that says so: what it left half done must not be taken for the damage.
"""

import hashlib
from collections.abc import Callable
from typing import Final, final

from hbtable.errors import AlreadyExists, FileNotFound
from hbtable.fs.interface import FileSystem
from hbtable.switches import switches

UNFINISHED_REPAIR: Final = "UNFINISHED-REPAIR"
FILES_OF: Final = "files-of"
"""In that file, before the incarnation after which the repair names its SSTables."""


def digest(data: bytes | None) -> str:
    return "absent" if data is None else hashlib.sha256(data).hexdigest()


@final
class Backup:
    """The backup of one repair. `target` holds the copies, below `folder`; it may be `fs` itself."""

    def __init__(
        self, fs: FileSystem, target: FileSystem, folder: str, held: Callable[[], None] = lambda: None
    ) -> None:
        """`held` raises when the files may be somebody else's by now; asked before each change."""
        self._fs = fs
        self._target = target
        self.held = held
        self.folder = folder
        self.kept: list[str] = []
        self._marker = f"{folder}/{UNFINISHED_REPAIR}"
        self._begun = False
        self._roots = ""

    @switches
    def note_root(self, data: bytes | None) -> None:
        """The root tablet's record is, or is about to be, this one; None: there is none. Durable on return once
        anything was changed: whether a cluster served since an interrupted repair is seen by the record."""
        self._roots += f"{digest(data)}\n"
        if self._begun:
            self._target.write_file(self._marker, self._roots.encode())

    @switches
    def note_files(self, incarnation: str) -> None:
        """SSTables of this name are about to be added. Durable on return."""
        self._roots += f"{FILES_OF} {incarnation}\n"
        self._begin()
        self._target.write_file(self._marker, self._roots.encode())

    @switches
    def replace(self, path: str, data: bytes) -> None:
        """Durable on return, as is the copy of what was there."""
        self.keep(path)
        self.held()
        self._fs.write_file(path, data)

    @switches
    def keep(self, path: str) -> None:
        """Copies a file before it is replaced; fine when it is not there."""
        try:
            self._copy(path)
        except FileNotFound:
            pass

    @switches
    def remove(self, path: str) -> None:
        """Moves a file to the backup. FileNotFound."""
        self._copy(path)
        self.held()
        self._fs.delete(path)

    @switches
    def put_aside(self, name: str, data: bytes) -> None:
        """Keeps `data`, which is no file of `fs`, under this name."""
        self._begin()
        self._put(name, data)

    @switches
    def end(self) -> None:
        """Ends the backup: nothing more will be changed."""
        if self._begun:
            self._target.delete(self._marker)

    @switches
    def _copy(self, path: str) -> None:
        data = self._fs.read_file(path)
        self._begin()
        self._put(path, data)

    @switches
    def _begin(self) -> None:
        self.held()
        if not self._begun:
            self._target.write_file(self._marker, self._roots.encode())
            self._begun = True

    @switches
    def _put(self, path: str, data: bytes) -> None:
        kept = f"{self.folder}/{path}"
        if self._target.exists(kept):
            return  # what was there before this repair is what counts
        try:
            self._target.put_new(kept, data)
        except AlreadyExists:
            return
        self.kept.append(path)
