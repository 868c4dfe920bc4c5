"""The things that a server process gets from the launcher: open descriptors, and what to do with them.

They are told in the environment, in JSON, so that a list of processes shows no more than the command.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Final

VARIABLE: Final = "HBTABLE_LAUNCHER"


@dataclass(frozen=True, slots=True)
class Inheritance:
    """The names that end in `_fd` are descriptors, of which the process is the owner."""

    parent: int
    """The launcher's process id."""
    serial: int
    """The number of this process among all that the launcher started; never given twice."""
    slot: int
    """The place that it takes among the N, from 0 on."""
    folder: str
    host: str
    port: int
    """At which clients reach all of the servers."""
    http_port: int
    """Of the pages of this process; 0: none."""
    config: str
    """The configuration file; "": none."""
    defines: list[str]
    """SECTION.KEY=VALUE each."""
    session_fd: int
    """The connection to the lock service."""
    handover_fd: int
    """The Handover by which connections come."""
    beat_fd: int
    """The pipe into which the process writes a byte now and then, as long as it is not stopped."""
    lock_fd: int
    folder_fd: int
    """With `lock_fd`, of the lock on the data folder (DataFolder.descriptors)."""

    def descriptors(self) -> list[int]:
        return [getattr(self, field.name) for field in fields(self) if field.name.endswith("_fd")]

    def environment(self) -> dict[str, str]:
        return {**os.environ, VARIABLE: json.dumps(asdict(self))}

    @staticmethod
    def read(environment: Mapping[str, str]) -> "Inheritance":
        """Worker processes of this one get none of its descriptors."""
        inheritance = Inheritance(**json.loads(environment[VARIABLE]))
        for descriptor in inheritance.descriptors():
            os.set_inheritable(descriptor, False)
        return inheritance
