"""Runs of pytest that nobody watches: of a test that fails, and whose teardown then waits for ever."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.commands import LONG_SECONDS, ROOT

CONFTEST = """
from tests.harness.bounded_runs import BoundedRuns


def pytest_configure(config):
    config.pluginmanager.register(BoundedRuns(config, teardown_seconds=0.5))
"""

TESTS = """
import threading

import pytest


@pytest.fixture
def hanging():
    yield
    threading.Event().wait()


def test_passes():
    pass


def test_is_red(hanging):
    raise AssertionError("told at once")
"""


@pytest.mark.parametrize(
    ("arguments", "end"),
    [((), ""), (("-n", "1"), r"worker 'gw0' crashed while running '\S+test_is_red'")],
    ids=["one process", "workers"],
)
def test_a_failure_is_told_before_the_end_and_a_teardown_that_hangs_ends(
    arguments: tuple[str, ...], end: str, tmp_path: Path
) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_few.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-c", "/dev/null", "--rootdir", str(tmp_path), str(tmp_path)]
    done = subprocess.run(
        [*command, "-p", "no:hbtable", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=LONG_SECONDS
    )
    assert done.returncode == 1
    assert re.search(r"test_is_red failed in its call:\n(.*\n)*.*told at once", done.stdout), done.stdout
    assert re.search(r"in hanging\n", done.stderr), done.stderr
    assert re.search(end, done.stdout), done.stdout
