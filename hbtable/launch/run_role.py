"""Runs one role of a cluster until a signal ends it; the exit code."""

import logging
import os
import sys
from typing import Final, NoReturn, Protocol

from hbtable.errors import LockLost
from hbtable.launch.cluster_configuration import ListenOptions
from hbtable.launch.configuration import Configuration
from hbtable.launch.lifeline import LOST, Lifeline
from hbtable.launch.master_role import MasterProcess
from hbtable.launch.serve import log_to_stderr, raise_open_files
from hbtable.launch.supervisor import supervise
from hbtable.launch.tabletserver_role import TabletServerProcess
from hbtable.runtime.gevent_runtime import GeventRuntime

log = logging.getLogger(__name__)

_SWITCH_SECONDS: Final = 0.001


class Role(Protocol):
    """MasterProcess or TabletServerProcess."""

    def start(self) -> None: ...
    def stop(self) -> None: ...
    def banner(self) -> str: ...


def run_master(configuration: Configuration, listen: ListenOptions) -> int:
    """InvalidConfiguration and Unavailable with a sentence."""
    prepare()
    runtime = GeventRuntime()
    lifeline = Lifeline(runtime)
    return _run(MasterProcess(runtime, configuration, listen, lifeline), lifeline)


def run_tabletserver(configuration: Configuration, listen: ListenOptions) -> int:
    """InvalidConfiguration and Unavailable with a sentence."""
    prepare()
    runtime = GeventRuntime()
    lifeline = Lifeline(runtime)
    return _run(TabletServerProcess(runtime, configuration, listen, lifeline), lifeline)


def run_supervised(arguments: list[str]) -> int:
    """Runs the command line `arguments` without --supervised in a child, again and again (supervisor.py)."""
    log_to_stderr()
    return supervise([sys.executable, "-m", "hbtable", *(one for one in arguments[1:] if one != "--supervised")])


def end(code: int) -> NoReturn:
    """Ends the process now. The interpreter's own way would wait for threads that hang in calls to the file system, and
    native ones that wake up meanwhile abort it."""
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def prepare() -> None:
    """What a serving process needs of its interpreter."""
    log_to_stderr()
    raise_open_files()
    # As launch.serve has it: a finished sync must not wait 5 ms for the interpreter.
    sys.setswitchinterval(_SWITCH_SECONDS)


def _run(role: Role, lifeline: Lifeline) -> int:
    lifeline.handle_signals()
    try:
        role.start()
        print(role.banner(), flush=True)  # noqa: T201 -- what the person who started it came for
        lifeline.wait()
        log.info("draining")
        role.stop()
    except LockLost as error:
        log.error("%s", error)
        return LOST
    log.info("stopped in order")
    return 0
