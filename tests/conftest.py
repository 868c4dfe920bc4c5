"""Prints the seed of this run."""

import pytest

from tests.harness.fresh_seed import choose_seed, fresh_seed


def pytest_configure() -> None:
    choose_seed()


def pytest_report_header() -> str:
    return f"seed of the tests marked verify: {fresh_seed()} (make verify SEED={fresh_seed()} takes it again)"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if terminalreporter.stats.get("failed"):
        terminalreporter.write_line(pytest_report_header())
