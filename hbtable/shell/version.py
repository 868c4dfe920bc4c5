"""The build that runs, in one form everywhere: HBase's line, whose revision is the commit that it was made from."""

import hashlib
import os
import subprocess
from importlib import import_module
from pathlib import Path
from typing import Final

from hbtable import __version__

_IDL: Final = os.path.join(os.path.dirname(os.path.dirname(__file__)), "idl", "admin.thrift")


def version_line() -> str:
    """Such as `0.1.0, r1a2b3c4d5e6f, Sat Nov 28 12:00:00 UTC 2026`: version, commit, and the date of the files. In a
    checkout with changes the commit ends with `-dirty`. Where it is not known, a digest of the admin interface."""
    from datetime import UTC, datetime

    date = datetime.fromtimestamp(int(os.path.getmtime(_IDL)), UTC).strftime("%a %b %e %H:%M:%S UTC %Y")
    return f"{__version__}, r{_commit() or _digest()}, {date}"


def _digest() -> str:
    with open(_IDL, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()[:40]


def _commit() -> str:
    """Empty when it is not known. In a checkout, whose files change, git is asked; takes some milliseconds then."""
    root = Path(__file__).resolve().parents[2]
    if (root / ".git").exists():
        return _of_checkout(root)
    try:
        return str(import_module("hbtable._commit").COMMIT)  # in the wheel: build_backend.py
    except ImportError:
        return ""


def _of_checkout(root: Path) -> str:
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)  # noqa: S603 -- ours
    except (OSError, subprocess.SubprocessError):
        return ""  # no git, or it does not trust the folder
    return done.stdout.strip()
