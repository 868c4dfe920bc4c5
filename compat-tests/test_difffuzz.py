"""Slices of `make difffuzz` and `make difffuzz-thrift2`: random programs on hbtable and on a real HBase have the same
answers.

Not the profiles with times to live: on a busy machine the two servers would be asked too far apart."""

import os
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.campaigns.difffuzz.hunt import Hunt, Limits
from tests.campaigns.difffuzz.own_server import DEFINES, OwnServer
from tests.campaigns.difffuzz.real_hbase import RealHBase
from tests.campaigns.difffuzz.running import Runner
from tests.campaigns.difffuzz.started import running_hbase
from tests.campaigns.difffuzz.thrift2.agreement import run_programs
from tests.campaigns.difffuzz.thrift2.alphabet import Call
from tests.campaigns.difffuzz.thrift2.tables import Table
from tests.harness.fresh_seed import fresh_seed
from tests.harness.real_servers import require_java
from tests.harness.server import ServerProcess
from tests.harness.tiers import long_test

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
THRIFT2_PROGRAMS = 400


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


class BentTable(Table):
    """A server that says of each row that is missing that it is there."""

    def answer(self, prefix: bytes, call: Call) -> Any:
        answer = super().answer(prefix, call)
        return True if call.method == "exists" and answer is False else answer


@long_test("random Thrift2 calls beside a real HBase")
@pytest.mark.java
@pytest.mark.timeout(1200)
@pytest.mark.skipif("HBTABLE_COMPAT_SERVER" in os.environ, reason="it starts an hbtable of its own")
def test_random_thrift2_programs_answer_as_in_hbase(tmp_path: Path) -> None:
    require_java()
    with running_hbase(thrift=2) as port, ServerProcess(tmp_path / "data") as server:
        with closing(Table(port, b"slice2")) as hbase, closing(Table(server.port, b"slice2")) as hbtable:
            assert run_programs(hbase, hbtable, fresh_seed(), THRIFT2_PROGRAMS) > THRIFT2_PROGRAMS
        with (
            closing(Table(port, b"bent")) as hbase,
            closing(BentTable(server.port, b"bent")) as bent,
            pytest.raises(AssertionError, match="exists"),
        ):
            run_programs(hbase, bent, fresh_seed(), THRIFT2_PROGRAMS)
