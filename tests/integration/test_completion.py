"""README's line for ~/.bashrc completes commands and options."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.commands import LONG_SECONDS, ROOT, environment

pytestmark = pytest.mark.integration


@pytest.mark.parametrize(
    ("typed", "completed"),
    [("hbtable st", "start status"), ("hbtable copy --f", "--from --follow"), ("hbtable user to", "token")],
)
def test_a_line_is_completed(typed: str, completed: str, tmp_path: Path) -> None:
    said = re.search(r"`(eval [^`]*)` in `~/.bashrc` completes", Path(ROOT, "README.md").read_text())
    assert said is not None
    (tmp_path / "bashrc").write_text(
        f"{said[1]}\nCOMP_WORDS=({typed}) COMP_CWORD={len(typed.split()) - 1}\n_hbtable_completion hbtable\n"
        'echo "${COMPREPLY[@]}"\n'
    )
    path = os.path.dirname(sys.executable) + os.pathsep + os.environ.get("PATH", "")
    done = subprocess.run(
        ["bash", "--norc", str(tmp_path / "bashrc")],
        env=environment({"PATH": path}),
        capture_output=True,
        text=True,
        timeout=LONG_SECONDS,
        check=False,
    )
    assert (done.stdout.split(), done.stderr) == (completed.split(), "")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells_have_a_script_too(shell: str) -> None:
    done = subprocess.run(
        [os.path.join(os.path.dirname(sys.executable), "hbtable")],
        env=environment({"_HBTABLE_COMPLETE": f"{shell}_source"}),
        capture_output=True,
        text=True,
        timeout=LONG_SECONDS,
        check=False,
    )
    assert "_hbtable_completion" in done.stdout, done.stderr
