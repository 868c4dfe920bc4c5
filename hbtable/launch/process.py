"""Prepares the interpreter and the operating system for a serving process, whatever it serves."""

import gc
import logging
import os
import resource
import sys
from typing import Final, NoReturn

from hbtable.errors import InvalidConfiguration
from hbtable.launch.config.configuration import Configuration
from hbtable.launch.log_format import LineFormatter
from hbtable.launch.log_lines import LogLines
from hbtable.runtime.network.sockets import capacity_of, descriptors_for

log = logging.getLogger(__name__)

_OPEN_FILES: Final = 1 << 20
_FEWEST_OPEN_FILES: Final = 256
"""64 are kept for files, and a client needs one: with few more a server would start, and turn its clients away."""
_CONNECTIONS: Final = (("thrift", "connections"), ("rpc_server", "connections"))
"""Settings that say how many connections a port takes."""
_SWITCH_SECONDS: Final = 0.001
_COLLECTED_OBJECTS: Final = 20_000


def prepare() -> None:
    """Before anything else of a server. InvalidConfiguration when it could not serve."""
    log_to_stderr()
    _raise_open_files()
    # A finished sync must not wait 5 ms until the busy hub lets its thread have the interpreter: with two clients that
    # scan, a third one's synced puts went from 275 to 325 a second, and the scans were not slower.
    sys.setswitchinterval(_SWITCH_SECONDS)
    _spare_the_collector()


def _spare_the_collector() -> None:
    """Keeps Python's collector away from everything that was imported, and makes it look less often. Imported objects
    live as long as the process: a thousand of 70,000 are garbage, and to look for them took a tenth of the
    processor's time of a start. Requests make many tuples and hardly a cycle, so the collector looks after every 20,000
    new objects that stay, not after 700: a scanned row took 3.8 us of CPU instead of 4.7, a row of a batch 8.7 instead
    of 9.3. With more of them one look would take longer than 10 ms, and nothing else runs meanwhile. cycle_collector.py
    has it look after fewer, where 20,000 take longer, and says when older ones are looked at."""
    gc.freeze()
    gc.set_threshold(_COLLECTED_OBJECTS, 20, 50)


def check_open_files(configuration: Configuration) -> None:
    """InvalidConfiguration when somebody asked for more connections than this process has file descriptors for. Who
    asked for none gets as many as there are."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return
    for section, key, value, origin in configuration.effective():
        if (section, key) not in _CONNECTIONS or origin == "default" or not isinstance(value, int):
            continue
        if value > capacity_of(soft):
            needed = descriptors_for(value)
            raise InvalidConfiguration(
                f"{origin}: {section}.{key} = {value} needs {needed} open files and connections, and this process may "
                f"have {soft}: raise the limit (ulimit -n {needed}; LimitNOFILE={needed} in a unit of systemd), or ask "
                f"for {capacity_of(soft)} at most"
            )


def log_to_stderr() -> None:
    """One line per change of state; nothing where stderr is closed."""
    handler: logging.Handler
    try:
        handler = LogLines(sys.stderr.fileno())
    except (AttributeError, OSError, ValueError):
        handler = logging.NullHandler()
    handler.setFormatter(LineFormatter())
    logging.basicConfig(handlers=[handler], level=logging.INFO, force=True)


def say(text: str) -> None:
    """Prints to stdout, for whoever started the process. Prints nothing if stdout is closed or full, and escapes for
    characters that it cannot take."""
    try:
        data = text.encode(sys.stdout.encoding or "utf-8", "backslashreplace") + b"\n"
        sys.stdout.flush()
        os.write(sys.stdout.fileno(), data)
    except (AttributeError, OSError, ValueError) as error:
        log.warning("what the start should print cannot be written: %s", error)


def exit_now(code: int) -> NoReturn:
    """Ends the process without waiting for threads that hang in native calls; the log is written out before, as far as
    somebody reads it."""
    logging.shutdown()
    os._exit(code)


def _raise_open_files() -> None:
    """Takes all the open files that the system grants: each client and each SSTable needs one, and the usual soft limit
    of 1024 is there for programs that use select()."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # macOS calls its limit infinite and refuses to set that.
    wanted = min(hard, _OPEN_FILES) if hard != resource.RLIM_INFINITY else _OPEN_FILES
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (OSError, ValueError) as error:
        log.warning("open files stay limited to %d: %s", resource.getrlimit(resource.RLIMIT_NOFILE)[0], error)
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < _FEWEST_OPEN_FILES:
        raise InvalidConfiguration(
            f"this process may have {soft} files and connections open, and a server needs at least "
            f"{_FEWEST_OPEN_FILES}: raise the limit first (ulimit -n 4096; LimitNOFILE=4096 in a unit of systemd)"
        )
