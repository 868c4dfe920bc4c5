"""Random Thrift1 programs on a real HBase and on hbtable; each difference is made small and printed.

python -m tests.campaigns.difffuzz [--calls 10000] [--seed N]       README.md has the rest
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.campaigns.difffuzz.alphabet import KNOWN, PROFILES
from tests.campaigns.difffuzz.hunt import Hunt, Limits, replayed
from tests.campaigns.difffuzz.own_server import DEFINES, OwnServer
from tests.campaigns.difffuzz.real_hbase import RealHBase
from tests.campaigns.difffuzz.running import Runner
from tests.campaigns.difffuzz.started import running_hbase
from tests.harness.server import ServerProcess


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seed", type=int, default=0, help="0: one by the clock")
    parser.add_argument("--calls", type=int, default=10000, help="how many in all, of both servers together")
    parser.add_argument("--seconds", type=float, default=1e9, help="end after this time whatever was done")
    parser.add_argument("--hbase", type=int, metavar="PORT", help="a running one of real-hbase; none: it is started")
    parser.add_argument("--hbtable", type=int, metavar="PORT", help="a running one; none: it is started")
    parser.add_argument("--lines", type=int, default=100, help="of one program")
    parser.add_argument("--profile", help=f"one, or several with commas, of: {' '.join(PROFILES)}")
    parser.add_argument("--known", action="store_true", help=f"also what is known to differ: {' '.join(KNOWN)}")
    parser.add_argument("--unexplained", action="store_true", help="filtered scans that only the model explains, too")
    parser.add_argument("--minimise", type=float, default=90, help="seconds for one difference")
    parser.add_argument("--save", type=Path, help="append each difference as a line of JSON")
    parser.add_argument("--only", help="one program, as SEED/NUMBER; its profile must be given, too")
    parser.add_argument("--replay", type=Path, help="run the programs of such a file again")
    return parser.parse_args()


def main() -> int:
    arguments = _arguments()
    if arguments.hbase is None:
        with running_hbase() as port:
            return _beside(port, arguments)
    return _beside(arguments.hbase, arguments)


def _beside(hbase_port: int, arguments: argparse.Namespace) -> int:
    if arguments.hbtable is not None:
        return _hunt(hbase_port, arguments.hbtable, arguments)
    with tempfile.TemporaryDirectory() as folder, ServerProcess(Path(folder) / "data", DEFINES) as server:
        return _hunt(hbase_port, server.port, arguments)


def _hunt(hbase_port: int, hbtable_port: int, arguments: argparse.Namespace) -> int:
    seed = arguments.seed or int(time.time())
    hbase, hbtable = RealHBase(hbase_port), OwnServer("127.0.0.1", hbtable_port)
    runner = Runner(hbase, hbtable, f"dz{seed}_", arguments.unexplained)
    try:
        if arguments.replay:
            replayed(arguments.replay, runner)
            return 0
        limits = Limits(arguments.calls, arguments.seconds, arguments.lines, arguments.minimise)
        profiles = arguments.profile.split(",") if arguments.profile else []
        hunt = Hunt(runner, seed, limits, profiles, KNOWN if arguments.known else (), arguments.save)
        hunt.run(arguments.only)
        return 1 if hunt.found else 0
    finally:
        hbase.close()
        hbtable.close()


if __name__ == "__main__":
    sys.exit(main())
