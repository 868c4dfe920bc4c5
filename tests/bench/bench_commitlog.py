"""What the commit log costs on this machine: python tests/bench/bench_commitlog.py [folder]

Prints microseconds per record for encoding, for commits with durability "os" and "sync" (one client and many), for
reading and for sorting. The folder (default: a temporary one) decides which disk is measured.
"""

import sys
import tempfile
import time
from collections.abc import Callable

from hbtable.commitlog.options import LogOptions
from hbtable.commitlog.records import encode_record
from hbtable.commitlog.recovery.log_ranges import plan_ranges
from hbtable.commitlog.recovery.reading import log_segments, read_log
from hbtable.commitlog.recovery.recovered_edits import recovered
from hbtable.commitlog.recovery.sorting import publish, sort_range
from hbtable.commitlog.segments.writer import LogWriter
from hbtable.encoding.cell_key import cell_key
from hbtable.fs.local import LocalFileSystem
from hbtable.metrics.registry import Registry
from hbtable.runtime.gevent_runtime import GeventRuntime

VALUE = bytes(100)
KEY = cell_key(b"row-0000012345", b"cf", b"column", 1_700_000_000_000, 8, 77)


def timed(title: str, count: int, work: Callable[[], object]) -> None:
    started = time.perf_counter()
    work()
    micros = (time.perf_counter() - started) / count * 1e6
    print(f"{title:<46} {micros:9.2f} us/record {1e6 / micros:12,.0f} /s")


def encode(count: int) -> None:
    for sequence in range(count):
        encode_record(20, 1, sequence, 0, [(KEY, VALUE)])


def one_client(log: LogWriter, count: int) -> None:
    applied: list[int] = []
    apply = lambda: applied.append(1)  # noqa: E731
    for sequence in range(count):
        log.commit(20, sequence, encode_record(20, 1, sequence, 0, [(KEY, VALUE)]), apply)


def many_clients(runtime: GeventRuntime, log: LogWriter, clients: int, count: int) -> None:
    tasks = [runtime.spawn(one_client, log, count // clients) for _ in range(clients)]
    for task in tasks:
        task.join()


def sort_log(runtime: GeventRuntime, fs: LocalFileSystem, folder: str) -> None:
    parts = plan_ranges(log_segments(fs, folder), 16 << 20)
    publish(fs, folder, [sort_range(runtime, fs, folder, part) for part in parts])


def main(folder: str) -> None:
    runtime = GeventRuntime()
    fs = LocalFileSystem(folder, runtime)

    def writer(name: str, durability: str) -> LogWriter:
        return LogWriter(runtime, fs, f"logs/{name}", LogOptions(durability=durability), Registry())

    timed("encode_record, one cell", 200_000, lambda: encode(200_000))
    log = writer("os", "os")
    timed('encode + commit, "os", one client', 300_000, lambda: one_client(log, 300_000))
    log.close()
    log = writer("sync-1", "sync")
    timed('encode + commit, "sync", one client', 3_000, lambda: one_client(log, 3_000))
    log.close()
    log = writer("sync-64", "sync")
    timed('encode + commit, "sync", 64 clients', 64_000, lambda: many_clients(runtime, log, 64, 64_000))
    log.close()
    timed("read_log", 300_000, lambda: sum(1 for _ in read_log(fs, "logs/os")))
    timed("sort_log", 300_000, lambda: sort_log(runtime, fs, "logs/os"))
    timed("recovered, sorted", 300_000, lambda: sum(1 for _ in recovered(fs, "logs/os", 20, 0)))
    runtime.close()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(temporary)
