"""`hbtable`, with the same arguments, that stops when whoever started it holds its standard input no longer, or ended.
Run as a module."""

import runpy
import sys

from hbtable.runtime.processes.parent_death import stop_with

if __name__ == "__main__":
    stop_with(sys.stdin.fileno())
    runpy.run_module("hbtable", run_name="__main__", alter_sys=True)
