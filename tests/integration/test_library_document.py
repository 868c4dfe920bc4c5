"""Runs every block of Python in docs/library.md, each in a folder of its own."""

import re
from pathlib import Path

import pytest

from tests.harness.commands import ROOT, run_python

pytestmark = pytest.mark.integration

BLOCKS = re.findall(r"^```python\n(.*?)^```", Path(ROOT, "docs", "library.md").read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_runs(block: str, tmp_path: Path) -> None:
    done = run_python(block, str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
