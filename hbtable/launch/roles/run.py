"""Runs one role of a cluster until a signal ends it; the exit code."""

import logging
import os
import sys
from typing import Final, NoReturn

from hbtable.errors import HbtableError, InvalidConfiguration, LockLost
from hbtable.launch.config.cluster_configuration import ListenOptions
from hbtable.launch.config.configuration import Configuration
from hbtable.launch.exposure import refuse_exposed_role
from hbtable.launch.process import check_open_files, exit_now, log_to_stderr, prepare, say
from hbtable.launch.roles.master import MasterProcess
from hbtable.launch.roles.supervisor import supervise
from hbtable.launch.roles.tabletserver import TabletServerProcess
from hbtable.launch.roles.thrift_gateway import ThriftGatewayProcess
from hbtable.launch.roles.watchdog import LOST, Watchdog
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.runtime.network.tls import TlsOptions
from hbtable.switches import switches

log = logging.getLogger(__name__)

_ROLES: Final[dict[str, type[MasterProcess] | type[TabletServerProcess] | type[ThriftGatewayProcess]]] = {
    "master": MasterProcess,
    "tabletserver": TabletServerProcess,
    "thrift": ThriftGatewayProcess,
}
"""By the command that runs it."""

_SPOKEN: Final = {"master": "master", "tabletserver": "tablet server", "thrift": "gateway"}
"""In messages."""


def run_supervised(name: str, configuration: Configuration, arguments: list[str]) -> int:
    """Runs the command line `arguments` without --supervised in a child, again and again (supervisor.py)."""
    log_to_stderr()
    # -P: not whatever is called hbtable in the folder where it was started.
    command = [sys.executable, "-P", "-m", "hbtable"]
    reloads = name != "master" and bool(configuration.options("tls", TlsOptions).certificate)
    rest = [one for one in arguments[1:] if one != "--supervised"]
    return supervise([*command, *rest], reloads=reloads, name=_SPOKEN[name])


@switches
def run_to_the_end(name: str, configuration: Configuration, listen: ListenOptions, insecure: bool = False) -> NoReturn:
    """Runs a role and ends the process with its exit code; 2 for a configuration that cannot be and 1 for anything else
    that is in the way, with the message. `insecure`: also where other machines reach it, and nobody asks who they
    are."""
    try:
        if not insecure:
            refuse_exposed_role(configuration, listen.host, listen.http_port)
        code = _run(name, configuration, listen)
    except HbtableError as error:
        # Here, and not where all commands' errors are shown: what was tried may have left calls that hang.
        print(f"hbtable: {error}", file=sys.stderr)  # noqa: T201 -- what the person who started it needs
        code = 2 if isinstance(error, InvalidConfiguration) else 1
    _end(code)


def _end(code: int) -> NoReturn:
    """Ends the process now. The interpreter's own way would wait for threads that hang in calls to the file system, and
    native ones that wake up meanwhile abort it."""
    sys.stdout.flush()
    sys.stderr.flush()
    exit_now(code)


@switches
def _run(name: str, configuration: Configuration, listen: ListenOptions) -> int:
    prepare()
    configuration.check_file()
    check_open_files(configuration)
    runtime = GeventRuntime()
    watchdog = Watchdog(runtime)
    role = _ROLES[name](runtime, configuration, listen, watchdog)
    watchdog.handle_signals(role.reload)
    watchdog.watch_supervisor(os.environ)
    try:
        role.start()
        say(role.banner())
        watchdog.wait()
        log.info("draining")
        role.stop()
    except LockLost as error:
        log.error("%s", error)
        return LOST
    log.info("stopped in order")
    return 0
