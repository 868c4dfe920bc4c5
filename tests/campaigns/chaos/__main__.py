"""Continuous ingest on a real ZooKeeper (an ensemble of three) and HDFS while everything is killed (kill -9) and frozen
(SIGSTOP) in turn: tablet servers, masters, DataNodes, the NameNode, members of ZooKeeper, some of them at once; and
while the wall clocks of masters and tablet servers are minutes apart, jump, and are far off as they start.

    python -m tests.campaigns.chaos [--seed N] [--minutes 20] [--at-most 45] [--faults 80] [--cells 10000000]
                                    [--writers 3] [--pause SECONDS] [--kind NAME ...]

Linked lists of cells are written as Accumulo's continuous ingest does it (links.py), rows are changed in every way and
numbers raised (rows.py), tables are split, merged, moved, drained and altered (operators.py). Walkers and owners read
meanwhile what was acknowledged; in the end a job walks all links, all rows and numbers are compared with what their
clients were told, no cell has a time of a clock that jumped, and `hbtable check` reads all files. Faults end
when all three of --minutes, --faults and --cells are reached, or after --at-most minutes, and everything is compared
then. Links, rows and faults follow from the seed; who comes first does not.
"""

import argparse
import tempfile
import time
from pathlib import Path

from tests.campaigns.chaos.faults import SESSION_SECONDS
from tests.campaigns.chaos.run import SETTINGS, Plan, Run, start_roles
from tests.harness.real_servers import running_hdfs
from tests.harness.role_processes import ProcessCluster
from tests.harness.zookeeper_ensemble import running_ensemble


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0, help="0: chosen now and printed")
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--at-most", type=float, default=45.0, help="minutes, whatever was not reached by then")
    parser.add_argument("--faults", type=int, default=80)
    parser.add_argument("--cells", type=int, default=10_000_000)
    parser.add_argument("--writers", type=int, default=3)
    parser.add_argument("--pause", type=float, default=0.0, help="of a writer after each batch, in seconds")
    parser.add_argument("--kind", action="append", default=[], help="of fault; all")
    arguments = parser.parse_args()
    seed = arguments.seed or int(time.time())
    print(f"seed {seed}", flush=True)
    plan = Plan(
        seed,
        60 * arguments.minutes,
        arguments.faults,
        arguments.cells,
        arguments.writers,
        arguments.pause,
        arguments.kind,
        60 * arguments.at_most,
    )
    with (
        tempfile.TemporaryDirectory(prefix="hbtable-chaos-") as folder,
        running_hdfs(3) as hdfs,
        running_ensemble() as ensemble,
        ProcessCluster(
            Path(folder),
            ensemble.address,
            "/chaos",
            hdfs.hdfs("/chaos"),
            SESSION_SECONDS,
            SETTINGS + f'[hdfs]\nweb_addresses = "localhost:{hdfs.http_port}"\n',
            own_clocks=True,
        ) as cluster,
    ):
        start_roles(cluster)
        run = Run(cluster, hdfs, ensemble, plan)
        run.run()
        if run.violations:
            kept = Path(tempfile.gettempdir()) / f"hbtable-chaos-logs-{seed}"
            kept.mkdir(exist_ok=True)
            for role in (*cluster.masters, *cluster.servers):
                (kept / role.errors.name).write_text(role.log())
            raise SystemExit("\n".join([*run.violations[:30], f"seed {seed}; the roles' logs are in {kept}"]))
    print(f"nothing was lost, stale or counted twice (seed {seed})")


if __name__ == "__main__":
    main()
