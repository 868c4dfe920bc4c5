"""Builds hbtable for pip, which calls the functions of this module by name (PEP 517 and 660).

An editable installation needs nothing but Python (editable_wheel.py). For wheels and sdists pip first installs what
get_requires_for_build_wheel and its like name: setuptools, which does the rest.

A wheel keeps the commit that it was built from in hbtable/_commit.py, which `hbtable version` shows. The commit comes
from git in a checkout, from `git archive` in a tarball made by it, or from the file itself in an sdist; without any of
them the wheel has none, and all else is the same.
"""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

from editable_wheel import write_editable, write_metadata

ROOT = Path(__file__).resolve().parent
KEPT = ROOT / "hbtable" / "_commit.py"
ARCHIVED = "$Format:%h$"
"""`git archive` writes the commit here (.gitattributes)."""
SETUPTOOLS = "setuptools>=77"


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


def get_requires_for_build_editable(config_settings=None):  # type: ignore[no-untyped-def]
    return []


def get_requires_for_build_wheel(config_settings=None):  # type: ignore[no-untyped-def]
    return [SETUPTOOLS]


def get_requires_for_build_sdist(config_settings=None):  # type: ignore[no-untyped-def]
    return [SETUPTOOLS]


def prepare_metadata_for_build_editable(metadata_directory, config_settings=None):  # type: ignore[no-untyped-def]
    return write_metadata(Path(metadata_directory))


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):  # type: ignore[no-untyped-def]
    return write_editable(Path(wheel_directory))


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):  # type: ignore[no-untyped-def]
    from setuptools import build_meta

    return build_meta.prepare_metadata_for_build_wheel(metadata_directory, config_settings)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):  # type: ignore[no-untyped-def]
    from setuptools import build_meta

    with _kept():
        return build_meta.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_sdist(sdist_directory, config_settings=None):  # type: ignore[no-untyped-def]
    from setuptools import build_meta

    with _kept():
        return build_meta.build_sdist(sdist_directory, config_settings)
