"""A slice of `make difffuzz`: random programs on hbtable and on a real HBase have the same answers.

Not the profiles with times to live: on a busy machine the two servers would be asked too far apart."""

import os
from pathlib import Path

import pytest

from tests.campaigns.difffuzz.hunt import Hunt, Limits
from tests.campaigns.difffuzz.own_server import DEFINES, OwnServer
from tests.campaigns.difffuzz.real_hbase import RealHBase
from tests.campaigns.difffuzz.running import Runner
from tests.campaigns.difffuzz.started import running_hbase
from tests.harness.real_servers import require_java
from tests.harness.server import ServerProcess

PROFILES = [
    "memory",
    "filters",
    "families",
    "newversions",
    "keepdeleted",
    "scanners",
    "deep",
    "concurrent",
    "admin",
    "flushes",
]
CALLS = 1500


@pytest.mark.java
@pytest.mark.timeout(1200)
@pytest.mark.skipif("HBTABLE_COMPAT_SERVER" in os.environ, reason="it starts an hbtable of its own")
def test_random_programs_answer_as_in_hbase(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    require_java()
    with running_hbase() as port, ServerProcess(tmp_path / "data", DEFINES) as server:
        hbase, hbtable = RealHBase(port), OwnServer("127.0.0.1", server.port)
        try:
            hunt = Hunt(
                Runner(hbase, hbtable, "slice_"), 20261123, Limits(CALLS, lines=60, minimise_seconds=30), PROFILES, ()
            )
            hunt.run()
        finally:
            hbase.close()
            hbtable.close()
    assert hunt.calls >= CALLS
    assert not hunt.found, capsys.readouterr().out[-6000:]
