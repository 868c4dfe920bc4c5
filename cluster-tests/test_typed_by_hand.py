"""A cluster typed by hand as README and docs/operations.md have it: each line of theirs in one shell, on free ports."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.harness.commands import LONG_SECONDS, ROOT, environment
from tests.harness.free_ports import free_ports
from tests.harness.real_servers import require_java, until_ended
from tests.harness.tiers import taking_turns
from tests.harness.waiting import SOON_SECONDS, eventually

pytestmark = [pytest.mark.java, pytest.mark.slow]

_INDENTED: Final = re.compile(r"(?:^    \S.*\n|^\n(?=    \S))+", re.MULTILINE)
MAKES_THE_TABLE: Final = "status\ncreate 't', 'f'\nput 't', 'a', 'f:q', 'kept'\nscan 't'\nexit\n"
READS_IT: Final = "get 't', 'a'\nwhy 't', 'a'\nexit\n"
NEEDS_THE_NETWORK: Final = "make native"
"""Fetches what the tests have."""
SECTIONS: Final = {"README.md": "On a cluster", "docs/operations.md": "A cluster by hand, in ten commands"}


def lines_of(page: str, heading: str) -> list[str]:
    """All lines that are to be typed in one section."""
    section = Path(ROOT, page).read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    blocks = _INDENTED.findall(section)
    lines = [line[4:] for block in blocks for line in block.splitlines() if line]
    assert lines, f"{page} has nothing to type in {heading}"
    return [line for line in lines if line != NEEDS_THE_NETWORK]


class Typing:
    """A shell and what it printed so far."""

    def __init__(self, shell: "subprocess.Popen[bytes]", output: Path, ports: dict[str, str]) -> None:
        self._shell = shell
        self._output = output
        self.ports = ports
        self._answers = output.with_name("answers")
        self._questions = 0

    def on_other_ports(self, text: str) -> str:
        return re.sub(rf"\b(?:{'|'.join(self.ports)})\b", lambda found: self.ports[found[0]], text)

    def type(self, text: str) -> None:
        assert self._shell.stdin is not None
        self._shell.stdin.write(text.encode())
        self._shell.stdin.flush()

    def run(self, line: str, answers: str = "") -> str:
        """What is printed until the line, to whose program `answers` are typed, is done."""
        self._questions += 1
        done = f"line {self._questions} is done"
        begin = len(self.printed())
        typed = self.on_other_ports(line)
        if answers:
            self._answers.write_text(answers)
            typed = f"{{ {typed}\n}} < {self._answers}"
        self.type(f"{typed}\necho; echo '{done}'\n")
        eventually(lambda: f"\n{done}\n" in self.printed(), LONG_SECONDS, f"the end of `{line}`")
        return self.printed()[begin:]

    def printed(self) -> str:
        return self._output.read_text(errors="replace")

    def wait_for_roles(self, lines: list[str]) -> None:
        """Each says who it is when it serves."""
        serving = [f"HBase Thrift1 on 127.0.0.1:{self.ports[port]}" for port in ("9090", "9091")]
        wanted = [f"master: other roles on 127.0.0.1:{self.ports['9096']}", *serving]
        eventually(lambda: all(who in self.printed() for who in wanted), SOON_SECONDS, f"after {lines}: {wanted}")


@contextmanager
def typing(folder: Path) -> Iterator[Typing]:
    """A shell in the checkout, and nothing left of what was started in it at the end."""
    hdfs = free_ports(49)
    own = hdfs + 43
    ports = {"9820": hdfs, "9821": hdfs + 1, "2181": own, "9090": own + 1, "9091": own + 2}
    ports |= {"9095": own + 3, "9096": own + 4, "9097": own + 5}
    surroundings = {
        "HBTABLE_CLUSTER__ZOOKEEPER": f"127.0.0.1:{own}",
        "HBTABLE_LISTEN__THRIFT_PORT": str(ports["9090"]),
        "HBTABLE_LISTEN__TABLETSERVER_PORT": str(ports["9095"]),
        "HBTABLE_LISTEN__MASTER_PORT": str(ports["9096"]),
    }
    with (
        until_ended("real-zookeeper", own),
        until_ended("real-hdfs", hdfs),
        (folder / "printed").open("wb") as output,
        subprocess.Popen(
            ["bash"],
            cwd=ROOT,
            env=environment(surroundings),
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
        ) as shell,
    ):
        try:
            yield Typing(shell, folder / "printed", {name: str(port) for name, port in ports.items()})
        finally:
            assert shell.stdin is not None
            shell.stdin.write(b"kill -KILL $(jobs -p) 2>/dev/null\n")
            shell.stdin.close()


@pytest.mark.parametrize("page", taking_turns(SECTIONS, 2))
def test_a_cluster_is_typed_by_hand(page: str, tmp_path: Path) -> None:
    require_java()
    lines = lines_of(page, SECTIONS[page])
    begun: list[str] = []
    shells = 0
    with typing(tmp_path) as shell:
        for line in lines:
            if not line.startswith("bin/hbtable shell"):
                shell.run(line)
                begun.append(line)
                continue
            if not shells:
                shell.wait_for_roles(begun)
            told = shell.run(line, READS_IT if shells else MAKES_THE_TABLE)
            assert "kept" in told, told
            shells += 1
        assert shells
        assert shell.run("jobs -r").splitlines()[0] == "", "a role goes on"
