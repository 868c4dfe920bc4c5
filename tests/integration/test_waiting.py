"""The waits that tests rely on where machines stand still."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.harness.waiting import eventually, freeze, runs

pytestmark = pytest.mark.integration

BUSY = """
import hashlib, threading
def work():
    while True:
        hashlib.sha256(bytes(1 << 20)).digest()
for _ in range(4):
    threading.Thread(target=work).start()
print("busy", flush=True)
"""


def test_who_stood_still_past_the_end_asks_once_more() -> None:
    begin = time.monotonic()

    def holds() -> bool:
        time.sleep(0.1)  # for longer than it is to be waited for
        return time.monotonic() - begin > 0.15

    eventually(holds, 0.05, "the second answer")


def test_what_never_holds_is_named() -> None:
    with pytest.raises(AssertionError, match=r"not within 0\.1 s: the impossible"):
        eventually(lambda: False, 0.1, "the impossible")


def test_nothing_of_a_frozen_process_runs_any_more() -> None:
    with subprocess.Popen([sys.executable, "-c", BUSY], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "busy\n"
            freeze(process.pid)
            threads = Path(f"/proc/{process.pid}/task").iterdir()
            states = {one.name: (one / "stat").read_text().rpartition(")")[2].split()[0] for one in threads}
            assert set(states.values()) == {"T"}
            assert len(states) == 5
            assert runs(process.pid), "it has not ended"
        finally:
            process.kill()
    assert not runs(process.pid)
