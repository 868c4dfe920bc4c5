"""hbtable, with its log synced and not, beside a real HBase: eight workloads in turns (paper, section 7).

    python -m tests.bench.beside_hbase [--rows 100000] [--clients 1,2,3] [--rounds 3] [--seconds 3] [--long]
                                       [--markdown FILE] [--svg FILE] [--json FILE] [--hdfs [--hbase-hsync]]

All servers run at once, and the clients drive them round by round, so that a busy machine hits all of them. Before its
first round each workload runs on each server until its rate stands still. Prints rates with their range, their ratio to
HBase's (the median over the rounds), what calls took, and the processor's time of the server's processes; at the end
their memory and disk. HBase on local files never syncs its log, so `os` is what compares.
--long: values of 10, 100, 1000 and 10,000 bytes, and compressible ones. Without Java hbtable runs alone.
--hdfs: a master and a tablet server of hbtable over hdfs://, the same over webhdfs://, and a master and a region server
of HBase, all on one HDFS of three DataNodes and one ZooKeeper. HBase's log is flushed to three DataNodes' memory, as it
is by default; --hbase-hsync: it is synced to their disks, as hbtable's.
"""

import argparse
import json
import platform
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from importlib.metadata import version
from pathlib import Path

from tests.bench.beside_hbase import on_hdfs, report
from tests.bench.beside_hbase.servers import Contestant, contestants, resident_bytes, why_no_hbase
from tests.bench.beside_hbase.workloads import WORKLOADS, Profile, load, run, warm


def profiles(arguments: argparse.Namespace) -> list[Profile]:
    rows = arguments.rows
    if not arguments.long:
        return [Profile(rows, arguments.value_bytes)]
    return [
        *(Profile(min(rows, 200_000_000 // size), size) for size in (10, 100, 1000, 10_000)),
        Profile(rows, 1000, is_compressible=True),
    ]


def machine() -> str:
    """What the figures are of."""
    info = Path("/proc/cpuinfo").read_text()
    models = [line.partition(":")[2].strip() for line in info.splitlines() if line.startswith("model name")]
    return (
        f"{time.strftime('%Y-%m-%d')}, {len(models)} processors ({models[0] if models else platform.machine()}), "
        f"Linux {platform.release()}, Python {platform.python_version()}, happybase {version('happybase')}, "
        f"hbtable {version('hbtable')}, HBase 2.6.1"
    )


def busy() -> str:
    """The load that others made before the first turn."""
    return f"load average of the machine before the first turn: {Path('/proc/loadavg').read_text().split()[0]}"


def compare(servers: Sequence[Contestant], profile: Profile, arguments: argparse.Namespace) -> list[report.Line]:
    print(f"\n{profile}; {arguments.rounds} rounds of {arguments.seconds:g} s")
    print(report.text(report.HEADINGS), flush=True)
    for server in servers:
        load(server, profile)
    found: list[report.Line] = []
    names = [server.name for server in servers]
    for workload in arguments.workloads.split(";"):
        for server in servers:
            warm(server, workload, profile, arguments.warm_seconds, arguments.warm_turns)
        for clients in map(int, arguments.clients.split(",")):
            rounds = []
            for number in range(arguments.rounds):
                order = [(place + number) % len(servers) for place in range(len(servers))]
                turns = {place: run(servers[place], workload, profile, clients, arguments.seconds) for place in order}
                rounds.append([turns[place] for place in range(len(servers))])
            lines = report.lines_of(workload, clients, names, rounds)
            for line in lines:
                print(report.text(report.cells(line)), flush=True)
            found += lines
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--value-bytes", type=int, default=1000)
    parser.add_argument("--clients", default="1,2,3", help="comma-separated")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each turn")
    parser.add_argument("--warm-seconds", type=float, default=2.0, help="of each turn that warms")
    parser.add_argument("--warm-turns", type=int, default=15, help="that warm one workload on one server, at most")
    parser.add_argument("--workloads", default=";".join(WORKLOADS), help="separated by semicolons")
    parser.add_argument("--hdfs", action="store_true", help="all of them on one HDFS and ZooKeeper")
    parser.add_argument("--hbase-hsync", action="store_true", help="with --hdfs: HBase syncs its log to disks")
    parser.add_argument("--long", action="store_true", help="values of several sizes")
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--svg", type=Path)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    unknown = set(arguments.workloads.split(";")) - WORKLOADS.keys()
    if unknown:
        parser.error(f"no workloads: {', '.join(sorted(unknown))}; there are {', '.join(WORKLOADS)}")
    missing = why_no_hbase()
    if missing and arguments.hdfs:
        parser.error(missing)
    if missing:
        print(f"without HBase: {missing}; hbtable runs alone, and ratios are to its unsynced log")
    notes, sections, everything = [machine(), busy()], [], []
    side_by_side: AbstractContextManager[Sequence[Contestant]] = (
        on_hdfs.contestants(arguments.hbase_hsync) if arguments.hdfs else contestants(not missing)
    )
    with side_by_side as servers:
        for profile in profiles(arguments):
            lines = compare(servers, profile, arguments)
            used = [
                f"{server.name}: {resident_bytes(server) >> 20:,} MB of memory, "
                f"{server.disk_bytes() >> 20:,} MB on disk"
                for server in servers
            ]
            if arguments.hdfs:
                used += on_hdfs.durability(servers)
            print("\n".join(used))
            sections.append(report.markdown(str(profile), lines, used))
            everything += [{"profile": str(profile), **line._asdict()} for line in lines]
            if arguments.svg and len(sections) == 1:
                arguments.svg.write_text(report.plot(f"rate of hbtable as a ratio to {servers[0].name}'s", lines))
    print("\n".join(notes))
    if arguments.markdown:
        arguments.markdown.write_text("".join(f"* {note}\n" for note in notes) + "\n" + "\n".join(sections))
    if arguments.json:
        arguments.json.write_text(json.dumps(everything, indent=1) + "\n")


if __name__ == "__main__":
    main()
