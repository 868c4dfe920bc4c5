"""happybase's own suite and recorded answers of a real HBase in each way in, by the lines of docs/clients.md."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness import happybase_suite, kdc, ways_in
from tests.harness.server import ServerProcess
from tests.harness.tiers import crossed, taking_turns

HERE = Path(__file__).resolve().parent
TRANSCRIPTS = sorted(path.stem for path in (HERE / "recorded").glob("*.jsonl"))
TRANSCRIPTS_OF_THRIFT2 = sorted(path.stem for path in (HERE / "thrift2" / "recorded").glob("*.jsonl"))
WITHOUT_A_USER = ["tls", "http"]
WITH_A_USER = ["password", "https"]
WITH_A_TICKET = [way for way in ways_in.WAYS if way not in WITHOUT_A_USER + WITH_A_USER]
EACH_WAY = [*WITHOUT_A_USER, *WITH_A_USER, *WITH_A_TICKET]


def in_all_ways(transcripts: list[str]) -> list[object]:
    """Each run of CI takes each transcript in one way."""
    return taking_turns(crossed(transcripts, EACH_WAY), len(EACH_WAY))


@pytest.fixture(params=taking_turns(EACH_WAY, 3))
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def server(way: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ServerProcess:
    """Of the kind that the way is for, in the environment that it needs."""
    if way in WITHOUT_A_USER:
        name = "encrypted_server"
    elif way in WITH_A_USER:
        name = "asking_server"
    else:
        realm: kdc.Kdc = request.getfixturevalue("realm")
        for variable, value in realm.log_in(ways_in.USER, "a-password").items():
            monkeypatch.setenv(variable, value)
        name = "kerberized_server"
    found = request.getfixturevalue(name)
    assert isinstance(found, ServerProcess)
    return found


def test_happybase_own_suite_in_each_way(server: ServerProcess, way: str, tmp_path: Path) -> None:
    happybase_suite.passes(("localhost", server.port), tmp_path, "0.98", "buffered", ways_in.lines_of(way))


@pytest.mark.parametrize("transcript", ["core-11"])
def test_recorded_answers_in_each_way(server: ServerProcess, way: str, transcript: str) -> None:
    equals_thrift1(server, way, transcript)


@pytest.mark.parametrize("transcript", ["core-21", "errors-29"])
def test_recorded_thrift2_answers_in_each_way(server: ServerProcess, way: str, transcript: str, tmp_path: Path) -> None:
    equals_thrift2(server, way, transcript, tmp_path)


@pytest.mark.parametrize(("transcript", "way"), in_all_ways(TRANSCRIPTS), indirect=["way"])
def test_all_recorded_answers_in_all_ways(server: ServerProcess, way: str, transcript: str) -> None:
    equals_thrift1(server, way, transcript)


@pytest.mark.parametrize(("transcript", "way"), in_all_ways(TRANSCRIPTS_OF_THRIFT2), indirect=["way"])
def test_all_recorded_thrift2_answers_in_all_ways(
    server: ServerProcess, way: str, transcript: str, tmp_path: Path
) -> None:
    equals_thrift2(server, way, transcript, tmp_path)


def equals_thrift1(server: ServerProcess, way: str, transcript: str) -> None:
    recorded = HERE / "recorded"
    rules = ("--deviations", str(recorded / "deviations.json"))
    run = replay(server, way, recorded / "replay.py", *rules, str(recorded / f"{transcript}.jsonl"))
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]


def equals_thrift2(server: ServerProcess, way: str, transcript: str, folder: Path) -> None:
    thrift2, report = HERE / "thrift2", folder / "report.json"
    rules = ("--deviations", str(thrift2 / "deviations.json"), "--report", str(report))
    run = replay(server, way, thrift2 / "replay.py", *rules, str(thrift2 / "recorded" / f"{transcript}.jsonl"))
    assert run.returncode in (0, 1), run.stdout[-2000:] + run.stderr[-2000:]
    better = json.loads((thrift2 / "better.json").read_text())
    known = {line for rule in better for line in rule["lines"].get(f"{transcript}.jsonl", ())}
    known |= set(json.loads((thrift2 / "open.json").read_text()).get(f"{transcript}.jsonl", ()))
    found = json.loads(report.read_text())
    new = [one for one in found["differences"] if one["i"] not in known]
    assert not new, json.dumps(new[:3], indent=1)[:6000]
    assert found["calls"] > 100


def replay(server: ServerProcess, way: str, script: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "tests.harness.ways_in", way, str(script)]
    command += ["--host", "localhost", "--port", str(server.port), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=HERE.parent)
