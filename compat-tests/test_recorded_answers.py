"""3,504 calls with the answers of a real HBase 2.6.1, replayed; every difference must be an accepted improvement.

recorded/replay.py, the transcripts and deviations.json are kept as they were handed out.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.tiers import crossed, taking_turns

RECORDED = Path(__file__).resolve().parent / "recorded"
CASES = crossed(sorted(path.name for path in RECORDED.glob("*.jsonl")), ["buffered", "framed"])


@pytest.mark.parametrize(("transcript", "transport"), taking_turns(CASES, 2))
def test_recorded_answers(address: tuple[str, int], tmp_path: Path, transcript: str, transport: str) -> None:
    host, port = address
    command = [sys.executable, str(RECORDED / "replay.py"), "--host", host, "--port", str(port)]
    command += ["--deviations", str(RECORDED / "deviations.json"), str(RECORDED / transcript)]
    run = subprocess.run(
        [*command, *(["--framed"] if transport == "framed" else [])], capture_output=True, text=True, timeout=600
    )
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]
