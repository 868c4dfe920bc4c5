"""The ways in that a client may take beside plain TCP: the lines of docs/clients.md for happybase, and the same for
scripts that use thriftpy2's TSocket and TBufferedTransport.

    python -m tests.harness.ways_in WAY SCRIPT ARGUMENTS...     runs SCRIPT, whose connections go that way
"""

import re
import runpy
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

from tests.harness.certificates import CA
from tests.harness.known_token import TOKEN

USER: Final = "ann"
SECRET: Final = "correct horse"
PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "clients.md"
_TLS, _PASSWORD, _KERBEROS, _HTTP = (
    "happybase over TLS", "happybase with a password or a token", "happybase with Kerberos", "happybase over HTTP",
)  # fmt: skip
_SHOWN: Final = {"certificate.pem": CA, "the password or a token": SECRET, "hbt....": TOKEN}
_QOPS: Final = '["auth", "auth-int", "auth-conf"]'


def _blocks(heading: str) -> list[str]:
    """Of Python, below a heading of the page."""
    _, _, section = PAGE.read_text().partition(f"\n## {heading}\n")
    section = section.partition("\n## ")[0]
    found = re.findall(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    assert found, f"{PAGE.name} has no block of Python below {heading!r}"
    return found


def _kerberos(qop: str) -> str:
    (block,) = _blocks(_KERBEROS)
    assert _QOPS in block
    return block.replace(_QOPS, f'["{qop}"]')


def _http(scheme: str) -> str:
    block = _blocks(_HTTP)[0]
    assert "https://" in block
    return block.replace("https://", scheme)


WAYS: Final[dict[str, Callable[[], str]]] = {
    "tls": lambda: _blocks(_TLS)[0],
    "password": lambda: _blocks(_TLS)[0] + _blocks(_PASSWORD)[0],
    "kerberos-auth": partial(_kerberos, "auth"),
    "kerberos-int": partial(_kerberos, "auth-int"),
    "kerberos-conf": partial(_kerberos, "auth-conf"),
    "kerberos-tls": lambda: _blocks(_TLS)[0] + _kerberos("auth-conf"),
    "http": partial(_http, "http://"),
    "https": partial(_http, "https://"),
    "spnego": lambda: _http("https://") + _blocks(_HTTP)[1],
}


def lines_of(way: str) -> str:
    """The page's, with what they only show in the place of somebody's own."""
    text = WAYS[way]()
    for shown, own in _SHOWN.items():
        text = text.replace(shown, own)
    return text


def go(way: str) -> None:
    """thriftpy2's own names stand for that way from now on, as scripts import them: the transports and the protocol
    that are written in Python."""
    import happybase.connection
    import thriftpy2.protocol
    import thriftpy2.transport
    from thriftpy2.protocol.binary import TBinaryProtocol
    from thriftpy2.transport import buffered
    from thriftpy2.transport.sasl import TSaslClientTransport

    names: dict[str, Any] = {}
    before = happybase.connection.TSocket, happybase.connection.THRIFT_TRANSPORTS["buffered"]
    exec(lines_of(way), names)
    socket, made = happybase.connection.TSocket, happybase.connection.THRIFT_TRANSPORTS["buffered"]
    if socket is not before[0]:
        thriftpy2.transport.TSocket = socket
    if isinstance(made, partial):
        made = partial(TSaslClientTransport, *made.args)
    if made is not before[1]:
        thriftpy2.transport.TBufferedTransport = buffered.TBufferedTransport = made
        thriftpy2.protocol.TBinaryProtocol = TBinaryProtocol


def main() -> None:
    way, script, *arguments = sys.argv[1:]
    go(way)
    sys.argv = [script, *arguments]
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
