"""2,879 Thrift2 calls with the answers of a real HBase 2.6.1, replayed.

thrift2/replay.py, the transcripts and deviations.json are kept as they were handed out. better.json names lines that
hbtable answers better, by a rule of docs/deviations.md. open.json lists, by transcript, the lines that still differ
without one: what is not there yet, which may only become less.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.harness.tiers import crossed, taking_turns

THRIFT2 = Path(__file__).resolve().parent / "thrift2"
BETTER: list[dict[str, Any]] = json.loads((THRIFT2 / "better.json").read_text())
OPEN: dict[str, list[int]] = json.loads((THRIFT2 / "open.json").read_text())

CASES = crossed(sorted(path.name for path in (THRIFT2 / "recorded").glob("*.jsonl")), ["buffered", "framed"])


@pytest.mark.skipif("HBTABLE_COMPAT_SERVER" in os.environ, reason="a real HBase's Thrift1 server has no Thrift2")
@pytest.mark.parametrize(("transcript", "transport"), taking_turns(CASES, 2))
def test_recorded_thrift2_answers(address: tuple[str, int], tmp_path: Path, transcript: str, transport: str) -> None:
    host, port = address
    report = tmp_path / "report.json"
    command = [sys.executable, str(THRIFT2 / "replay.py"), "--host", host, "--port", str(port)]
    command += ["--deviations", str(THRIFT2 / "deviations.json"), "--report", str(report)]
    command.append(str(THRIFT2 / "recorded" / transcript))
    run = subprocess.run(
        [*command, *(["--framed"] if transport == "framed" else [])], capture_output=True, text=True, timeout=600
    )
    assert run.returncode in (0, 1), run.stdout[-2000:] + run.stderr[-2000:]
    found = json.loads(report.read_text())
    known = {*OPEN.get(transcript, ()), *(line for rule in BETTER for line in rule["lines"].get(transcript, ()))}
    new = [one for one in found["differences"] if one["i"] not in known]
    assert not new, json.dumps(new[:3], indent=1)[:6000]
    assert found["calls"] > 100
