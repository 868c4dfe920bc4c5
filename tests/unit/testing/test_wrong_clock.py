"""The wall clock that `make chaos` sets in real processes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.wrong_clock import WrongClock

LOOKS = """
import sys, time
from time import monotonic, time_ns
began, wall, seconds = monotonic(), time_ns(), time.time()
for _ in sys.stdin:
    passed = monotonic() - began
    print((time_ns() - wall) / 1e9 - passed, time.time() - seconds - passed, flush=True)
"""


def test_a_process_sees_its_wall_clock_set_and_no_other_clock(tmp_path: Path) -> None:
    clock = WrongClock(tmp_path / "clock")
    with subprocess.Popen(
        [sys.executable, "-P", "-c", LOOKS],
        env={**os.environ, **clock.environment()},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for seconds in (0, 3600, -99_999, 0):
            clock.set(seconds)
            print("look", file=process.stdin, flush=True)
            seen = [float(word) for word in process.stdout.readline().split()]
            assert seen == pytest.approx([seconds] * 2, abs=300), "it may have stood still between two looks"
        process.stdin.close()
