"""The campaign in which a whole machine stands still: all processes that a command starts, and those alone."""

import subprocess
import sys
from pathlib import Path

from tests.harness.commands import LONG_SECONDS

PROGRAM = """
import os, signal, subprocess, sys, time
from pathlib import Path

GAP = "import time; before = time.monotonic()\\nwhile time.monotonic() - before < 0.4: before = time.monotonic(); time.sleep(0.01)\\n"

def state(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]

noticed = Path(sys.argv[1])
far = GAP + f"open({str(noticed)!r}, 'w').close()"
subprocess.run(["sh", "-c", 'setsid "$0" -c "$1" &', sys.executable, far], check=True)  # nobody's child by now
halted = subprocess.Popen(["sleep", "600"])
halted.send_signal(signal.SIGSTOP)
while state(halted.pid) != "T":
    time.sleep(0.01)
exec(GAP)
while not noticed.exists():
    time.sleep(0.01)
print("halted:", state(halted.pid))
halted.kill()
halted.wait()
sys.exit(7)
"""  # noqa: E501


def test_all_of_a_commands_processes_stand_still_and_go_on(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "noticed")]
    campaign = [sys.executable, "-m", "tests.campaigns.standing_still", "--seconds", "0.5", "--every", "0.5", "--"]
    done = subprocess.run([*campaign, *command], capture_output=True, text=True, timeout=LONG_SECONDS, check=False)
    assert done.returncode == 7, done.stderr
    assert "halted: T\n" in done.stdout
    assert "all stood still " in done.stdout
