"""Programs in five languages, each with code that the Thrift compiler generated from thrift/hbase.thrift.

languages/LANGUAGE/build makes OUT/run; OUT is kept in a cache folder outside the checkout, named by everything it is
made of. Where a toolchain is missing a test is skipped by name; under CI it fails.
"""

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

LANGUAGES = Path(__file__).resolve().parent / "languages"
INTERFACE = LANGUAGES.parents[1] / "thrift" / "hbase.thrift"
COMMANDS = {
    "python": ["thrift"],
    "node": ["thrift", "node", "npm"],
    "java": ["thrift", "java", "javac", "mvn"],
    "go": ["thrift", "go"],
    "cpp": ["thrift", "g++", "pkg-config"],
}
HEADERS = [Path("/usr/include/thrift/Thrift.h"), Path("/usr/include/boost/numeric/conversion/cast.hpp")]
PINNED = {"node": "package.json", "java": "pom.xml", "go": "go.mod"}  # files that name the library's version
CHECKS = 32  # in every language, so that none forgets one

pytestmark = [pytest.mark.languages, pytest.mark.timeout(900)]  # a first build downloads what its language needs


def compiler_version() -> str:
    return subprocess.run(["thrift", "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]


def missing(language: str) -> str:
    """Why this language cannot be tried here; empty when it can."""
    lacking = [command for command in COMMANDS[language] if shutil.which(command) is None]
    if language == "cpp":
        lacking += [str(header) for header in HEADERS if not header.exists()]
    if language == "python" and importlib.util.find_spec("thrift") is None:
        lacking.append("the Python package thrift")
    if lacking:
        return f"{language} lacks {', '.join(lacking)}: compat-tests/install-toolchains installs what Debian has"
    if language in PINNED and compiler_version() not in (LANGUAGES / language / PINNED[language]).read_text():
        return f"the Thrift compiler here is {compiler_version()}, {language}/{PINNED[language]} names another library"
    return ""


def cache_folder() -> Path:
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hbtable-tests" / "languages"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def built(language: str) -> Path:
    """The folder with the program, from the cache or built now; an interrupted build leaves nothing behind."""
    ingredients = hashlib.sha256(compiler_version().encode() + INTERFACE.read_bytes())
    for path in sorted((LANGUAGES / language).iterdir()):
        ingredients.update(path.name.encode() + b"\0" + path.read_bytes())
    finished = cache_folder() / f"{language}-{ingredients.hexdigest()[:16]}"
    if finished.exists():
        return finished
    with tempfile.TemporaryDirectory(dir=cache_folder(), prefix=f"{language}-building-") as temporary:
        out = Path(temporary) / "out"
        out.mkdir()
        command = [str(LANGUAGES / language / "build"), str(INTERFACE), str(out)]
        build = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=800)
        assert build.returncode == 0, f"{language} does not build:\n{build.stdout[-6000:]}"
        try:
            out.rename(finished)
        except OSError:  # another run was quicker
            assert finished.exists()
    return finished


@pytest.fixture(
    scope="session",
    params=[pytest.param(name, marks=[pytest.mark.java] if name == "java" else []) for name in COMMANDS],
)
def program(request: pytest.FixtureRequest) -> Path:
    language: str = request.param
    if reason := missing(language):
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return built(language) / "run"


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
    assert int(said.group(1)) == CHECKS
