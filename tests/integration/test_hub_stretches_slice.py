"""The sweep over hostile calls carries each of them out, and the server answers; `make hub-stretches` asks for a
hundred thousand of each thing, and measures."""

from pathlib import Path

import pytest

from tests.campaigns.hub_stretches import Sweep
from tests.harness.tiers import taking_turns


@pytest.mark.integration
@pytest.mark.parametrize("service", taking_turns(["thrift1", "roles", "pieces"], 3))
def test_hostile_calls_are_answered(tmp_path: Path, service: str) -> None:
    wanted = {"thrift1": "scannerOpenWith", "roles": "many columns", "pieces": "1024 KiB"}[service]
    found = Sweep(tmp_path, 5000, 0.01).run((service,), wanted, loud=False)
    assert len(found) >= 3
    wrong = [one for one in found if not one.call.endswith("attributes") and "refused" in one.answer]
    assert not [one for one in wrong if one.service != "thrift1"], wrong
    assert not [one for one in found if one.answer in ("reset", "closed", "Unavailable")]
