"""hbtable's command with a note of every stretch in which one task kept all others waiting.

    python -m tests.harness.traced_server NOTES ARGUMENTS...

Each stretch of LONG_SECONDS or more is a line of JSON in the file NOTES: its seconds, and where the task was when it
let go. What the hub itself does is not counted: it includes waiting for something to do.
"""

import json
import sys
import time
import traceback
from pathlib import Path

import greenlet
from gevent.hub import Hub

from hbtable.launch.cli.command import main

LONG_SECONDS = 0.003


def trace(notes: Path) -> None:
    """From now on, for the calling thread."""
    file = notes.open("a", buffering=1)
    began = time.perf_counter()

    def note(_: str, between: tuple[greenlet.greenlet, greenlet.greenlet]) -> None:
        nonlocal began
        now = time.perf_counter()
        seconds, began = now - began, now
        origin = between[0]
        if seconds >= LONG_SECONDS and not isinstance(origin, Hub):
            frame = origin.gr_frame
            stack = traceback.extract_stack(frame) if frame is not None else []
            where = [f"{Path(one.filename).name}:{one.lineno} {one.name}" for one in stack]
            file.write(json.dumps({"seconds": round(seconds, 4), "where": where[-12:]}) + "\n")

    greenlet.settrace(note)


if __name__ == "__main__":
    trace(Path(sys.argv[1]))
    main(sys.argv[2:])
