"""What a commit costs on a cluster's file system: python tests/bench/bench_cluster_log.py ADDRESS [seconds]

ADDRESS as in fs/opened.py: webhdfs://localhost:9870/bench, hdfs://localhost:8020/bench. Prints commits per second and
the latency of one commit for 1, 8 and 64 clients, each with a log of its own, which is read back and removed.
"""

import sys
import time

from hbtable.commitlog.group_files.writer import FileGroupLog
from hbtable.commitlog.opening import open_log
from hbtable.commitlog.options import LogOptions
from hbtable.commitlog.records import encode_record
from hbtable.commitlog.recovery.fencing import is_fenced
from hbtable.commitlog.recovery.manifest import list_log
from hbtable.commitlog.recovery.reading import read_log
from hbtable.commitlog.segments.segment import log_folder
from hbtable.encoding.cell_key import cell_key
from hbtable.fs.opened import open_file_system
from hbtable.metrics.registry import Registry
from hbtable.runtime.gevent_runtime import GeventRuntime

VALUE = bytes(100)
KEY = cell_key(b"row-0000012345", b"cf", b"column", 1_700_000_000_000, 8, 77)


def measure(runtime: GeventRuntime, address: str, clients: int, seconds: float) -> None:
    fs = open_file_system(address, runtime)
    incarnation = f"bench-{time.time_ns():x}"
    registry = Registry()
    log = open_log(
        runtime, fs, incarnation, LogOptions(), registry, lambda: is_fenced(fs, incarnation), lambda: print("lost")
    )
    latencies: list[float] = []
    end = time.perf_counter() + seconds

    def client(tablet: int) -> None:
        sequence = 0
        while time.perf_counter() < end:
            sequence += 1
            started = time.perf_counter()
            log.commit(tablet, sequence, encode_record(tablet, 1, sequence, 0, [(KEY, VALUE)]), lambda: None)
            latencies.append(time.perf_counter() - started)

    started = time.perf_counter()
    tasks = [runtime.spawn(client, 20 + number) for number in range(clients)]
    for task in tasks:
        task.join()
    took = time.perf_counter() - started
    log.close()
    latencies.sort()
    groups = registry.counter("hbtable_wal_groups_total", "").value
    millis = [1000 * latencies[int(len(latencies) * share)] for share in (0.5, 0.99)]
    print(
        f"{clients:3} clients {len(latencies) / took:9,.0f} commits/s  p50 {millis[0]:7.1f} ms  p99 {millis[1]:7.1f} ms"
        f"  max {1000 * latencies[-1]:7.1f} ms  {groups / took:6,.0f} groups/s"
    )
    folder = log_folder(incarnation)
    if isinstance(log, FileGroupLog) or fs.log_kind == "hdfs":
        runtime.sleep(1)
        started = time.perf_counter()
        found = sum(1 for _ in read_log(fs, folder, list_log(fs, folder)))
        files = len(list_log(fs, folder).files)
        took = time.perf_counter() - started
        print(f"            read back {found} of {len(latencies)} from {files} files in {took:.1f} s")
    fs.delete_folder(folder)


def main(address: str, seconds: float) -> None:
    runtime = GeventRuntime()
    for clients in (1, 8, 64):
        measure(runtime, address, clients, seconds)
    runtime.close()


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 10.0)
