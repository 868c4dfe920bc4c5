"""A process of a cluster does not start with a clock that is far from the file system's; one on a local disk does."""

import pytest

from hbtable.errors import InvalidConfiguration
from hbtable.fs.interface import HDFS, LOCAL, WEBHDFS
from hbtable.fs.memory import MemoryFileSystem
from hbtable.tablet.start_clock import refuse_other_time
from hbtable.testing.simulated.runtime import SimulatedRuntime

HOUR = 3_600_000
YEAR = 365 * 24 * HOUR


def start(kind: str, ahead_millis: int, max_skew_seconds: float = 300.0, answer_seconds: float = 0.0) -> list[str]:
    """What is left of the probe."""
    true, runtime = SimulatedRuntime(1), SimulatedRuntime(1)
    runtime.wall_offset_millis = ahead_millis

    def their_millis() -> int:
        runtime.sleep(answer_seconds)
        return true.wall_millis() + round(runtime.clock_seconds() * 1000)

    fs = MemoryFileSystem(runtime, wall_millis=their_millis)
    fs.log_kind = kind
    runtime.run(lambda: refuse_other_time(runtime, fs, runtime.wall_millis, max_skew_seconds))
    return sorted(fs.disk.files)


@pytest.mark.parametrize("kind", [HDFS, WEBHDFS])
@pytest.mark.parametrize(
    ("ahead", "said"),
    [(YEAR, "365.0 days ahead of"), (-YEAR, "365.0 days behind"), (301_000, "5.0 minutes ahead of"), (-HOUR, "behind")],
)
def test_a_clock_that_is_far_from_the_file_systems_is_refused(kind: str, ahead: int, said: str) -> None:
    with pytest.raises(
        InvalidConfiguration, match=f"this machine's clock is .*{said} the file system's.*Set the clock right"
    ):
        start(kind, ahead)


@pytest.mark.parametrize("kind", [HDFS, WEBHDFS])
@pytest.mark.parametrize("ahead", [0, 299_000, -299_000])
def test_a_clock_that_is_near_is_not(kind: str, ahead: int) -> None:
    assert start(kind, ahead) == [], "the probe is removed"


def test_how_far_is_an_option() -> None:
    start(HDFS, HOUR, 7200.0)
    with pytest.raises(InvalidConfiguration, match=r"tablet\.max_clock_skew_seconds = 10"):
        start(HDFS, 20_000, 10.0)


def test_a_slow_answer_is_no_skew() -> None:
    start(HDFS, 0, 10.0, answer_seconds=60.0)


@pytest.mark.parametrize("ahead", [YEAR, -YEAR])
def test_a_local_disk_has_no_other_clock(ahead: int) -> None:
    start(LOCAL, ahead)
