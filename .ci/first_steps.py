"""A newcomer's first steps in this checkout: `make run`, a row in and out, Ctrl-C, and `make test`.

Run by .ci/bare-debian with the system's Python and nothing else installed.
"""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
DEADLINE_SECONDS = 300
TESTS = (
    "-q -p no:cacheprovider tests/unit/launch tests/unit/fs tests/integration/test_flights.py "
    "tests/integration/test_commands.py tests/integration/test_thrift_gateway.py"
)
"""A choice: all of them would take some minutes more, and CI has run them by now."""


def server_runs_and_stops() -> None:
    """`make run` says where it serves; a row goes in and out by the shell; Ctrl-C stops it in order."""
    begin = time.monotonic()
    log = CHECKOUT.parent / "make-run.log"
    with log.open("wb") as output:
        # A session of its own stands for the terminal, whose Ctrl-C reaches the whole group.
        to_log = {"stdout": output, "stderr": subprocess.STDOUT}
        server = subprocess.Popen(["make", "run", "ARGS=--port 0"], cwd=CHECKOUT, start_new_session=True, **to_log)
    try:
        port = wait_for(log, server, r"127\.0\.0\.1:(\d+)")
        served = time.monotonic() - begin
        shell("create 'greetings', 'f'; put 'greetings', 'first', 'f:hello', 'world'", port)
        answer = shell("get 'greetings', 'first'", port)
        if "value=world" not in answer:
            sys.exit(f"the row did not come back:\n{answer}")
        print(f"make run: serving after {served:.0f} s, first row after {time.monotonic() - begin:.0f} s", flush=True)
        os.killpg(server.pid, signal.SIGINT)
        server.wait(DEADLINE_SECONDS)
    finally:
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGKILL)
    if "everything acknowledged is in" not in log.read_text():
        sys.exit(f"the server did not stop in order:\n{log.read_text()}")


def wait_for(log: Path, server: "subprocess.Popen[bytes]", pattern: str) -> str:
    """The first group of the pattern, once the log has it."""
    end = time.monotonic() + DEADLINE_SECONDS
    while time.monotonic() < end and server.poll() is None:
        if found := re.search(pattern, log.read_text()):
            return found.group(1)
        time.sleep(0.05)
    sys.exit(f"make run did not come to serve:\n{log.read_text()}")


def shell(commands: str, port: str) -> str:
    command = [str(CHECKOUT / "bin" / "hbtable"), "shell", "-n", "--url", f"127.0.0.1:{port}", "-e", commands]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=DEADLINE_SECONDS)
    if done.returncode:
        sys.exit(f"{commands}: {done.stdout}{done.stderr}")
    return done.stdout


def main() -> None:
    print(f"Python {sys.version.split()[0]}, user {os.getuid()}, {CHECKOUT}", flush=True)
    server_runs_and_stops()
    begin = time.monotonic()
    tested = subprocess.run(["make", "test", f"ARGS={TESTS}"], cwd=CHECKOUT, check=False)
    if tested.returncode:
        sys.exit("make test failed")
    print(f"make test: {time.monotonic() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
