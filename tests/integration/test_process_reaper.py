"""Test runs that are killed leave no servers behind."""

import subprocess
import sys
from pathlib import Path

from tests.harness.waiting import SOON_SECONDS, eventually, runs

_SCRIPT = """
import sys, time
from tests.harness.process_reaper import process_reaper
reaper = process_reaper()
reaper.add("one", "echo one >>" + sys.argv[1])
reaper.add("two", "echo two >>" + sys.argv[1])
reaper.remove("two")
print(reaper.executor.pid, flush=True)
time.sleep(60)
"""


def test_what_is_left_to_the_reaper_of_a_killed_process_is_done(tmp_path: Path) -> None:
    done = tmp_path / "done"
    command = [sys.executable, "-c", _SCRIPT, str(done)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])
    assert process.stdout is not None
    executor = int(process.stdout.readline())
    assert not done.exists()
    process.kill()
    process.communicate()
    eventually(lambda: not runs(executor), SOON_SECONDS, "the end of the shell that does it")
    assert done.read_text() == "one\n"
