"""Source distributions that tests need but pip does not install (data sets, other projects' test suites).

The make target .venv/.sources downloads what tests/sources.txt names, with its digests, beside the packages of the
virtual environment. A test only unpacks them, so that it runs without a network and on every Python.
"""

import sys
import tarfile
from pathlib import Path
from typing import Final

FETCHED: Final = Path(sys.prefix) / "sources"


def unpacked(requirement: str, folder: Path) -> Path:
    """The top folder of `name==version`'s sdist, unpacked below `folder`."""
    name, _, version = requirement.partition("==")
    archive = FETCHED / f"{name}-{version}.tar.gz"
    assert archive.exists(), f"{archive} is missing: run make .venv/.test, which downloads it"
    with tarfile.open(archive) as tar:
        # Python 3.11.2 has no filters yet; the digest in tests/sources.txt says that these names are harmless.
        if hasattr(tarfile, "data_filter"):
            tar.extractall(folder, filter="data")
        else:
            tar.extractall(folder)
    return folder / f"{name}-{version}"
