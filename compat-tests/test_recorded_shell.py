"""The recorded cases of HBase's shell against `hbtable shell -n`, by the checker that came with them.

Every case passes or stands in shell/deviations.json with its reason (docs/shell-deviations.md tells more), and none
stands there that passes. The cases of more_cases.jsonl all pass; they run in this process, which takes a tenth of the
time.
"""

import shlex
import subprocess
import sys
from typing import Any

import pytest

from tests.harness.commands import LONG_SECONDS
from tests.harness.recorded_shell import CASES, CHECK, DEVIATIONS, MORE, load_checker, run_here


@pytest.fixture(scope="module", autouse=True)
def past(address: tuple[str, int]) -> None:
    """HBase's cleaner was recorded on a server that had seen tables go: some files were not old enough yet."""
    script = "create 'past', 'f'\nput 'past', 'r', 'f:', 'v'\nflush 'past'\ndisable 'past'\ndrop 'past'\n"
    command = [sys.executable, "-m", "hbtable", "shell", "-n", "--url", f"{address[0]}:{address[1]}"]
    subprocess.run(command, input=script, text=True, check=True, capture_output=True, timeout=LONG_SECONDS)


@pytest.mark.integration
@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_recorded(case: dict[str, Any], address: tuple[str, int]) -> None:
    command = f"{shlex.quote(sys.executable)} -m hbtable shell -n --url {address[0]}:{address[1]}"
    agree_or_deviate(case, CHECK.compare(case, CHECK.run_each(command, case)))


def agree_or_deviate(case: dict[str, Any], differences: list[tuple[str, str, str]]) -> None:
    if case["name"] in DEVIATIONS:
        assert differences, f"{case['name']} passes now: take it out of deviations.json"
    else:
        assert not differences, "\n".join(f"{what}\n--- HBase\n{a}\n--- hbtable\n{b}" for what, a, b in differences)


@pytest.mark.integration
@pytest.mark.usefixtures("in_utc")
@pytest.mark.parametrize("case", MORE, ids=[case["name"] for case in MORE])
def test_more(case: dict[str, Any], address: tuple[str, int]) -> None:
    check = load_checker()
    check.run = run_here
    agree_or_deviate(case, check.compare(case, check.run_each(f"{address[0]}:{address[1]}", case)))


@pytest.mark.integration
@pytest.mark.parametrize("name", ["put/multi-line-p", "put/semicolons-and-comments-p", "put/basic-p", "help/unknown-p"])
def test_recorded_prompts(name: str, address: tuple[str, int]) -> None:
    """--echo: prompts and echoed lines as HBase's shell prints them from a pipe."""
    (case,) = [case for case in CASES if case["name"] == name]
    command = f"{shlex.quote(sys.executable)} -m hbtable shell -n --echo --url {address[0]}:{address[1]}"
    differences = CHECK.compare(case, CHECK.run_each(command, case), prompts=True)
    assert not differences, "\n".join(f"{what}\n--- HBase\n{a}\n--- hbtable\n{b}" for what, a, b in differences)
