r"""The file FORMAT of a data folder: it says that hbtable keeps the folder, and in which format.

    "hbtable data folder\nformat 1\n"

It is written first, and synced, before anything else is in the folder.
"""

import os
import re
from typing import Final

from hbtable.errors import Corruption, UnsupportedFormat
from hbtable.fs import disk
from hbtable.fs.paths import UNFINISHED, read_error

FORMAT_VERSION: Final = 1

_FORMAT_TEXT: Final = "hbtable data folder\nformat {version}\n"
_FORMAT: Final = re.compile(r"hbtable data folder\nformat ([0-9]{1,9})\n(.*)", re.DOTALL)


def format_damage(root: str) -> str:
    """The reason why FORMAT does not describe this folder, although it holds a store; "" when it does, or when there is
    no store. UnsupportedFormat is left to DataFolder.open."""
    path = f"{root}/FORMAT"
    if not os.path.isfile(path):
        has_data = any(os.path.isdir(f"{root}/{name}") for name in ("lockservice", "sstables", "logs"))
        return f"{path} is not there, and the folder holds data" if has_data else ""
    try:
        check_format(root)
    except Corruption as error:
        return str(error)
    except UnsupportedFormat:
        pass
    return ""


def restore_format(root: str) -> None:
    """Writes FORMAT anew in a folder with format_damage(), which no process can be using; the file before is
    FORMAT.damaged. Durable on return."""
    path = f"{root}/FORMAT"
    if os.path.exists(path):
        os.replace(path, f"{path}.damaged")
    check_format(root)


def check_format(root: str) -> None:
    """Writes FORMAT into a new folder; durable on return."""
    path = f"{root}/FORMAT"
    if not os.path.exists(path):
        text = _FORMAT_TEXT.format(version=FORMAT_VERSION)
        disk.replace(root, f"{root}/{UNFINISHED}/FORMAT", path, text.encode())
        return
    read_format(root)


def read_format(root: str) -> None:
    """Corruption, UnsupportedFormat. Nothing to read is fine."""
    path = f"{root}/FORMAT"
    try:
        with open(path, "rb") as file:
            text = file.read(1000).decode("utf-8", "replace")
    except (FileNotFoundError, IsADirectoryError):  # the latter is of_wrong_kind()
        return
    except OSError as error:
        raise read_error(error, path) from error
    match = _FORMAT.fullmatch(text)
    if match is None or (match.group(1) == "1" and match.group(2)):
        raise Corruption(path, 0, "it does not say which format the data folder has")
    if int(match.group(1)) > FORMAT_VERSION:  # which may have more to say
        raise UnsupportedFormat(
            f"{root} was written by a newer hbtable: it has format {match.group(1)}, this one knows up to "
            f"{FORMAT_VERSION}; use the newer one"
        )
