"""The recorded cases of HBase's shell typed at a terminal: the interactive shell gives the answers that a script gets.

One shell in a pseudo-terminal runs them all; what goes before and after a case is done in this process. The terminal is
a dumb one, so that what comes out is text, and wide, so that nothing is wrapped: columns are padded there, which is why
runs of blanks are compared as one.
"""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from hbtable.shell.errors import Incomplete, ShellError
from hbtable.shell.language.parser import parse
from tests.harness.recorded_shell import CASES, CHECK, DEVIATIONS, MORE, run_here

pytestmark = pytest.mark.integration
DEADLINE_SECONDS: Final = 60
LINES: Final = 5000
COLUMNS: Final = 4000
ERROR: Final = re.compile(
    r"(.*?)\n((?:[A-Z]\w*Error|Unhandled Java exception: \S+): [^\n]*)\n(?:  [^\n]*\n)*\n\Z", re.DOTALL
)
LEFT_OUT: Final = {*DEVIATIONS, "errors/syntax-unclosed-quote-p", "errors/syntax-unclosed-brace-p"}
TYPED: Final = [case for case in (*CASES, *MORE) if case["name"] not in LEFT_OUT and case.get("mode") != "file"]
"""Script files are not typed, what answers otherwise from a script does so here, and an open quote waits for more."""


class Typed:
    """One interactive shell; `run` is a person who waits for each prompt."""

    def __init__(self, address: str, folder: Path) -> None:
        self._terminal, inner = pty.openpty()
        modes = termios.tcgetattr(inner)
        modes[3] &= ~termios.ECHO  # what is typed between a prompt and its reader must not be echoed twice
        termios.tcsetattr(inner, termios.TCSANOW, modes)
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        # The size is this terminal's: pytest-xdist gives its processes another one by variables.
        kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
        environment = {**kept, "TERM": "dumb", "TZ": "UTC", "XDG_STATE_HOME": str(folder)}
        command = [sys.executable, "-m", "hbtable", "shell", "--url", address]
        with (folder / "notes").open("wb") as notes:
            self._process = subprocess.Popen(command, stdin=inner, stdout=inner, stderr=notes, env=environment)
        os.close(inner)
        self._prompts = 1
        self._until_prompt()

    def run(self, statement: str) -> str:
        """The answer to one statement, which may have several lines."""
        assert self._process.poll() is None, "the shell has ended"
        self._prompts += 1
        typed = "\n" in statement  # line by line, else pasted, which is quicker: then only its end is echoed
        keys = statement.replace("\n", "\r") if typed else f"\x1b[200~{statement}\x1b[201~"
        os.write(self._terminal, f"{keys}\r".encode())
        answer = self._until_prompt()
        echo = statement if typed else statement[-1:]
        assert answer.startswith(echo + "\n"), answer
        return answer[len(echo) + 1 :]

    def close(self) -> None:
        if self._process.poll() is None:
            os.write(self._terminal, b"exit\r")
            self._process.wait(DEADLINE_SECONDS)
        os.close(self._terminal)

    def _until_prompt(self) -> str:
        found, deadline = b"", time.monotonic() + DEADLINE_SECONDS
        prompt = b"hbase:%03d:0> " % self._prompts
        while not found.endswith(prompt):
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._terminal], [], [], left)[0]:
                self._process.kill()  # or every further case would wait as long
                self._process.wait()
                raise AssertionError(f"no prompt {self._prompts} after\n{found.decode(errors='replace')}")
            found += os.read(self._terminal, 1 << 16)
        return re.sub(r"\r+\n", "\n", found.removesuffix(prompt).decode("utf-8", "surrogateescape"))


@pytest.fixture(scope="module")
def typed(address: tuple[str, int], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Typed]:
    shell = Typed(f"{address[0]}:{address[1]}", tmp_path_factory.mktemp("typed"))
    yield shell
    shell.close()


def statements(lines: list[str]) -> Iterator[str]:
    """Lines that belong together."""
    held = ""
    for line in lines:
        held += line
        try:
            parse(held)
        except Incomplete:
            held += "\n"
            continue
        except ShellError:
            pass
        yield held
        held = ""
    if held:
        yield held


def answers(typed: Typed, case: dict[str, Any]) -> dict[str, Any]:
    """Up to the first error, as a script goes."""
    out = ""
    for statement in statements(case["commands"]):
        answer = typed.run(statement)
        failed = ERROR.fullmatch(answer)
        if failed is not None:
            return {"stdout": out + failed.group(1), "stderr_first_line": failed.group(2), "exit": 1}
        out += answer
    return {"stdout": out, "stderr_first_line": "", "exit": 0}


def narrowed(case: dict[str, Any]) -> dict[str, Any]:
    lines = CHECK.normalise(case["stdout"], False, case["commands"]).split("\n")
    return {**case, "stdout": "\n".join([re.sub(r" +", " ", line).rstrip() for line in lines])}


@pytest.mark.usefixtures("in_utc")
@pytest.mark.parametrize("case", TYPED, ids=[case["name"] for case in TYPED])
def test_typed(case: dict[str, Any], typed: Typed, address: tuple[str, int]) -> None:
    where = f"{address[0]}:{address[1]}"
    run_here(where, CHECK.text([line for line in case["setup"] if not line.startswith("sleep ")]))
    got = answers(typed, case)
    for group in case["teardown"]:
        run_here(where, CHECK.text(group))
    differences = CHECK.compare(narrowed(case), narrowed({**got, "commands": case["commands"]}))
    assert not differences, "\n".join(f"{what}\n--- HBase\n{a}\n--- hbtable\n{b}" for what, a, b in differences)
