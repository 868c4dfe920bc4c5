r"""The file FORMAT of a data folder: it says that hbtable keeps the folder, and in which format.

    "hbtable data folder\nformat 1\n"
    "hbtable data folder\nformat 2\nfeatures one two\n"

It is written first, and synced, before anything else is in the folder. A folder begins with format 1, which every
hbtable reads. Format 2 lists the features that files of the folder use and that older hbtables do not know. A feature
is listed before its first byte is written (require_feature). A program that does not know a listed feature refuses the
folder, and names the feature. Features of the data of tables are listed in /cluster, on one machine as in a cluster
(lockservice.features).
"""

import os
import re
from collections.abc import Collection
from typing import Final

from hbtable.errors import Corruption, UnsupportedFormat
from hbtable.fs import disk
from hbtable.fs.paths import UNFINISHED, read_error

FORMAT_VERSION: Final = 1
LISTED: Final = 2
"""The format of a FORMAT that lists features."""
FEATURES: Final[dict[str, str]] = {}
"""Name -> what is in the folder once it is listed. Names are never removed, and never mean anything else."""

_MOST_BYTES: Final = 1 << 20
"""Of FORMAT: more than ten thousand features. A longer one is none of ours."""
_FORMAT: Final = re.compile(r"hbtable data folder\nformat ([0-9]{1,9})\n(.*)", re.DOTALL)
_LIST: Final = re.compile(r"features((?: [a-z0-9-]{1,60})+)\n")


def format_damage(root: str) -> str:
    """The reason why FORMAT does not describe this folder, although it holds a store; "" when it does, or when there is
    no store. UnsupportedFormat is left to DataFolder.open."""
    path = f"{root}/FORMAT"
    if not os.path.isfile(path):
        return f"{path} is not there, and the folder holds data" if has_data(root) else ""
    try:
        check_format(root)
    except Corruption as error:
        return str(error).removesuffix(_cure(root))
    except UnsupportedFormat:
        pass
    return ""


def _cure(root: str) -> str:
    return f": stop what uses the folder, then let `hbtable repair {root}` write it anew"


def has_data(root: str) -> bool:
    """Whether there is a store in the folder, with a FORMAT or without."""
    return any(os.path.isdir(f"{root}/{name}") for name in ("lockservice", "sstables", "logs"))


def restore_format(root: str) -> None:
    """Writes FORMAT anew in a folder with format_damage(), which no process can be using; the file before is
    FORMAT.damaged. Durable on return."""
    path = f"{root}/FORMAT"
    if os.path.exists(path):
        os.replace(path, f"{path}.damaged")
    _write(root, FEATURES)  # which of them are used is lost: with all of them older programs stay away in any case


def check_format(root: str) -> None:
    """Writes FORMAT into a new folder; durable on return."""
    if not os.path.exists(f"{root}/FORMAT"):
        _write(root, ())
        return
    read_format(root)


def require_feature(root: str, feature: str) -> None:
    """To be called by whoever holds the folder, before the first byte of `feature` is in it: FORMAT lists it on return,
    durably. Corruption, UnsupportedFormat."""
    used = read_format(root)
    if feature not in used:
        _write(root, {*used, feature})


def _write(root: str, features: Collection[str]) -> None:
    listed = f"format {LISTED}\nfeatures {' '.join(sorted(features))}" if features else f"format {FORMAT_VERSION}"
    text = f"hbtable data folder\n{listed}\n"
    disk.replace(root, f"{root}/{UNFINISHED}/FORMAT", f"{root}/FORMAT", text.encode())


def read_format(root: str) -> tuple[str, ...]:
    """The features in use. Corruption, UnsupportedFormat. Nothing to read is fine."""
    path = f"{root}/FORMAT"
    try:
        with open(path, "rb") as file:
            text = file.read(_MOST_BYTES).decode("utf-8", "replace")
    except (FileNotFoundError, IsADirectoryError):  # the latter is of_wrong_kind()
        return ()
    except OSError as error:
        raise read_error(error, path) from error
    match = _FORMAT.fullmatch(text)
    if match is None or (match.group(1) == "1" and match.group(2)):
        raise Corruption(path, 0, f"it does not say which format the data folder has{_cure(root)}")
    version = int(match.group(1))
    listed = _LIST.fullmatch(match.group(2))
    if version <= FORMAT_VERSION:
        return ()
    if version > LISTED or listed is None:  # which may have more to say
        raise UnsupportedFormat(
            f"{root} was written by a newer hbtable: it has format {version}, this one knows up to {FORMAT_VERSION}, "
            f"and {LISTED} with a list of features; use the newer one"
        )
    used = tuple(listed.group(1).split())
    unknown = [name for name in used if name not in FEATURES]
    if unknown:
        raise UnsupportedFormat(
            f"{root} was written by a newer hbtable, with {', '.join(unknown)}; this one knows "
            f"{', '.join(sorted(FEATURES)) or 'no feature of a folder'}: use the newer one"
        )
    return used
