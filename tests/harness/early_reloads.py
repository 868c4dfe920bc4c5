"""A process that gets a SIGHUP before it can handle one, and ends with 0 where it is asked to reload afterwards."""

import sys
from typing import Final

COMMAND: Final = [
    sys.executable,
    "-c",
    """
import os, signal, time
while signal.SIGHUP not in signal.sigpending():
    time.sleep(0.01)
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.runtime.processes.signals import on_stop_signals
runtime = GeventRuntime()
runtime.spawn(runtime.sleep, 60)  # the hub has something to do
reloaded = runtime.event()
on_stop_signals(lambda: os._exit(1), reloaded.set)
reloaded.wait()
""",
]
