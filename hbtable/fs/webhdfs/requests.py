"""Requests to WebHDFS and its answers, as values: the seam between the adapter and whatever carries its requests.

`Http` carries one request and gives the answer whole; it follows no redirect and repeats nothing. Production has
http.py (connections kept open) and package.py (sessions of the `hdfs` package, for Kerberos); the
fake (testing/fake_hdfs/webhdfs.py) answers from memory.

It raises NotSent when the server cannot have acted on the request, and NoAnswer when it may have.
"""

import json
import re
from collections.abc import Callable
from typing import BinaryIO, Final, NamedTuple
from urllib.parse import quote

PREFIX: Final = "/webhdfs/v1"
OK: Final = (200, 201)
REDIRECT: Final = 307

_LOCATION: Final = re.compile(r"https?://([^/?#]+)(/[^#]*)")


class WebHdfsRequest(NamedTuple):
    """One HTTP request. `target` is path and query; a body of another kind than bytes is read from its start."""

    method: str
    host: str
    target: str
    body: bytes | BinaryIO = b""
    length_bytes: int = 0
    seconds: float = 10.0
    """In which the whole answer must be there."""
    keep_open: bool = False
    """The connection is worth keeping: a NameNode's. DataNodes close theirs."""


class WebHdfsResponse(NamedTuple):
    """One answer. `complete` is False when the body ended before the length that was announced."""

    status: int
    location: str
    body: bytes
    complete: bool = True


class NotSent(Exception):
    """No connection: the server did not see the request."""


class NoAnswer(Exception):
    """The request went out, and no whole answer came back in time."""


Http = Callable[[WebHdfsRequest], WebHdfsResponse]


class HadoopError(NamedTuple):
    """Hadoop's answer to what it did not do. `java_class` without its package, "" when the answer was not Hadoop's."""

    status: int
    java_class: str
    message: str


def target_of(path: str, operation: str, parameters: dict[str, str]) -> str:
    """Path and query for an operation on an absolute HDFS path."""
    query = "".join(f"&{name}={quote(value, safe='/:,')}" for name, value in parameters.items())
    return f"{PREFIX}{quote(path, safe='/')}?op={operation}{query}"


def location_of(response: WebHdfsResponse) -> tuple[str, str] | None:
    """Host and target of a redirect, or None."""
    if response.status != REDIRECT:
        return None
    found = _LOCATION.fullmatch(response.location)
    return (found[1], found[2]) if found else None


def remote_error(response: WebHdfsResponse) -> HadoopError | None:
    """None for an answer that says the operation was done."""
    if response.status in OK or response.status == REDIRECT:
        return None
    try:
        inner = json.loads(response.body)["RemoteException"]
        message = str(inner["message"]).split("\n", 1)[0]  # DataNodes append their stack
        return HadoopError(response.status, str(inner["exception"]), message)
    except (ValueError, KeyError, TypeError):
        return HadoopError(response.status, "", f"HTTP status {response.status}")


def boolean_of(response: WebHdfsResponse) -> bool | None:
    """The value of a body {"boolean": ...}; None for another body. RENAME with options answers an empty one."""
    try:
        answer = json.loads(response.body)["boolean"]
    except (ValueError, KeyError, TypeError):
        return None
    return answer if isinstance(answer, bool) else None
