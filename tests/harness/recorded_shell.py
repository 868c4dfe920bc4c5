"""The recorded cases of HBase's shell (compat-tests/shell), the checker that came with them, and a script run in this
process."""

import contextlib
import importlib.util
import io
import json
from pathlib import Path
from types import ModuleType
from typing import Any

from hbtable.shell.invocation import ShellOptions
from hbtable.shell.main import run_lines

FOLDER = Path(__file__).parents[2] / "compat-tests" / "shell"


def load_checker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("hbase_shell_check", FOLDER / "check.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CHECK = load_checker()
CASES: list[dict[str, Any]] = CHECK.load([str(FOLDER / "cases.jsonl")])
MORE: list[dict[str, Any]] = CHECK.load([str(FOLDER / "more_cases.jsonl")])
DEVIATIONS: dict[str, str] = json.loads((FOLDER / "deviations.json").read_text())


def run_here(address: str, script: str) -> tuple[str, str, int]:
    """In place of the checker's process: what a script on standard input prints, and its exit code."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run_lines(ShellOptions(address, interactive=False), iter(script.splitlines(keepends=True)))
    return out.getvalue(), err.getvalue(), code
