"""Puts the pip that comes with Python into the virtual environment whose Python runs this; called by the Makefile.

`python -m venv` does the same by running pip out of its archive, and compiles all of it and of setuptools: 3.8 s of
processor time, where this takes 0.3 s. Ends with 1 where no pip is found; the Makefile then takes `python -m venv`.
"""

import sys
import sysconfig
import zipfile
from importlib import resources
from pathlib import Path

COMMAND = '#!/bin/sh\nexec "$(dirname "$0")/python" -m pip "$@"\n'


def main() -> None:
    with zipfile.ZipFile(_wheel()) as archive:
        archive.extractall(sysconfig.get_path("purelib"))
    for name in ("pip", "pip3"):
        script = Path(sysconfig.get_path("scripts")) / name
        script.write_text(COMMAND, encoding="utf-8")
        script.chmod(0o755)


def _wheel() -> Path:
    """Debian and Fedora keep the wheels of ensurepip in a folder of their own, Python itself beside its source."""
    elsewhere = sysconfig.get_config_var("WHEEL_PKG_DIR")
    folders = [Path(elsewhere)] if elsewhere else []
    try:
        folders.append(Path(str(resources.files("ensurepip") / "_bundled")))
    except ImportError:
        sys.exit(1)  # Debian without python3-venv, which the Makefile's message is about
    found = [wheel for folder in folders for wheel in folder.glob("pip-*.whl")]
    if not found:
        sys.exit(1)
    return found[0]


if __name__ == "__main__":
    main()
