"""Random Thrift2 programs on a real HBase and on hbtable; the smallest that differs is printed.

python -m tests.campaigns.difffuzz.thrift2 [--programs 2000] [--seed N]       ../README.md has the rest
"""

import argparse
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from tests.campaigns.difffuzz.started import running_hbase
from tests.campaigns.difffuzz.thrift2.agreement import run_programs
from tests.campaigns.difffuzz.thrift2.tables import Table
from tests.harness.server import ServerProcess


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seed", type=int, default=0, help="0: one by the clock")
    parser.add_argument("--programs", type=int, default=2000)
    parser.add_argument("--hbase", type=int, metavar="PORT", help="a running Thrift2 server; none: it is started")
    arguments = parser.parse_args()
    seed = arguments.seed or int(time.time())
    print(f"seed {seed}")
    if arguments.hbase is not None:
        return _beside(arguments.hbase, seed, arguments.programs)
    with running_hbase(thrift=2) as port:
        return _beside(port, seed, arguments.programs)


def _beside(hbase_port: int, seed: int, programs: int) -> int:
    with (
        tempfile.TemporaryDirectory() as folder,
        ServerProcess(Path(folder) / "data") as server,
        closing(Table(hbase_port, b"difffuzz")) as hbase,
        closing(Table(server.port, b"difffuzz")) as hbtable,
    ):
        try:
            calls = run_programs(hbase, hbtable, seed, programs)
        except AssertionError as error:
            print(error)
            return 1
    print(f"{calls} calls of {programs} programs agree")
    return 0


if __name__ == "__main__":
    sys.exit(main())
