"""Two parts of `make verify` at the same time (.ci/side-by-side): nothing of either is lost, and both end."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.harness.commands import LONG_SECONDS
from tests.harness.waiting import eventually

SCRIPT = Path(__file__).resolve().parents[2] / ".ci" / "side-by-side"


@pytest.mark.parametrize(("first", "second", "status"), [(0, 0, 0), (3, 0, 3), (0, 4, 4), (3, 4, 3)])
def test_both_are_heard_and_either_fails_the_whole(first: int, second: int, status: int) -> None:
    commands = [f"echo one; exit {first}", f"echo two; exit {second}"]
    done = subprocess.run([SCRIPT, *commands], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("one\ntwo\n", status)


def test_they_run_at_the_same_time(tmp_path: Path) -> None:
    """Each waits for what the other one does."""
    commands = [f"cd {tmp_path}; touch {mine}; until [ -e {other} ]; do :; done" for mine, other in ("ab", "ba")]
    subprocess.run([SCRIPT, *commands], check=True, timeout=LONG_SECONDS)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_both_hear_that_they_are_to_stop(tmp_path: Path, sent: signal.Signals) -> None:
    def command(name: str) -> str:
        return f"trap 'echo {name} is put right; exit 1' INT; touch {tmp_path / name}; while :; do sleep 0.05; done"

    running = subprocess.Popen(
        [SCRIPT, command("one"), command("two")], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    eventually(lambda: (tmp_path / "one").exists() and (tmp_path / "two").exists(), 120, "both run")
    os.killpg(running.pid, sent)
    output, _ = running.communicate(timeout=LONG_SECONDS)
    assert (output, running.returncode) == ("one is put right\ntwo is put right\n", 130)


@pytest.mark.parametrize(("before", "begun"), [("second=?!", ["two"]), ("first=?!", ["one", "two"])])
def test_a_signal_while_it_starts_them_stops_both(tmp_path: Path, before: str, begun: list[str]) -> None:
    """Right before this command of its own, `?` for a dollar, when these run."""
    wait = "; ".join(f"until [ -e {tmp_path / name} ]; do :; done" for name in begun)
    (tmp_path / "debug").write_text(f"trap 'case $BASH_COMMAND in {before}) {wait}; kill -TERM $$ ;; esac' DEBUG")
    commands = [f"touch {tmp_path / name}; for _ in $(seq 2000); do sleep 0.05; done" for name in ("one", "two")]
    environment = {**os.environ, "BASH_ENV": str(tmp_path / "debug")}
    done = subprocess.run([SCRIPT, *commands], env=environment, check=False, timeout=LONG_SECONDS)
    assert done.returncode == 130
    assert sorted(path.name for path in tmp_path.iterdir()) == ["debug", *begun]
