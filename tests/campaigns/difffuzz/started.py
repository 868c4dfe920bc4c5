"""A fresh HBase for the campaign. Its processes are ended and its files deleted whatever happens."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.campaigns.difffuzz.real_hbase import SITE, STARTER
from tests.harness.free_ports import free_ports
from tests.harness.process_reaper import process_reaper

_START_SECONDS: Final = 900  # the first start fetches the jars


@contextmanager
def running_hbase(thrift: int = 1) -> Iterator[int]:
    """The port of its Thrift server, of which there are 1 and 2."""
    missing = [command for command in ("java", "mvn", "setsid") if shutil.which(command) is None]
    if missing:
        raise SystemExit(f"needs {' and '.join(missing)}: compat-tests/install-toolchains installs a JDK and Maven")
    port = free_ports(4)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "hbtable-tests" / "hbase-2.6.1" / f"on-{port}"
    process_reaper().add(folder.name, f"'{STARTER}' stop {port}; rm -rf '{folder}'")
    try:
        command = [str(STARTER), "start", str(port)]
        environment = {**os.environ, "HBASE_SITE": str(SITE), "HBASE_THRIFT": str(thrift)}
        subprocess.run(command, check=True, timeout=_START_SECONDS, env=environment)
        yield port
    finally:
        subprocess.run([str(STARTER), "stop", str(port)], check=True, timeout=_START_SECONDS)
        shutil.rmtree(folder, ignore_errors=True)
        process_reaper().remove(folder.name)
