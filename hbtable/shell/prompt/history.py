"""The lines typed in earlier sessions, in a file that the user alone may read: values are typed, too.

A shell is there for its commands: it starts without the file where HOME is another user's (as under sudo), on a
read-only or a full disk. The history is then the one of this session alone, and a line says why.
"""

import os
import pwd
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO, final

from prompt_toolkit.history import FileHistory, History, InMemoryHistory


@final
class _KeptHistory(FileHistory):
    """The file was there at the start. What fails later costs the file a line, and the session nothing."""

    def load_history_strings(self) -> Iterable[str]:
        try:
            return list(super().load_history_strings())
        except OSError:
            return []

    def store_string(self, string: str) -> None:
        try:
            super().store_string(string)
        except OSError:  # a full disk, as a rule
            return


def history(errors: TextIO) -> History:
    """`errors`: where it says that nothing is kept."""
    try:
        path = _path()
        with open(path, "ab+", opener=_private) as file:
            mode = os.fstat(file.fileno()).st_mode
            if stat.S_ISREG(mode) and mode & (stat.S_IRWXG | stat.S_IRWXO):  # and no link to /dev/null
                os.fchmod(file.fileno(), 0o600)  # earlier versions made it as the umask had it
            return _KeptHistory(str(path))
    except OSError as error:
        named = f" {error.filename}:" if error.filename else ""
        errors.write(f"What you type is not kept for the next session:{named} {error.strerror}\n")
        return InMemoryHistory()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _path() -> Path:
    """$XDG_STATE_HOME/hbtable/history; its folder is there on return. OSError."""
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(_home(), ".local", "state")
    folder = Path(state) / "hbtable"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder / "history"


def _home() -> str:
    """As the system's list of users has it where HOME is empty or not set. OSError."""
    if home := os.environ.get("HOME"):
        return home
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError as error:  # a container's number without a name
        raise FileNotFoundError(0, "this user has no home folder") from error
