"""A slice of the hostile clients: survival, memory, others are served. `make hostile` has all of them, and bounds of
latency, which need a machine that does little else."""

import resource
from pathlib import Path

import pytest

from tests.campaigns.hostile import ATTACKS, Bounds, campaign
from tests.harness.attackers import Did, attack
from tests.harness.server import ServerProcess
from tests.harness.tiers import taking_turns
from tests.harness.waiting import SOON_SECONDS, eventually

LONG = (
    "aggregate_groups", "arrow_wide", "arrow_rows", "scan_in_one_call", "costly_condition", "costly_patterns",
    "expressions", "many_nodes", "delete_ranges", "many_aggregates", "forged_positions",
)  # fmt: skip
"""For `make hostile` alone: searches and expressions take their time however small the scale is, and their libraries
to be imported."""


@pytest.mark.parametrize("part", taking_turns(range(2), 2))
@pytest.mark.alone
@pytest.mark.integration
def test_a_healthy_client_hardly_notices_hostile_ones(tmp_path: Path, part: int) -> None:
    names = [one.kind for one in ATTACKS if one.kind not in LONG][part::2]
    campaign(
        tmp_path,
        only=names,
        seconds=0.1,
        scale=0.03,
        bounds=Bounds(floor_seconds=10.0, calls=40, with_times=False),
        loud=False,
    )


@pytest.mark.integration
def test_without_file_descriptors_clients_wait_until_others_leave(tmp_path: Path) -> None:
    with ServerProcess(tmp_path / "data") as server:
        early = server.connect()
        early.create_table("t", {"f": {}})
        assert server.process is not None
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (100, 20000))
        did: Did = {}
        message = "Too many open files; trying again"
        with attack("mute", server.port, 200, did):
            # They are connected once the kernel holds them; only then the server begins to take them, two at a time.
            eventually(lambda: message in server.errors.read_text(), SOON_SECONDS, "the last descriptor taken")
            early.table("t").put(b"row", {b"f:a": b"1"})
        assert did["failed"] == 0  # the kernel holds them until it is their turn
        late = server.connect()
        assert late.table("t").row(b"row") == {b"f:a": b"1"}
        assert server.stop() == 0
        assert "Traceback" not in server.errors.read_text()
