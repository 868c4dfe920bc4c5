"""What is to be ended when this process is killed before it could clean up: servers that are no children, and roles.

A shell waits at the other end of a pipe. The kernel closes our end whenever and however this process ends; then the
shell runs the commands that are still there.
"""

import subprocess
from functools import cache
from typing import Final

_EXECUTOR: Final = """
declare -A will
while IFS=$'\\t' read -r name command; do
  if [ -n "$command" ]; then will[$name]=$command; else unset "will[$name]"; fi
done
for command in "${will[@]}"; do eval "$command"; done
"""


class ProcessReaper:
    """One process that outlives this one by as long as the commands take."""

    def __init__(self) -> None:
        # In a session of its own: Ctrl-C and a kill of the process group are for this process.
        self.executor = subprocess.Popen(
            ["bash", "-c", _EXECUTOR],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            text=True,
        )

    def add(self, name: str, command: str) -> None:
        """`command` is for bash, on one line. Of two with the same name the later counts."""
        self._tell(f"{name}\t{command}")

    def remove(self, name: str) -> None:
        """It was done."""
        self._tell(f"{name}\t")

    def _tell(self, line: str) -> None:
        assert self.executor.stdin is not None
        self.executor.stdin.write(f"{line}\n")
        self.executor.stdin.flush()


@cache
def process_reaper() -> ProcessReaper:
    """This process's."""
    return ProcessReaper()


def end_role(pid: int) -> str:
    """Ends a role and a supervisor's child with it, if the process is still the one that was started."""
    return f"grep -aq hbtable /proc/{pid}/cmdline && kill -9 {pid} $(cat /proc/{pid}/task/{pid}/children)"
