"""The build that runs: its version, and the commit it was made from where that is known."""

import subprocess
from importlib import import_module
from pathlib import Path

from hbtable import __version__


def build_line() -> str:
    """Such as `0.1.0 (commit 1a2b3c4d5e6f)`; in a checkout with changes the commit ends with `-dirty`."""
    found = commit()
    return f"{__version__} (commit {found})" if found else __version__


def commit() -> str:
    """Empty when it is not known. In a checkout, whose files change, git is asked; takes some milliseconds then."""
    root = Path(__file__).resolve().parents[3]
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
