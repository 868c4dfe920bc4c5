"""3,504 calls with the answers of a real HBase 2.6.1, replayed; every difference must be an accepted improvement.

recorded/replay.py, the transcripts and deviations.json are kept as they were handed out.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.server import ServerProcess
from tests.harness.tiers import crossed, taking_turns

RECORDED = Path(__file__).resolve().parent / "recorded"
CASES = crossed(sorted(path.name for path in RECORDED.glob("*.jsonl")), ["buffered", "framed"])
CASES_OF_ROWS = [case for case in CASES if "admin-14.jsonl" not in str(case)]
"""Without the one that tells of regions."""


@pytest.mark.parametrize(("transcript", "transport"), taking_turns(CASES, 2))
def test_recorded_answers(address: tuple[str, int], transcript: str, transport: str) -> None:
    replay(*address, transcript, transport)


@pytest.mark.parametrize(("transcript", "transport"), taking_turns(CASES_OF_ROWS, 6))
def test_recorded_answers_in_small_parts(small_parts: ServerProcess, transcript: str, transport: str) -> None:
    """Of a server that does everything in parts as small as they can be, and keeps each table in several tablets."""
    replay("127.0.0.1", small_parts.port, transcript, transport)


@pytest.fixture(scope="module")
def small_parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("small-parts")
    options = ["thrift.compaction_wait_seconds=60.0"]
    with ServerProcess(folder / "data", options, program=("tests.harness.small_parts_server",)) as server:
        yield server
        assert server.stop() == 0


def replay(host: str, port: int, transcript: str, transport: str) -> None:
    command = [sys.executable, str(RECORDED / "replay.py"), "--host", host, "--port", str(port)]
    command += ["--deviations", str(RECORDED / "deviations.json"), str(RECORDED / transcript)]
    run = subprocess.run(
        [*command, *(["--framed"] if transport == "framed" else [])], capture_output=True, text=True, timeout=600
    )
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]
