"""A table of a real HBase moves to an hbtable by `hbtable copy --follow` while it is written to, and so it goes back.

Each way ends as the manual says: the writers stop, the command is interrupted, makes its last round and compares. It
has to call every region alike; and what both servers hold, read by scans of Thrift, has to be the same.

    python -m tests.campaigns.moving [--rows 1000000] [--service thrift2] [--seed N] [--workers 2]
"""

import argparse
import random
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from tests.campaigns.difffuzz.started import running_hbase
from tests.harness import moving
from tests.harness.server import ServerProcess

NAME = "moved"
SIDES: dict[str, Callable[[int, str], moving.Side]] = {"thrift1": moving.Thrift1Side, "thrift2": moving.Thrift2Side}


def campaign(hbase: int, arguments: argparse.Namespace, folder: Path) -> None:
    """AssertionError where the command fails, or where the two sides differ after it has called them alike."""
    side = SIDES[arguments.service]
    with closing(side(hbase, NAME)) as theirs:
        theirs.drop()
        theirs.make([moving.key(arguments.rows * part // 4) for part in (1, 2, 3)])
        began = time.monotonic()
        moving.load(theirs, 0, arguments.rows)
        _say(f"HBase has {arguments.rows:,} rows", arguments.rows, time.monotonic() - began)
        with ServerProcess(folder / "data") as server, closing(moving.Thrift2Side(server.port, NAME)) as ours:
            there, here = f"{arguments.service}://127.0.0.1:{hbase}", f"thrift://127.0.0.1:{server.port}"
            _way("in", there, here, lambda: side(hbase, NAME), (theirs, ours), arguments, folder)
            theirs.drop()
            _way("back", here, there, lambda: moving.Thrift2Side(server.port, NAME), (ours, theirs), arguments, folder)


def _way(
    way: str, source: str, target: str, connect: Callable[[], moving.Side], sides: tuple[moving.Side, moving.Side],
    arguments: argparse.Namespace, folder: Path,
) -> None:  # fmt: skip
    # Thrift1 cannot delete a single version at the target.
    deletes = arguments.service == "thrift2"
    application = moving.Application(connect, arguments.rows, arguments.seed, deletes, pause_seconds=0.005)
    try:
        more = ("--workers", str(arguments.workers), *(("--delete",) if deletes else ()))
        moved = moving.move(source, target, NAME, folder / "state", application.stop, *more)
    finally:
        application.stop()
    print("\n".join(f"  {line}" for line in moved.lines))
    assert moved.code == 0, f"{way}: the command ended with {moved.code}"
    differ = [line for line in moved.lines if "digest" in line and "alike" not in line]
    assert not differ, differ
    _say(f"{way}: copied", arguments.rows, moved.copied_seconds)
    _say(f"{way}: with following and the comparison, {application.calls:,} calls meanwhile", arguments.rows,
         moved.whole_seconds)  # fmt: skip
    print(f"{way}: writers stood for {moved.whole_seconds - moved.written_seconds:.0f} s", flush=True)
    found = [moving.digest(one) for one in sides]
    assert found[0] == found[1], f"{way}: the command called them alike, and they are not: {found}"
    print(f"{way}: {found[0][0]:,} rows, {found[0][1]:,} cells, equal", flush=True)


def _say(what: str, rows: int, seconds: float) -> None:
    print(f"{what}: {seconds:.0f} s, {rows / seconds:,.0f} rows/s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--service", choices=sorted(SIDES), default="thrift2")
    parser.add_argument("--seed", type=int, default=0, help="0: a new one")
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    arguments.seed = arguments.seed or random.SystemRandom().randrange(1, 1 << 30)
    print(f"seed {arguments.seed}, {arguments.rows:,} rows, through {arguments.service}", flush=True)
    thrift = 2 if arguments.service == "thrift2" else 1
    with tempfile.TemporaryDirectory(prefix="hbtable-moving-") as folder, running_hbase(thrift) as port:
        campaign(port, arguments, Path(folder))
    print("equal both ways")


if __name__ == "__main__":
    main()
