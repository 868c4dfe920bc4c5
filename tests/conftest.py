"""The seed of this run: chosen, printed, and what tests of Hypothesis take their examples from."""

import pytest
from hypothesis import settings

from tests.harness.fresh_seed import choose_seed, fresh_seed


def pytest_configure(config: pytest.Config) -> None:
    choose_seed()
    # By itself Hypothesis takes other examples in each run, and those that failed in earlier runs of this folder.
    same_each_time = config.getoption("--hypothesis-seed") is None
    settings.register_profile("hbtable", settings.get_profile("ci"), derandomize=same_each_time)
    settings.load_profile("hbtable")


def pytest_report_header() -> str:
    return f"seed of the tests marked verify: {fresh_seed()} (make verify SEED={fresh_seed()} takes it again)"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if terminalreporter.stats.get("failed"):
        terminalreporter.write_line(pytest_report_header())
