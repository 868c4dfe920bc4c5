"""hbtable's command with a note of every stretch in which one task kept all others waiting, and with the port between
roles, which only clusters have otherwise: its number is in the file NOTES.port.

    python -m tests.harness.traced_server NOTES ARGUMENTS...

Each stretch of LONG_SECONDS of the thread's processor or more is a line of JSON in the file NOTES: the seconds of the
processor, those of the clock, and where the task was when it let go. On a machine that does other things, too, the
clock says how long the others had to wait, the processor how much of that was this program's, and `collected` how much
of it Python looked for garbage. What the hub itself does is not counted: it includes waiting for something to do. Nor
are these notes: to read the lines of a stack from their files takes milliseconds.
"""

import gc
import json
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import TextIO

import greenlet
from gevent.hub import Hub

from hbtable.launch.cli.command import main
from hbtable.launch.serve import SingleServer
from hbtable.rpc.thrift_server import RpcServer
from hbtable.runtime.network.sockets import serve

LONG_SECONDS = 0.003


def trace(notes: Path) -> TextIO:
    """From now on, for the calling thread, into the file that is returned."""
    file = notes.open("a", buffering=1)
    began, clock_began = time.thread_time(), time.perf_counter()
    looks_began = collected = 0.0
    hub_thread = threading.get_ident()

    def look(phase: str, _: dict[str, int]) -> None:
        nonlocal looks_began, collected
        if threading.get_ident() != hub_thread:
            return
        if phase == "start":
            looks_began = time.thread_time()
        else:
            collected += time.thread_time() - looks_began

    def note(_: str, between: tuple[greenlet.greenlet, greenlet.greenlet]) -> None:
        nonlocal began, clock_began, collected
        now, clock_now = time.thread_time(), time.perf_counter()
        seconds, began = now - began, now
        waited, clock_began = clock_now - clock_began, clock_now
        origin = between[0]
        if seconds >= LONG_SECONDS and not isinstance(origin, Hub):
            frame = origin.gr_frame
            stack = traceback.extract_stack(frame) if frame is not None else []
            where = [f"{Path(one.filename).name}:{one.lineno} {one.name}" for one in stack] or [
                f"the end of {origin!r}"
            ]
            line = {
                "seconds": round(seconds, 4),
                "clock_seconds": round(waited, 4),
                "collected": round(collected, 4),
                "where": where[-12:],
            }
            file.write(json.dumps(line) + "\n")
            began, clock_began = time.thread_time(), time.perf_counter()
        collected = 0.0

    gc.callbacks.append(look)
    greenlet.settrace(note)
    return file


def open_role_port(notes: Path) -> None:
    """As a tablet server's process has it, beside the gateway."""
    start = SingleServer.start

    def started(server: SingleServer) -> None:
        start(server)
        port = RpcServer(server.runtime, server.cluster.transport, lambda handle: serve("127.0.0.1", 0, handle)).start()
        notes.with_suffix(".port").write_text(str(port))

    SingleServer.start = started  # type: ignore[method-assign]


if __name__ == "__main__":
    trace(Path(sys.argv[1]))
    open_role_port(Path(sys.argv[1]))
    main(sys.argv[2:])
