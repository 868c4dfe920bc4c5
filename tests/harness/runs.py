"""What each run of pytest has, whichever folder it takes: a seed, and below failures the commands that repeat them."""

import os
import shlex
import signal

import pytest

from tests.harness.bounded_runs import BoundedRuns
from tests.harness.fresh_seed import choose_seed, fresh_examples, fresh_seed
from tests.harness.terse_workers import make_terse

_MOST = 20
"""Commands that are shown."""


def begin_run(config: pytest.Config) -> None:
    choose_seed()
    config.pluginmanager.register(BoundedRuns(config))
    make_terse(config)
    # A shell that starts a command in the background lets it ignore Ctrl-C, and all that it starts. Tests send it.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def run_again(nodeid: str) -> str:
    """The command that runs a test as this run did: from the folder of the checkout."""
    variables = f"SEED={fresh_seed()} PYTHONHASHSEED={os.environ.get('PYTHONHASHSEED', 'random')}"
    examples = f" --hypothesis-seed={fresh_seed()}" if fresh_examples() else ""
    return f"{variables} .venv/bin/pytest{examples} {shlex.quote(nodeid)}"


def show_commands(reporter: pytest.TerminalReporter) -> None:
    """Below the failures and errors of a run."""
    red = [report for kind in ("failed", "error") for report in reporter.stats.get(kind, ())]
    nodeids = list(dict.fromkeys(report.nodeid for report in red))
    if not nodeids:
        return
    reporter.write_line(f"This run had SEED={fresh_seed()}. Again, one by one:")
    for nodeid in nodeids[:_MOST]:
        reporter.write_line(f"  {run_again(nodeid)}")
    if len(nodeids) > _MOST:
        reporter.write_line(f"  and {len(nodeids) - _MOST} more")
