"""Source distributions that tests need but pip does not install (data sets, other projects' test suites).

Fetched once by pip into a cache folder outside the checkout, unpacked where the caller wants them.
"""

import os
import subprocess
import sys
import tarfile
from pathlib import Path


def unpacked(requirement: str, folder: Path) -> Path:
    """The top folder of `name==version`'s sdist, unpacked below `folder`."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))) / "hbtable-tests"
    cache.mkdir(parents=True, exist_ok=True)
    name, _, version = requirement.partition("==")
    archive = cache / f"{name}-{version}.tar.gz"
    if not archive.exists():
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        isolation = ["--no-binary", ":all:", "--no-build-isolation", "--dest", str(cache)]
        subprocess.run([*command, *isolation, requirement], check=True)
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    return folder / f"{name}-{version}"
