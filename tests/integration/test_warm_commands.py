"""Commands in forks of a process that has imported the program end as those do that have a Python of their own."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.commands import LONG_SECONDS, ROOT, environment, run, run_python
from tests.harness.warm_commands import WarmProcess, run_warm


@pytest.mark.parametrize(
    "arguments", [("version",), ("no-such-command",), ("check", "--data", "/nowhere"), ("get", "--no-such-option")]
)
def test_they_print_and_exit_alike(arguments: tuple[str, ...]) -> None:
    warm, own = run_warm(*arguments), run(*arguments)
    assert (warm.returncode, warm.stdout, warm.stderr) == (own.returncode, own.stdout, own.stderr)


def test_output_that_cannot_be_written_is_told_alike(tmp_path: Path) -> None:
    variables = environment({"PYTHONUNBUFFERED": ""})
    found = []
    for is_warm in (True, False):
        errors = tmp_path / "errors"
        with open("/dev/full", "wb") as full, errors.open("wb") as written:
            if is_warm:
                code = WarmProcess(["version"], variables, full.fileno(), written.fileno()).wait(LONG_SECONDS)
            else:
                command = [sys.executable, "-m", "hbtable", "version"]
                code = subprocess.run(command, stdout=full, stderr=written, env=variables, check=False).returncode
        found.append((code, errors.read_text()))
    assert found[0] == found[1]
    assert found[0][0] != 0


def test_no_fork_reads_an_interface_file_that_servers_or_commands_need(tmp_path: Path) -> None:
    """To read them is half of what the start of a server takes."""
    done = run_python(
        "import sys\n"
        "from tests.harness.warm_commands import _import_the_program\n"
        "_import_the_program()\n"
        "print(*(name for name in sys.modules if name.endswith('_thrift')))\n",
        str(tmp_path),
    )
    assert done.returncode == 0, done.stderr
    sources = (path.read_text() for path in Path(ROOT, "hbtable").rglob("*.py"))
    named = {name for source in sources for name in re.findall(r'"(hbtable_\w+_thrift)"', source)}
    assert named - set(done.stdout.split()) == {"hbtable_shadow_hbase_thrift"}
    assert len(named) >= 4
