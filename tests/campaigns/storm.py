"""A user who asks without a pause on many connections, limited by a quota, beside another user.

The storm is of another user at the same address, by HTTP, with a limit of 100 requests a second; the healthy client
puts and gets, in turns with one of another server that has no storm. (Calls wait up to a second for their turn before
they are refused: with more connections some are.) Printed and bounded: the p99 of its calls, as a
multiple of the other's.

    python -m tests.campaigns.storm [--connections 40] [--seconds 15] [--without-limit]
"""

import argparse
import base64
import http.client
import multiprocessing
import os
import ssl
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from hbtable.access.passwords import PasswordHash
from hbtable.access.store import AccountFile
from tests.campaigns.handshakes import Healthy, serving
from tests.campaigns.hostile import at_99
from tests.harness.certificates import CA
from tests.harness.known_token import TOKEN
from tests.harness.server import ServerProcess
from tests.harness.wire_mutations import FORMS, encode
from tests.harness.wire_trees import STRING, STRUCT, Node

FACTOR = 3.0
LIMIT = "100req/sec"
PROCESSES = 4


def _call() -> bytes:
    """A getRow without its frame, in the binary protocol."""
    row = Node(STRUCT, [(1, Node(STRING, b"t")), (2, Node(STRING, b"row1"))])
    return encode(FORMS[0], b"getRow", row)


def storm(port: int, connections: int, seconds: float, authorization: str, limited: bool) -> None:
    """One process of it; each connection asks again as soon as it is answered."""
    os.nice(5)  # the clients that are measured share the processors with it
    context, body = ssl.create_default_context(cafile=CA), _call()
    clients = [http.client.HTTPSConnection("localhost", port, context=context) for _ in range(connections)]
    ends = time.monotonic() + seconds
    headers, answered, refused = {"Authorization": authorization}, 0, 0
    while time.monotonic() < ends:
        for one in clients:
            one.request("POST", "/", body, headers)
        for one in clients:
            answer = one.getresponse().read()
            assert b"getRow" in answer
            refused += b"RpcThrottlingException" in answer
            answered += b"RpcThrottlingException" not in answer
    print(f"a quarter of the storm: {answered} answered, {refused} refused", flush=True)
    assert not limited or answered <= (seconds + 1) * 100 / PROCESSES * 2, "the quota does not hold"


def campaign(folder: Path, connections: int, seconds: float, limited: bool) -> float:
    """The p99 beside the storm, as a multiple of that of the server without one."""
    with ExitStack() as stack:
        attacked, other = (stack.enter_context(_serving(folder, name)) for name in ("stormed", "other"))
        healthy, control = Healthy(attacked), Healthy(other)
        for one in (healthy, control):
            one.connection.create_table("t", {"f": {}})
            for _ in range(200):
                one.step()
            one.times.clear()
        _shell(attacked, "grant 'storm', 'R', 't'")
        if limited:
            _shell(attacked, f"set_quota TYPE => THROTTLE, USER => 'storm', LIMIT => '{LIMIT}'")
        run = multiprocessing.get_context("spawn").Process
        share = connections // PROCESSES
        each = [
            run(target=storm, args=(attacked.port, share, seconds + 5, _basic(), limited)) for _ in range(PROCESSES)
        ]
        for process in each:
            process.start()
        time.sleep(3.0)  # they have come in; a campaign measures times
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            healthy.step()
            control.step()
        assert all(process.is_alive() for process in each), "the storm was over too early"
        for process in each:
            process.join()
            assert process.exitcode == 0
    during, usual = at_99(healthy.times), at_99(control.times)
    print(
        f"p99 {during * 1e3:.1f} ms beside a storm on {connections} connections, {usual * 1e3:.1f} ms beside none: "
        f"{during / usual:.2f} times; {len(healthy.times)} calls"
    )
    return during / usual


def _serving(folder: Path, name: str) -> ServerProcess:
    server = serving(folder, name)
    users = AccountFile(str(server.folder))
    users.change(lambda accounts: accounts.with_user("storm", PasswordHash.of("a password")))
    return server


def _basic() -> str:
    return "Basic " + base64.b64encode(b"storm:a password").decode()


def _shell(server: ServerProcess, commands: str) -> None:
    words = ["shell", "--url", f"localhost:{server.port}", "--ca", CA, "--user", "program", "-e", commands]
    environment = {**os.environ, "HBTABLE_SECRET": TOKEN}
    done = subprocess.run([sys.executable, "-m", "hbtable", *words], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--connections", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--without-limit", action="store_true", help="to see what the storm is without a quota")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hbtable-storm-") as folder:
        factor = campaign(Path(folder), arguments.connections, arguments.seconds, not arguments.without_limit)
    assert factor <= FACTOR, f"p99 is {factor:.2f} times what it is without, and {FACTOR} is the most"


if __name__ == "__main__":
    main()
