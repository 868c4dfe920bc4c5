"""Runs one role of a cluster until a signal ends it; the exit code."""

import logging
import os
import sys
from collections.abc import Callable
from typing import Final, NoReturn, Protocol

from hbtable.errors import HbtableError, InvalidConfiguration, LockLost
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
    # -P: not whatever is called hbtable in the folder where it was started.
    command = [sys.executable, "-P", "-m", "hbtable"]
    return supervise([*command, *(one for one in arguments[1:] if one != "--supervised")])


def run_to_the_end(run: Callable[[], int]) -> NoReturn:
    """Runs a role and ends the process with its exit code; 2 for a configuration that cannot be and 1 for anything else
    that is in the way, with the sentence."""
    try:
        code = run()
    except HbtableError as error:
        # Here, and not where all commands' errors are shown: what was tried may have left calls that hang.
        print(f"hbtable: {error}", file=sys.stderr)  # noqa: T201 -- what the person who started it needs
        code = 2 if isinstance(error, InvalidConfiguration) else 1
    end(code)


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
