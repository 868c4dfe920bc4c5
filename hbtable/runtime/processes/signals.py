"""Signals as tasks: the handler runs in the hub between switches, never in the middle of other code."""

import signal
from collections.abc import Callable

import gevent

from hbtable.runtime.processes.late_reloads import take_reloads


def on_signal(number: signal.Signals, function: Callable[[], object]) -> None:
    """Calls `function` as a task of its own each time the process gets this signal."""
    gevent.signal_handler(number, function)


def on_stop_signals(function: Callable[[], object], reload: Callable[[], object] | None = None) -> None:
    """Calls `function` for SIGTERM, SIGINT and SIGHUP (the terminal is gone). A SIGHUP that is ignored stays so:
    whoever started the process with nohup wants it to outlive the terminal. With `reload` SIGHUP calls that, as it does
    in other services that have files to read again."""
    on_signal(signal.SIGTERM, function)
    on_signal(signal.SIGINT, function)
    if reload is not None:
        on_signal(signal.SIGHUP, reload)
    elif signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        on_signal(signal.SIGHUP, function)
    take_reloads()
