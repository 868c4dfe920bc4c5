"""The seed of this run: chosen, printed, and what tests of Hypothesis take their examples from. A fixture for many."""

import gc
import logging
import subprocess
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.harness.fresh_seed import fresh_seed, take_fresh_examples
from tests.harness.runs import begin_run, show_commands
from tests.harness.tiers import generated


def pytest_configure(config: pytest.Config) -> None:
    begin_run(config)
    # By itself Hypothesis takes other examples in each run, and those that failed in earlier runs of this folder.
    same_each_time = config.getoption("--hypothesis-seed") is None
    take_fresh_examples(not same_each_time)
    settings.register_profile(
        "hbtable", settings.get_profile("ci"), derandomize=same_each_time, max_examples=generated(100)
    )
    settings.load_profile("hbtable")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """The 17,000 tests all stay. To look again and again for cycles among them took a third of the time in which they
    are collected; what is there then is looked at no more while they run. To look for garbage among it once would take
    0.8 s of each worker, and give back some megabytes."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()  # before it is enabled: else it looks at all of them first
        gc.enable()


def pytest_report_header() -> str:
    return f"seed of the tests marked verify: {fresh_seed()} (make verify SEED={fresh_seed()} takes it again)"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    show_commands(terminalreporter)


@pytest.fixture
def quiet() -> Iterator[None]:
    """Nothing is logged: for tests in which so much goes wrong on purpose that nobody would read it."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A tmpfs of 40 MiB."""
    mounted = tmp_path / "disk"
    mounted.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", str(mounted)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("small_disk: there is no mount command")
    if done.returncode:
        pytest.skip(f"small_disk: a tmpfs cannot be mounted here: {done.stderr.strip()}")
    yield mounted
    subprocess.run(["umount", "-l", str(mounted)], check=True)
