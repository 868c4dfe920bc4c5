"""The pipe from each role to its supervisor, through which it tells which lock service session is its own.

A line of JSON has hosts, session and password (hexadecimal); whoever reads it can end the session. A pipe leaves
nothing behind, however its processes end; a file would stay after the supervisor was killed. A pipe takes a line in one
piece, so that a role that dies while it writes leaves a whole line or none.
"""

import json
import os
from collections.abc import Mapping
from typing import Final, NamedTuple

from hbtable.lockservice.zookeeper.wire import Credentials

VARIABLE: Final = "HBTABLE_SESSION_PIPE"
"""Of the environment: the number of the descriptor to which a supervised role writes. Not set: nobody supervises it."""


class SessionRecord(NamedTuple):
    """All that is needed to end a session."""

    hosts: str
    credentials: Credentials


def hand_over(environ: Mapping[str, str], hosts: str, credentials: Credentials) -> None:
    """Called in the role, right after it opened its session. Nothing happens when it is not supervised."""
    if descriptor := environ.get(VARIABLE):
        content = {"hosts": hosts, "session": credentials.session, "password": credentials.password.hex()}
        os.write(int(descriptor), json.dumps(content).encode() + b"\n")


def take_over(descriptor: int) -> SessionRecord | None:
    """Called once in the supervisor, after the role ended. `descriptor`: the other end, which does not block. None when
    the role never opened a session."""
    try:
        lines = os.read(descriptor, 1 << 16).splitlines()
    except BlockingIOError:
        return None
    content = json.loads(lines[-1])
    return SessionRecord(content["hosts"], Credentials(int(content["session"]), bytes.fromhex(content["password"])))
