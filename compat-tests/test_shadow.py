"""happybase's own suite through hbtable shadow: the server under test answers, an hbtable repeats, and nothing differs.
The server may be a real HBase (HBTABLE_COMPAT_SERVER)."""

from pathlib import Path

import pytest

from tests.harness import happybase_suite
from tests.harness.server import ServerProcess
from tests.harness.shadowing import ShadowProcess
from tests.harness.tiers import taking_turns


@pytest.mark.parametrize("transport", taking_turns(["buffered", "framed"], 2))
def test_happybase_own_suite_through_the_proxy(address: tuple[str, int], tmp_path: Path, transport: str) -> None:
    with (
        ServerProcess(tmp_path / "data", ["log.durability=os"]) as ours,
        ShadowProcess(address[1], ours.port, tmp_path / "report", "--every", "0.5") as shadow,
    ):
        happybase_suite.passes(("127.0.0.1", shadow.port), tmp_path, "0.98", transport)
        code = shadow.stop()
    assert not shadow.differences(), "".join(shadow.said)
    assert code == 0
    methods = [one for one in shadow.report() if one["kind"] == "method"]
    calls = sum(one["calls"] for one in methods)
    assert calls > 1000
    assert sum(one["equal"] for one in methods) > 0.8 * calls
