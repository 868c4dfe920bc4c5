"""The programs of compat-tests/languages, each with code that the Thrift compiler generated from thrift/hbase.thrift or
thrift/hbase2.thrift (LANGUAGE-thrift2).

languages/LANGUAGE/build makes OUT/run; OUT is kept in a cache folder outside the checkout, named by everything it is
made of. Building fetches what the language needs, so `make compat` does it before the tests:

    python -m tests.harness.languages
"""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

LANGUAGES: Final = Path(__file__).resolve().parents[2] / "compat-tests" / "languages"
INTERFACES: Final = LANGUAGES.parents[1] / "thrift"
COMMANDS: Final = {
    "python": ["thrift"],
    "node": ["thrift", "node", "npm"],
    "java": ["thrift", "java", "javac", "mvn"],
    "go": ["thrift", "go"],
    "cpp": ["thrift", "g++", "pkg-config"],
    "php": ["thrift", "php"],
    "ruby": ["thrift", "ruby"],
    "python-thrift2": ["thrift"],
    "java-thrift2": ["thrift", "java", "javac", "mvn"],
    "node-thrift2": ["thrift", "node", "npm"],
    "go-thrift2": ["thrift", "go"],
}
_FILES: Final = {
    "cpp": [Path("/usr/include/thrift/Thrift.h"), Path("/usr/include/boost/numeric/conversion/cast.hpp")],
    "php": [Path("/usr/lib/php/Protocol/TCompactProtocol.php")],
}
_PINNED: Final = {
    "node": "package.json",
    "java": "pom.xml",
    "go": "go.mod",
    "node-thrift2": "package.json",
    "go-thrift2": "go.mod",
}
"""Files that name the library's version, which is the compiler's. (HBase's own Java client brings what it needs.)"""


def missing(language: str) -> str:
    """Why this language cannot be tried here; empty when it can."""
    lacking = [command for command in COMMANDS[language] if shutil.which(command) is None]
    lacking += [str(file) for file in _FILES.get(language, ()) if not file.exists()]
    if language == "ruby" and not lacking:
        looked = subprocess.run(["ruby", "-rthrift", "-e", ""], capture_output=True, check=False)
        lacking += ["Ruby's package thrift"] if looked.returncode else []
    if language.startswith("python") and importlib.util.find_spec("thrift") is None:
        lacking.append("the Python package thrift")
    if lacking:
        return f"{language} lacks {', '.join(lacking)}: compat-tests/install-toolchains installs what Debian has"
    if language in _PINNED and _compiler_version() not in (LANGUAGES / language / _PINNED[language]).read_text():
        return f"the Thrift compiler here is {_compiler_version()}, {language}/{_PINNED[language]} names another"
    return ""


def program(language: str) -> Path:
    """Where the program is once it is built."""
    ingredients = hashlib.sha256(_compiler_version().encode() + _interface(language).read_bytes())
    for path in sorted((LANGUAGES / language).iterdir()):
        ingredients.update(path.name.encode() + b"\0" + path.read_bytes())
    return _cache_folder() / f"{language}-{ingredients.hexdigest()[:16]}" / "run"


def _interface(language: str) -> Path:
    return INTERFACES / ("hbase2.thrift" if language.endswith("-thrift2") else "hbase.thrift")


def build(language: str) -> None:
    """Builds the program unless the cache has it; an interrupted build leaves nothing behind."""
    finished = program(language).parent
    if finished.exists():
        return
    with tempfile.TemporaryDirectory(dir=_cache_folder(), prefix=f"{language}-building-") as temporary:
        out = Path(temporary) / "out"
        out.mkdir()
        print(f"building the program in {language}", flush=True)
        subprocess.run(
            [str(LANGUAGES / language / "build"), str(_interface(language)), str(out)], check=True, timeout=800
        )
        try:
            out.rename(finished)
        except OSError:  # another run was quicker
            if not finished.exists():
                raise


def _compiler_version() -> str:
    return subprocess.run(["thrift", "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]


def _cache_folder() -> Path:
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hbtable-tests" / "languages"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def main() -> None:
    for language in COMMANDS:
        if reason := missing(language):
            print(reason)
            continue
        try:
            build(language)
        except subprocess.SubprocessError as error:
            sys.exit(f"{language} does not build: {error}")


if __name__ == "__main__":
    main()
