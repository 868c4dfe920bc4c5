"""A fresh HBase for the campaign, ended whatever happens."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from tests.campaigns.difffuzz.real_hbase import SITE, STARTER
from tests.harness.process_reaper import process_reaper
from tests.harness.real_servers import free_ports

_START_SECONDS: Final = 900  # the first start fetches the jars


@contextmanager
def running_hbase() -> Iterator[int]:
    """The port of its Thrift server."""
    port = free_ports(4)
    process_reaper().add(f"hbase-{port}", f"{STARTER} stop {port}")
    try:
        command = [str(STARTER), "start", str(port)]
        subprocess.run(command, check=True, timeout=_START_SECONDS, env={**os.environ, "HBASE_SITE": str(SITE)})
        yield port
    finally:
        subprocess.run([str(STARTER), "stop", str(port)], check=True, timeout=_START_SECONDS)
        process_reaper().remove(f"hbase-{port}")
