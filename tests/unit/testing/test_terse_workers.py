"""Workers of pytest-xdist: the run shows the same of each test, and hears of it half as often."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.commands import LONG_SECONDS, ROOT

CONFTEST = """
from tests.harness.terse_workers import make_terse

HEARD = []


def pytest_configure(config):
    make_terse(config)


def pytest_runtest_logstart(nodeid):
    HEARD.append("begin")


def pytest_runtest_logreport(report):
    HEARD.append(f"{report.when} {report.outcome}")


def pytest_terminal_summary(terminalreporter):
    for what in sorted(set(HEARD)):
        terminalreporter.write_line(f"heard {HEARD.count(what)} times: {what}")
"""

TESTS = """
import pytest


@pytest.fixture
def broken():
    raise OSError("no disk")


@pytest.fixture
def left():
    yield
    raise OSError("still open")


def test_passes():
    pass


def test_fails():
    raise AssertionError("wrong")


def test_has_no_setup(broken):
    pass


def test_has_no_end(left):
    pass


@pytest.mark.skip
def test_skipped():
    pass


@pytest.mark.xfail
def test_fails_as_expected():
    raise AssertionError("known")
"""


@pytest.fixture
def tests(tmp_path: Path) -> Path:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_few.py").write_text(TESTS)
    return tmp_path


def shown(tests: Path, *arguments: str) -> tuple[dict[str, int], str]:
    """What the run hears of, and its last line without the time. Not always the same: the order."""
    command = [sys.executable, "-m", "pytest", "-c", "/dev/null", "--rootdir", str(tests), str(tests)]
    done = subprocess.run(
        [*command, "-p", "no:hbtable", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        timeout=LONG_SECONDS,
    )
    assert done.returncode == 1, done.stdout
    heard = {what: int(times) for times, what in re.findall(r"^heard (\d+) times: (.*)$", done.stdout, re.MULTILINE)}
    return heard, done.stdout.splitlines()[-1].partition(" in ")[0].strip("= ")


def test_all_but_what_passed_around_a_test_is_heard_of(tests: Path) -> None:
    heard, end = shown(tests, "-n", "1")
    assert heard == {
        "call passed": 2,
        "call failed": 1,
        "call skipped": 1,
        "setup failed": 1,
        "setup skipped": 1,
        "teardown failed": 1,
    }
    assert end == shown(tests)[1] == "1 failed, 2 passed, 1 skipped, 1 xfailed, 2 errors"


@pytest.mark.parametrize("asked", [("-v",), ("--durations", "3"), ("--junitxml", "report.xml")])
def test_whoever_asks_for_more_hears_all(asked: tuple[str, ...], tests: Path) -> None:
    heard, _ = shown(tests, "-n", "1", *[str(tests / word) if word.endswith(".xml") else word for word in asked])
    assert (heard["begin"], heard["setup passed"], heard["teardown passed"]) == (6, 4, 5)
