"""The import contracts of setup.cfg hold, and are seen to fail on planted violations."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINT = Path(sys.executable).with_name("lint-imports")
PLANTED = [
    ("model/cell.py", "hbtable.fs.interface", "A package imports only packages below it"),
    ("master/tablets/assignment.py", "hbtable.tabletserver.server", "A package imports only packages below it"),
    ("merge/merging.py", "time", "Pure packages"),
    ("launch/serve.py", "hbtable.testing.faulty_fs", "Nothing that serves users imports what is for tests"),
    ("tablet/tablet.py", "gevent", "Only runtime knows gevent"),
    ("client/client.py", "thriftpy2", "Only the gateway and the shell speak Thrift"),
    ("tablet/tablet.py", "bitarray", "Bit arrays and compression belong to sstable"),
    ("hbase/errors.py", "click", "Only launch knows click"),
]
"""Where an import is planted, of what, and the contract that forbids it."""


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [str(LINT), "--config", "setup.cfg", "--no-cache"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env={"PYTHONPATH": str(folder)})


def copy_product(folder: Path) -> None:
    shutil.copytree(ROOT / "hbtable", folder / "hbtable", symlinks=True, ignore=shutil.ignore_patterns("idl"))
    shutil.copy(ROOT / "setup.cfg", folder)


def test_the_contracts_hold() -> None:
    result = lint(ROOT)
    assert result.returncode == 0, result.stdout


def test_planted_violations_are_caught(tmp_path: Path) -> None:
    """All of them at once: each is found by the contract that forbids it."""
    copy_product(tmp_path)
    for module, imported, _ in PLANTED:
        planted = tmp_path / "hbtable" / module
        planted.write_text(f"{planted.read_text()}\nimport {imported}\n")
    result = lint(tmp_path)
    assert result.returncode != 0
    _, *broken = re.split(r"^(.+)\n-{5,}\n", result.stdout.partition("Broken contracts")[2], flags=re.MULTILINE)
    reasons = dict(zip(broken[::2], broken[1::2], strict=True))
    for module, imported, contract in PLANTED:
        found = [text for name, text in reasons.items() if name.startswith(contract)]
        importer = f"hbtable.{module.removesuffix('.py').replace('/', '.')}"
        assert [f"{importer} -> {imported} " in text for text in found] == [True], result.stdout


def test_a_package_that_no_contract_names_is_caught(tmp_path: Path) -> None:
    copy_product(tmp_path)
    (tmp_path / "hbtable" / "novelty").mkdir()
    (tmp_path / "hbtable" / "novelty" / "__init__.py").write_text('"""A new package."""\n')
    assert lint(tmp_path).returncode != 0
