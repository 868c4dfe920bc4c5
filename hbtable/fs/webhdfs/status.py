"""Reads the answers of a NameNode about a file or folder, through WebHDFS."""

import json
from typing import NamedTuple

from hbtable.errors import Stalled, Unavailable
from hbtable.fs.webhdfs.errors import is_absent, unread
from hbtable.fs.webhdfs.namenodes import NameNodes
from hbtable.switches import switches


class NodeStatus(NamedTuple):
    """The answer of GETFILESTATUS about a file or folder. `inode` is 0 where gateways leave it out."""

    is_file: bool
    length_bytes: int
    modified_millis: int
    inode: int


def parse_status(body: bytes) -> NodeStatus:
    """Unavailable when it is not understood."""
    try:
        return status_of(json.loads(body)["FileStatus"])
    except (ValueError, KeyError, TypeError) as error:
        raise Unavailable(f"a file's status is not understood: {error!r}") from error


def status_of(fields: dict[str, object]) -> NodeStatus:
    """A status, made of its JSON. KeyError, TypeError."""
    length, modified, inode = fields["length"], fields["modificationTime"], fields.get("fileId", 0)
    if not (isinstance(length, int) and isinstance(modified, int) and isinstance(inode, int)):
        raise TypeError("numbers are expected")
    return NodeStatus(fields["type"] == "FILE", length, modified, inode)


@switches
def look(namenodes: NameNodes, absolute: str) -> NodeStatus | None:
    """*Switches.* None when there is neither file nor folder. Unavailable when that cannot be known."""
    try:
        answer = namenodes.ask("GET", absolute, "GETFILESTATUS")
    except Stalled as error:
        raise Unavailable(f"looking for {absolute}: {error}") from error
    if answer.error is None:
        return parse_status(answer.response.body)
    if is_absent(answer.error):
        return None
    raise unread(answer.error, absolute)
