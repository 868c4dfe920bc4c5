"""A plugin of pytest-xdist's workers: they send what the run shows, and not that each setup and teardown passed.

A worker tells of each test six times, and each message costs its process and the one that hears it 0.2 ms of the
processor: with 15,000 tests, as long as the whole of some parts of `make test`. Half of them change nothing there.
"""

from collections.abc import Callable
from typing import Any

import pytest


def make_terse(config: pytest.Config) -> None:
    """Of a worker; in any other process, and where somebody asked for what the messages are about, this does
    nothing."""
    if not hasattr(config, "workerinput") or _wants_all(config):
        return
    interactor = next(plugin for plugin in config.pluginmanager.get_plugins() if _is_of_xdist(plugin))
    interactor.sendevent = _terse(interactor.sendevent)


def _wants_all(config: pytest.Config) -> bool:
    """The times of setups, reports as XML, a line for each test that begins."""
    option = config.option
    return option.durations is not None or option.xmlpath is not None or option.verbose > 0


def _is_of_xdist(plugin: object) -> bool:
    return hasattr(plugin, "sendevent") and hasattr(plugin, "torun")


def _terse(send: Callable[..., None]) -> Callable[..., None]:
    def send_what_is_shown(name: str, **fields: Any) -> None:
        if name == "logstart" or (name == "testreport" and _is_no_news(fields["data"])):
            return
        send(name, **fields)

    return send_what_is_shown


def _is_no_news(report: dict[str, Any]) -> bool:
    return report["outcome"] == "passed" and report["when"] != "call"
