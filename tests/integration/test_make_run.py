"""What `make run` installs with, as far as it needs no network (.ci/bare-debian does all of it)."""

import ensurepip
import subprocess
import sys
import venv
from pathlib import Path

import pytest

pytestmark = [pytest.mark.integration, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]


def test_the_bundled_pip_installs_hbtable_with_nothing_else(tmp_path: Path) -> None:
    """Without an index: a build that asked for setuptools would fail. The folder has a space in its name."""
    place = tmp_path / "an environment"
    venv.create(place)
    python = str(place / "bin" / "python")
    run(python, str(ROOT / "bundled_pip.py"))
    pip = str(place / "bin" / "pip")
    version = run(pip, "--version")
    assert str(place) in version
    assert version.startswith(f"pip {ensurepip.version()} "), "another Python's pip may not run on this one"
    run(pip, "install", "--no-index", "--no-deps", "--no-compile", "--editable", str(ROOT))
    assert run(python, "-c", "import hbtable; print(hbtable.__file__)").strip() == str(ROOT / "hbtable" / "__init__.py")
    assert (place / "bin" / "hbtable").exists()
    assert "Requires: " in run(pip, "show", "hbtable")


def run(*command: str) -> str:
    # Away from the checkout, which would be found without being installed.
    folder = Path(command[0]).parent
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_without_a_bundled_pip_the_makefile_is_told(tmp_path: Path) -> None:
    """Debian without python3-venv: the status, from which the Makefile goes on to its message."""
    hide = "import sys; sys.modules['ensurepip'] = None; import runpy; runpy.run_path(sys.argv[1], run_name='__main__')"
    command = [sys.executable, "-c", hide, str(ROOT / "bundled_pip.py")]
    assert subprocess.run(command, check=False, timeout=300, cwd=tmp_path).returncode == 1
