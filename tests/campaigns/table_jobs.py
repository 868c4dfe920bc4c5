"""Spark and Dask over a large table while a tablet of it splits and a server is killed; then counts by the servers.

Three server processes have a table of N rows. While an engine reads it, a tablet at a time in each of two tasks, one of
the tablets that are being read is split, at a moment that is drawn, and one of the processes is killed -9 meanwhile.
The run fails when one of both was not done before the engine had read all, or when what it counts and sums, of all rows
and of each of seven groups, is not what a closed formula says. Then plain happybase scans have to have the same counts
and sums, and the servers count, through a proxy, which tells how many bytes that moved: by Table.aggregate, and by the
shell's count. With --folder the table stays there, and the next run over it begins behind the load.

    python -m tests.campaigns.table_jobs [--rows 5000000] [--seed N] [--engines spark dask] [--folder DIR]
"""

import argparse
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path

import hbtable
from hbtable.errors import OutcomeUnknown, Unavailable
from hbtable.runtime.repeated import repeated
from tests.harness.engine_jobs import DaskJob, Job, SparkJob
from tests.harness.free_ports import free_ports
from tests.harness.numbers_table import NAME, expected, key, load, scanned, total
from tests.harness.server import ServerProcess
from tests.harness.server_processes import await_end, kill_servers, server_pids
from tests.harness.spark_session import spark_session
from tests.harness.tcp_proxy import TcpProxy
from tests.harness.waiting import SOON_SECONDS, eventually

SERVERS = 3
DEFINES = ["log.durability=os", "maintenance.hot_split_share=0"]  # no tablet is split by its load
SHARED_SECONDS = 300.0
"""By then a server in a dead one's place has its share: the balancer rests while tablets of a dead one are watched."""
PREFIX_ROWS = 100_000
"""So many rows have the first three digits of eight in common."""
FEW_BYTES = 20_000
"""A page of counts each second, on a machine that does other things as well, for five million rows."""
FIRST_READ_SECONDS = 3600.0


def say(what: str, rows: int, began: float) -> None:
    seconds = time.monotonic() - began
    print(f"{what}: {rows:,} rows in {seconds:.1f} s, {rows / seconds:,.0f} rows/s", flush=True)


def owners(port: int) -> dict[bytes, str]:
    """The server of each tablet by its first row, ascending; "" while none has it."""

    def ask() -> dict[bytes, str]:
        with hbtable.connect("127.0.0.1", port) as db:
            return {tablet.start_row: tablet.server for tablet in db.calls.admin("adminTablets", NAME.encode())}

    return repeated(SOON_SECONDS, (Unavailable, OutcomeUnknown), ask)


def split(port: int, row: str) -> None:
    def ask() -> None:
        with hbtable.connect("127.0.0.1", port) as db:
            db.split_table(NAME, row)

    repeated(SOON_SECONDS, (Unavailable, OutcomeUnknown), ask)


def disturb(job: Job, server: ServerProcess, starts: list[int], chance: random.Random, ended: threading.Event) -> None:
    """Once, while the job runs. `starts` of its tasks, and the end of the last one."""
    after, pause = chance.randrange(1, len(starts) // 2), chance.uniform(0, 0.5)
    before, victim = owners(server.port), chance.choice(server_pids(server))
    eventually(lambda: ended.is_set() or job.done() >= after, FIRST_READ_SECONDS, f"{after} tasks done")
    at, done_before = job.reading(), job.done()
    row = key((starts[at] + starts[at + 1]) // 2)
    with ThreadPoolExecutor(1) as beside:
        splitting = beside.submit(split, server.port, row)
        time.sleep(pause)  # the fault comes at a random moment of the split, or just behind it
        kill_servers([victim])
        await_end([victim])
        splitting.result()
    now = owners(server.port)
    done = job.done()
    assert done < len(starts) - 1, f"the engine had read all {done} tablets before both were done: give more --rows"
    assert not ended.is_set(), "the engine had ended before both were done: give more --rows"
    assert row.encode() in now, f"there is no tablet from {row} on"
    killed = set(before.values()) - set(now.values()) - {""}
    assert len(killed) == 1, f"no server is gone, or several: {before}, then {now}"
    had = sum(owner in killed for owner in before.values())
    print(f"  {done_before} of {len(starts) - 1} tasks done: asked to split tablet {at} at {row}")
    print(f"  {pause:.2f} s later: killed process {victim}, which had {had} tablets of the table")
    print(f"  {done} tasks done: both were over", flush=True)


def run(
    name: str, make: Callable[[hbtable.Table], Job], server: ServerProcess, rows: int, chance: random.Random
) -> None:
    eventually(lambda: len(server_pids(server)) == SERVERS, SOON_SECONDS, f"{SERVERS} server processes")
    eventually(lambda: len(set(owners(server.port).values()) - {""}) == SERVERS, SHARED_SECONDS, "tablets on each")
    starts = [int(start or b"0") for start in owners(server.port)] + [rows]
    ended = threading.Event()
    with hbtable.connect("127.0.0.1", server.port) as db, ThreadPoolExecutor(1) as beside:
        job = make(db.table(NAME))
        began = time.monotonic()
        disturbed = beside.submit(disturb, job, server, starts, chance, ended)
        try:
            found = job.compute()
        finally:
            ended.set()
        say(name, rows, began)
        disturbed.result()
    assert found == expected(rows), f"{name} found {found}, and there is {expected(rows)}"


@contextmanager
def counted(server: ServerProcess, what: str, rows: int, most_bytes: int) -> Iterator[int]:
    """The port of a proxy; says how long what is done there took, and how many bytes it moved."""
    port, began = free_ports(1), time.monotonic()
    with TcpProxy("127.0.0.1", port, ("127.0.0.1", server.port)) as proxy:
        yield port
        say(what, rows, began)
        print(f"  {proxy.passed_bytes():,} bytes to and from the server", flush=True)
        assert proxy.passed_bytes() < most_bytes, f"more than {most_bytes:,}: rows were moved"


def count(server: ServerProcess, rows: int) -> None:
    few_bytes = max(FEW_BYTES, FEW_BYTES * rows // 5_000_000)
    asked: dict[str, tuple[str, str] | tuple[str, str, str]] = {
        "rows": ("count", "c:n"),
        "sum": ("sum", "c:n", "int64"),
    }
    with counted(server, "aggregate", rows, few_bytes) as port, hbtable.connect("127.0.0.1", port) as db:
        assert tuple(db.table(NAME).aggregate(asked).values()) == total(0, 1, rows)
    cuts = [*range(0, rows, PREFIX_ROWS), rows]
    groups = {key(first)[:3].encode(): total(first, 1, stop - first) for first, stop in pairwise(cuts)}
    with counted(server, "aggregate by prefix", rows, few_bytes) as port, hbtable.connect("127.0.0.1", port) as db:
        found = db.table(NAME).aggregate(asked, group_bytes=3)
        assert {group: tuple(one.values()) for group, one in found.items()} == groups
    with counted(server, "the shell's count", rows, few_bytes + rows) as port:  # of each thousandth row
        words = ["shell", "-n", "--url", f"127.0.0.1:{port}", "-e", f"count '{NAME}'"]
        done = subprocess.run([sys.executable, "-m", "hbtable", *words], capture_output=True, text=True, check=True)
        assert f"\n{rows} row(s)\n" in done.stdout, done.stdout[-1000:]


def campaign(rows: int, seed: int, engines: list[str], folder: Path) -> None:
    """Raises AssertionError."""
    chance = random.Random(seed)
    server = ServerProcess(folder / "data", DEFINES)
    server.arguments = ["--servers", str(SERVERS)]
    with ExitStack() as stack:
        stack.enter_context(server)
        loaded = folder / f"loaded-{rows}"
        if not loaded.exists():
            began = time.monotonic()
            load(server.port, rows)
            say("load", rows, began)
            loaded.touch()
        for engine in engines:
            make: Callable[[hbtable.Table], Job] = DaskJob
            if engine == "spark":
                session = spark_session(folder, {"spark.ui.showConsoleProgress": "false"})
                make = partial(SparkJob, stack.enter_context(session))
            run(engine, make, server, rows, chance)
        began = time.monotonic()
        found = scanned(server.port, rows)
        say("happybase", rows, began)
        assert found == expected(rows), f"happybase found {found}, and there is {expected(rows)}"
        count(server, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--seed", type=int, default=0, help="0: chosen now and printed")
    parser.add_argument("--engines", nargs="*", choices=("spark", "dask"), default=["spark", "dask"])
    parser.add_argument("--folder", type=Path, help="where the table stays; an empty one, or that of an earlier run")
    arguments = parser.parse_args()
    seed = arguments.seed or int(time.time())
    print(f"seed {seed}", flush=True)
    with ExitStack() as stack:
        folder = arguments.folder or stack.enter_context(tempfile.TemporaryDirectory(prefix="hbtable-jobs-"))
        Path(folder).mkdir(parents=True, exist_ok=True)
        campaign(arguments.rows, seed, arguments.engines, Path(folder).absolute())
    print(f"every count and sum is right (seed {seed})")


if __name__ == "__main__":
    main()
