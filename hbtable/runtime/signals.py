"""Signals as tasks: the handler runs in the hub between switches, never in the middle of other code."""

import signal
from collections.abc import Callable

import gevent


def on_signal(number: signal.Signals, function: Callable[[], object]) -> None:
    """Calls `function` as a task of its own each time the process gets this signal."""
    gevent.signal_handler(number, function)


def on_stop_signals(function: Callable[[], object]) -> None:
    """Calls `function` for SIGTERM, SIGINT and SIGHUP (the terminal is gone). A SIGHUP that is ignored stays so:
    whoever started the process with nohup wants it to outlive the terminal."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            on_signal(number, function)
