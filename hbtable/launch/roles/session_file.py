"""How a role tells its supervisor which lock service session is its own: a file in a private folder.

The file is JSON with hosts, session and password (hexadecimal); whoever reads it can end the session, so the folder has
mode 0700. It is replaced atomically: a role that dies while it writes leaves the old one or none.
"""

import json
import os
from collections.abc import Mapping
from typing import Final, NamedTuple

from hbtable.lockservice.zookeeper.wire import Credentials

VARIABLE: Final = "HBTABLE_SESSION_FILE"
"""Of the environment: where a supervised role writes. Not set: nobody supervises it."""


class SessionRecord(NamedTuple):
    """What it takes to end a session."""

    hosts: str
    credentials: Credentials


def hand_over(environ: Mapping[str, str], hosts: str, credentials: Credentials) -> None:
    """In the role, right after it opened its session. Nothing happens when it is not supervised."""
    path = environ.get(VARIABLE)
    if not path:
        return
    content = json.dumps({"hosts": hosts, "session": credentials.session, "password": credentials.password.hex()})
    with open(f"{path}.tmp", "w", opener=_private) as file:
        file.write(content)
    os.rename(f"{path}.tmp", path)


def take_over(path: str) -> SessionRecord | None:
    """In the supervisor, after the role ended: once. None when it never opened a session."""
    try:
        with open(path) as file:
            content = json.load(file)
        os.unlink(path)
    except FileNotFoundError:
        return None
    return SessionRecord(content["hosts"], Credentials(int(content["session"]), bytes.fromhex(content["password"])))


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
