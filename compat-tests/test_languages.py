"""Programs in other languages, each with code that the Thrift compiler generated from thrift/hbase.thrift or
thrift/hbase2.thrift, and one over HBase's own client in Java.

`make compat` builds them first. Where a toolchain is missing a test is skipped by name; under CI it fails.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness import languages

CHECKS = 32  # in every language, so that none forgets one
CHECKS_OF_THRIFT2 = 31
CHECKS_OF_HBASE_CLIENT = 35

pytestmark = [pytest.mark.languages]


@pytest.fixture(
    scope="session",
    params=[
        pytest.param(name, marks=[pytest.mark.java] if name.startswith("java") else []) for name in languages.COMMANDS
    ],
)
def program(request: pytest.FixtureRequest) -> Path:
    language: str = request.param
    if reason := languages.missing(language):
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    path = languages.program(language)
    assert path.exists(), "python -m tests.harness.languages builds it, as make compat does"
    return path


@pytest.mark.parametrize("protocol", ["binary", "compact"])
@pytest.mark.parametrize("transport", ["buffered", "framed"])
def test_language(address: tuple[str, int], program: Path, transport: str, protocol: str) -> None:
    host, port = address
    environment = {**os.environ, "PYTHON": sys.executable}
    command = [str(program), host, str(port), transport, protocol]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-4000:]
    said = re.fullmatch(r"ok (\d+)\n", run.stdout)
    assert said is not None, run.stdout[-4000:]
    language = program.parent.name.rpartition("-")[0]
    if language == "java-thrift2":
        assert int(said.group(1)) == CHECKS_OF_HBASE_CLIENT
    else:
        assert int(said.group(1)) == (CHECKS_OF_THRIFT2 if language.endswith("-thrift2") else CHECKS)
