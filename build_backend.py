"""Builds with setuptools, and keeps the commit in the wheel: hbtable/_commit.py, which `hbtable version` shows.

pip calls the functions of this module (PEP 517). The commit comes from git in a checkout, from `git archive` in a
tarball made by it, or from the file itself in an sdist; without any of them the wheel has none, and all else is the
same.
"""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

from setuptools import build_meta
from setuptools.build_meta import (  # noqa: F401 -- what pip looks for
    build_editable,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

ROOT = Path(__file__).resolve().parent
KEPT = ROOT / "hbtable" / "_commit.py"
ARCHIVED = "$Format:%h$"
"""`git archive` writes the commit here (.gitattributes)."""


def commit() -> str:
    """Of this tree; "" when it is not known."""
    if (ROOT / ".git").exists():
        command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
        with contextlib.suppress(OSError, subprocess.CalledProcessError):
            return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603 -- ours
    return "" if ARCHIVED.startswith("$") else ARCHIVED


@contextlib.contextmanager
def _kept() -> Iterator[None]:
    """The file is there meanwhile, and not left behind in a checkout, where it would be wrong after the next commit."""
    found = commit()
    if not found:
        yield
        return
    KEPT.write_text(f'"""The commit that this was built from (build_backend.py)."""\n\nCOMMIT = "{found}"\n')
    try:
        yield
    finally:
        KEPT.unlink()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):  # type: ignore[no-untyped-def]
    with _kept():
        return build_meta.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_sdist(sdist_directory, config_settings=None):  # type: ignore[no-untyped-def]
    with _kept():
        return build_meta.build_sdist(sdist_directory, config_settings)
