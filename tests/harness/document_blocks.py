"""A page of the manual as its reader types it: every block of it in order, in one folder.

    ```python    runs in one interpreter for the whole page, as in a notebook: names of earlier blocks are there
    ```output    what the python block before it prints
    ```console   `$ COMMAND` lines for a shell, each with what it prints below it; a command that ends with & stays
                 until the page's end, once it has printed the lines below it
    ```toml, ```text, ```mermaid...   are only shown; `file=NAME` behind the language writes the block into NAME

In expected output a line of `...` stands for any lines, and `...` within a line for any text. Ports 9090, which
`hbtable start` takes by default, 9095 and 9099 are free ones instead.
"""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from tests.harness.commands import LONG_SECONDS, ROOT, environment
from tests.harness.free_ports import free_ports
from tests.harness.waiting import SOON_SECONDS, eventually

_FENCE: Final = re.compile(r"^```(\w+)(?: +file=(\S+))?\n(.*?)^```", re.MULTILINE | re.DOTALL)
_INTERPRETER: Final = """
import contextlib, io, json, sys, traceback
names = {"__name__": "__main__"}
for request in sys.stdin:
    page, line, source = json.loads(request)
    printed, failure = io.StringIO(), ""
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile("\\n" * line + source, page, "exec"), names)
        except BaseException:
            failure = traceback.format_exc()
    print(json.dumps([printed.getvalue(), failure]), flush=True)
"""


class Block(NamedTuple):
    line: int
    """of its fence, from 1"""
    language: str
    file: str
    """the name that it is written to, or empty"""
    text: str


def blocks_of(page: Path, section: str = "") -> list[Block]:
    """Of the whole page, or of the section with this heading."""
    text = page.read_text()
    if section:
        before, found, after = text.partition(f"\n## {section}\n")
        assert found, f"{page} has no section {section}"
        text = "\n" * (before.count("\n") + 1) + after.partition("\n## ")[0]
    return [
        Block(text.count("\n", 0, found.start()) + 1, found[1], found[2] or "", found[3])
        for found in _FENCE.finditer(text)
    ]


class PageRun:
    """Runs blocks of one page in `folder`. Leaving it ends what the page started."""

    def __init__(
        self,
        page: Path,
        folder: Path,
        surroundings: Mapping[str, str] | None = None,
        realm: str = "",
    ) -> None:
        """`surroundings`: more variables of the environment. `realm`: in the place of EXAMPLE.COM."""
        self._page = page
        self._surroundings = dict(surroundings or {})
        self._realm = realm
        self._folder = folder
        ports = free_ports(3)
        self._ports = {"9090": str(ports), "9095": str(ports + 1), "9099": str(ports + 2)}
        self._interpreter: subprocess.Popen[str] | None = None
        self._staying: list[subprocess.Popen[bytes]] = []
        self._printed: str | None = None

    def __enter__(self) -> "PageRun":
        return self

    def run(self, block: Block) -> None:
        """AssertionError that names the page's line when the block does not do what it shows."""
        if block.file:
            (self._folder / block.file).write_text(self._with_ports(block.text))
        elif block.language == "python":
            self._printed = self._run_python(block)
        elif block.language == "output":
            assert self._printed is not None, f"{self._where(block)}: no python block stands before it"
            self._compare(block, self._printed, self._with_ports(block.text))
        elif block.language == "console":
            for command, expected in _commands(block.text):
                self._run_command(block, self._with_ports(command), self._with_ports(expected))

    def _run_python(self, block: Block) -> str:
        if self._interpreter is None:
            self._interpreter = subprocess.Popen(
                [sys.executable, "-W", "error", "-c", _INTERPRETER],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                cwd=self._folder,
                env=self._environment(),
            )
        assert self._interpreter.stdin is not None
        assert self._interpreter.stdout is not None
        source = self._with_ports(block.text)
        self._interpreter.stdin.write(json.dumps([self._page.name, block.line, source]) + "\n")
        self._interpreter.stdin.flush()
        answer = self._interpreter.stdout.readline()
        assert answer, f"{self._where(block)}: the interpreter ended"
        printed, failure = json.loads(answer)
        assert not failure, f"{self._where(block)}:\n{failure}"
        return str(printed)

    def _run_command(self, block: Block, command: str, expected: str) -> None:
        if command.endswith(" &"):
            self._start(block, command.removesuffix(" &"), expected)
            return
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self._folder,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LONG_SECONDS,
            check=False,
        )
        self._compare(block, done.stdout, expected, f"$ {command} (exit {done.returncode})")

    def _start(self, block: Block, command: str, expected: str) -> None:
        output = self._folder / f".output-{len(self._staying)}"
        with output.open("wb") as file:
            process = subprocess.Popen(
                ["bash", "-c", f"exec {command}"],
                cwd=self._folder,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
            )
        self._staying.append(process)
        pattern = _pattern(expected + "...\n")

        def is_there() -> bool:
            assert process.poll() is None, f"{self._where(block)}: $ {command} & ended:\n{output.read_text()}"
            return pattern.fullmatch(output.read_text()) is not None

        eventually(is_there, SOON_SECONDS, f"{self._where(block)}: $ {command} & prints\n{expected}")

    def _compare(self, block: Block, printed: str, expected: str, what: str = "it") -> None:
        assert _pattern(expected).fullmatch(printed), (
            f"{self._where(block)}: {what} printed\n{printed}\nand not\n{expected}"
        )

    def _with_ports(self, text: str) -> str:
        if self._realm:
            text = text.replace("EXAMPLE.COM", self._realm)
        return re.sub(r"\b909[059]\b", lambda found: self._ports[found[0]], text)

    def _where(self, block: Block) -> str:
        return f"{self._page.name}:{block.line}"

    def _environment(self) -> dict[str, str]:
        path = os.path.dirname(sys.executable) + os.pathsep + os.environ.get("PATH", "")
        own = {"HOME": str(self._folder), "COLUMNS": "100", "HBTABLE_SERVER__PORT": self._ports["9090"]}
        own["HBTABLE_LISTEN__THRIFT_PORT"] = self._ports["9090"]
        return environment({"PATH": path, **own, **self._surroundings})

    def __exit__(self, *_: object) -> None:
        if self._interpreter is not None:
            self._interpreter.communicate()
        for process in reversed(self._staying):
            process.send_signal(signal.SIGTERM)
        for process in self._staying:
            try:
                process.wait(SOON_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                raise


def _commands(text: str) -> list[tuple[str, str]]:
    """(command, expected output) of a console block; a line that starts with `> ` goes on with the command."""
    found: list[list[str]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append([line[2:], ""])
        elif line.startswith("> ") and found and not found[-1][1]:
            found[-1][0] += "\n" + line[2:]
        else:
            assert found, f"output before the first command: {line}"
            found[-1][1] += line + "\n"
    return [(command, expected) for command, expected in found]


def _pattern(expected: str) -> re.Pattern[str]:
    pieces = ["(?:.*\n)*" if line == "..." else _line(line) + "\n" for line in expected.splitlines()]
    return re.compile("".join(pieces))


def _line(line: str) -> str:
    return ".*".join(re.escape(piece) for piece in line.rstrip().split("...")) + " *"


def run_blocks(page: str, word: str, folder: Path) -> None:
    """Runs the blocks of Python that have this word in this process and folder: for what takes long to start."""
    blocks = [block for block in blocks_of(Path(ROOT, page)) if block.language == "python" and word in block.text]
    assert blocks, f"{page} has no block with {word}"
    with contextlib.chdir(folder):
        for block in blocks:
            exec(compile(block.text, page, "exec"), {"__name__": "__main__"})
