"""The import contracts of setup.cfg hold, and are seen to fail on planted violations."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINT = Path(sys.executable).with_name("lint-imports")


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [str(LINT), "--config", "setup.cfg", "--no-cache"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env={"PYTHONPATH": str(folder)})


def test_the_contracts_hold() -> None:
    result = lint(ROOT)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("model/cell.py", "import hbtable.fs.interface", "A package imports only packages below it"),
        (
            "master/tablets/assignment.py",
            "import hbtable.tabletserver.server",
            "A package imports only packages below it",
        ),
        ("merge/merging.py", "import time", "Pure packages"),
        ("launch/serve.py", "import hbtable.testing.faulty_fs", "Nothing that serves users imports what is for tests"),
        ("tablet/tablet.py", "import gevent", "Only runtime knows gevent"),
        ("client/client.py", "import thriftpy2", "Only the gateway and the shell speak Thrift"),
        ("tablet/tablet.py", "import bitarray", "Bit arrays and compression belong to sstable"),
        ("hbase/errors.py", "import click", "Only launch knows click"),
    ],
)
def test_a_planted_violation_is_caught(tmp_path: Path, module: str, line: str, contract: str) -> None:
    shutil.copytree(ROOT / "hbtable", tmp_path / "hbtable", symlinks=True, ignore=shutil.ignore_patterns("idl"))
    shutil.copy(ROOT / "setup.cfg", tmp_path)
    planted = tmp_path / "hbtable" / module
    planted.write_text(planted.read_text() + f"\n{line}\n")
    result = lint(tmp_path)
    assert result.returncode != 0
    assert contract in result.stdout
    assert "BROKEN" in result.stdout


def test_a_package_that_no_contract_names_is_caught(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "hbtable", tmp_path / "hbtable", symlinks=True, ignore=shutil.ignore_patterns("idl"))
    shutil.copy(ROOT / "setup.cfg", tmp_path)
    (tmp_path / "hbtable" / "novelty").mkdir()
    (tmp_path / "hbtable" / "novelty" / "__init__.py").write_text('"""A new package."""\n')
    assert lint(tmp_path).returncode != 0
