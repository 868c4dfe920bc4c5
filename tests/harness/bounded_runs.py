"""A plugin of pytest for runs that nobody watches: failures are told as they come, and no teardown waits for ever.

A run that is ended from outside prints no summary, so what failed by then has to stand above. Behind a failed call
pytest and pytest-timeout stop their clocks, as a debugger may look at it (`pytest_exception_interact`): where the
teardown then waits for what failed, nothing would say so, and nothing would end it.
"""

import faulthandler
import os
from collections.abc import Generator

import pytest

TEARDOWN_SECONDS = 600
"""A teardown that takes longer ends its process, with the stack of each thread on stderr."""

_MOST_CHARACTERS = 4000
"""Of what is told of a failure; the summary has all."""


class BoundedRuns:
    def __init__(self, config: pytest.Config, teardown_seconds: float = TEARDOWN_SECONDS) -> None:
        self._config = config
        self._teardown_seconds = teardown_seconds
        self._stderr = os.dup(2)  # tests have another one
        self._in_worker = hasattr(config, "workerinput")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if self._in_worker or reporter is None or not report.failed:
            return
        reporter.ensure_newline()
        reporter.write_line(f"{report.nodeid} failed in its {report.when}:", red=True)
        reporter.write_line(report.longreprtext[-_MOST_CHARACTERS:])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self) -> Generator[None, object, object]:
        faulthandler.dump_traceback_later(self._teardown_seconds, exit=True, file=self._stderr)
        try:
            return (yield)
        finally:
            faulthandler.cancel_dump_traceback_later()

    def pytest_unconfigure(self) -> None:
        os.close(self._stderr)
