"""What `make hostile` leaves out of latencies: waits for a processor that another program had."""

import subprocess
import sys

from tests.harness.run_queue import Reading, RunQueue
from tests.harness.waiting import SOON_SECONDS, eventually

PARENT = """
import subprocess, sys, threading
spin = [sys.executable, "-c", "while True: pass"]
threading.Thread(target=lambda: print(subprocess.Popen(spin).pid, flush=True)).start()
sys.stdin.read()
"""


def test_the_work_of_the_process_itself_is_not_left_out() -> None:
    before = Reading(1.0, 5.0)
    assert Reading(1.5, 5.0).foreign_since(before) == 0.5
    assert Reading(1.5, 5.25).foreign_since(before) == 0.25
    assert Reading(1.5, 6.0).foreign_since(before) == 0.0


def test_what_children_of_any_thread_run_is_its_own() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        queue = RunQueue(parent.pid)
        try:
            before = queue.read()
            eventually(lambda: queue.read().own > before.own + 0.02, SOON_SECONDS, "work of a child")
        finally:
            subprocess.run(["kill", str(child)], check=True)
            parent.stdin.close()
        eventually(lambda: queue.read().own > 0.02, SOON_SECONDS, "the same when the child has ended")
