"""A crash at I/O calls of the script in tests/campaigns/crash_points.py; the campaign takes all, and other seeds."""

import pytest

from hbtable.errors import HbtableError
from hbtable.metadata import catalog
from tests.campaigns.crash_points import one_crash, sweep
from tests.harness.fresh_seed import fresh_seed
from tests.harness.program_warnings import NeedlessWarning
from tests.harness.tiers import long_test, quick_first, taking_turns

pytestmark = pytest.mark.usefixtures("quiet")  # every life ends in a crash, and says so at length


@pytest.mark.parametrize("first", quick_first(range(1, 33), 0, 1))
def test_a_crash_at_every_32nd_call_loses_and_invents_nothing(first: int) -> None:
    assert sweep(seed=20061106, first=first, stride=32) > 8


@pytest.mark.parametrize("part", taking_turns(range(4), 4))
def test_a_crash_at_a_quarter_of_the_calls_of_a_script_that_no_run_has_seen_before(part: int) -> None:
    """A sixteenth in each of the parts."""
    first = 1 + (fresh_seed() + 4 * part) % 16
    assert sweep(seed=fresh_seed(), first=first, stride=16) > 4, f"seed {fresh_seed()}"


@pytest.mark.parametrize("broken", ["logs/", "sstables/"])
def test_a_sync_that_does_nothing_is_noticed(broken: str) -> None:
    """Else the sweep would prove nothing."""
    for crash_at in range(1, 400):
        try:
            assert one_crash(7, crash_at, broken_sync=broken)
        except NeedlessWarning:
            continue  # that rows are lost has to be seen
        except (AssertionError, HbtableError):
            return
    pytest.fail(f"nobody noticed that files in {broken} are never synced")


@long_test("a warning of what a kill leaves")
def test_a_warning_of_what_a_kill_leaves_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill between two writes of the root tablet's record once made the next start warn, and nothing was wrong."""
    monkeypatch.setattr(catalog.log, "info", catalog.log.warning)
    with pytest.raises(NeedlessWarning, match="/root-tablet lacks flushes"):
        sweep(20061106, first=1, stride=1)
