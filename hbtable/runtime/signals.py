"""Signals as tasks: the handler runs in the hub between switches, never in the middle of other code."""

import signal
from collections.abc import Callable

import gevent


def on_signal(number: signal.Signals, function: Callable[[], object]) -> None:
    """Calls `function` as a task of its own each time the process gets this signal."""
    gevent.signal_handler(number, function)
