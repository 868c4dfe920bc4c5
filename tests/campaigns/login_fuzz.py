"""Broken logins: SASL and HTTP with everything wrong that a client can get wrong, and broken messages behind it.

The gateway asks who its clients are; half of them know the password. Nothing is carried out for anybody else, no answer
speaks of an internal error, and what comes back is whole: SASL's messages and then frames of whole answers, or HTTP.
`make fuzz` runs it beside the other messages.
"""

import base64
import random
import struct
from collections.abc import Iterator
from typing import Any

from hbtable.access.accounts import Accounts
from hbtable.access.options import AuthOptions
from hbtable.access.user import acting_user
from hbtable.access.verification import Verifier
from hbtable.hbase.security import GatewaySecurity
from hbtable.runtime.network.tls import TlsOptions
from tests.campaigns.fuzz import MemoryStream, Mix
from tests.harness.canned_gateway import CannedCluster, CannedGateway, CannedRuntime
from tests.harness.cheap_passwords import cheap

_NAME, _SECRET = b"ann", b"correct horse"
_COMPLETE, _BAD, _OK = 5, 3, 2
_MESSAGES = 16
_UNTIL_ALL_ARE_MET = 3_000
_TARGETS = (
    b"/", b"/", b"/x?y=z", b"/?doAs=ann", b"/?doAs=", b"/?doAs=root", b"//[x/?doAs=ann", b"http://[::1/?doAs=ann",
    b"*?doas=%61nn", b"?", b"/?doAs=ann&doAs=ann;%00", b"http://h:x/#?doAs=root",
)  # fmt: skip


class KnownUsers:
    """A list of one user."""

    def read(self, latest: bool = False) -> Accounts:
        return Accounts().with_user(_NAME.decode(), cheap(_SECRET))


class WatchedCluster(CannedCluster):
    """Says how often it was used, and by whom it must not be."""

    def __init__(self) -> None:
        self.used = 0

    def open_table(self, name: bytes) -> Any:
        user = acting_user()
        assert user is not None
        assert user.name == _NAME.decode()
        self.used += 1
        return super().open_table(name)


def logins(messages: int, seed: int, loud: bool = True) -> int:
    """How many were sent; at least `messages`, and more of a small number until somebody came in by each way."""
    mix, cluster = Mix(seed, [b"t"], [b"t", b"other"], 200), WatchedCluster()
    security = GatewaySecurity(TlsOptions(), AuthOptions(enabled=True, plain_text=True))
    runtime: Any = CannedRuntime()
    security.ask(Verifier(runtime, KnownUsers(), security.auth))
    gateway = CannedGateway(cluster=cluster, security=security)
    sent = let_in = by_http = 0
    number = 0
    while sent < messages or (sent < _UNTIL_ALL_ARE_MET and not (let_in and by_http and cluster.used)):
        form = mix.form()
        inside = list(mix.connection(form, _MESSAGES))
        over_http = mix.chance.random() < 0.3
        pieces = list(_posts(mix.chance, inside) if over_http else _sasl(mix.chance, inside))
        stream = MemoryStream(iter(pieces), mix.chance.choice((0, 0, 0, 7, 1)))
        number += 1  # each from an address of its own, or it would have to wait after some wrong passwords
        gateway.serve(stream, (f"host{number}", 1))
        assert stream.closed
        sent += len(pieces)
        received = b"".join(stream.received)
        assert b"internal error of the server" not in received, received[:300]
        let_in += not over_http and _checked(received)
        by_http += received.count(b"HTTP/1.1 200 OK")
    assert let_in
    assert by_http
    assert cluster.used
    if loud:
        print(f"logins: {sent} messages, {let_in} times let in by SASL, {by_http} over HTTP, {cluster.used} calls made")
    return sent


def _message(status: int, content: bytes) -> bytes:
    return struct.pack(">BI", status, len(content)) + content


def _sasl(chance: random.Random, inside: list[bytes]) -> Iterator[bytes]:
    kind = chance.random()
    start, response = _message(1, b"PLAIN"), _message(chance.choice((2, 5)), b"\0" + _NAME + b"\0" + _SECRET)
    if kind < 0.5:
        yield start
        yield response
    elif kind < 0.75:
        yield start
        yield _damaged(chance, response)
    elif kind < 0.9:
        yield start
        for _ in range(chance.randrange(4)):
            yield _message(
                chance.choice((1, 2, 3, 4, 5, chance.randrange(256))), chance.randbytes(chance.randrange(40))
            )
    else:
        yield start + struct.pack(">BI", 2, chance.choice((2**31, 2**32 - 1, 8193, 0)))
    data = b"".join(inside)
    while data:
        size = chance.choice((1, 7, 100, 5000))
        frame = len(data[:size]).to_bytes(4, "big") + data[:size]
        yield _damaged(chance, frame) if chance.random() < 0.005 else frame
        data = data[size:]


def _posts(chance: random.Random, inside: list[bytes]) -> Iterator[bytes]:
    right = b"Basic " + base64.b64encode(_NAME + b":" + _SECRET)
    for body in inside[: chance.randrange(1, 6)]:
        kind = chance.random()
        said = (
            right
            if kind < 0.5
            else _damaged(chance, right)
            if kind < 0.9
            else b"Bearer " + chance.randbytes(20).hex().encode()
        )
        acting = chance.choice(
            (b"", b"", b"doAs: ann\r\n", b"doAs: root\r\n", b"doAs: " + chance.randbytes(3).hex().encode() + b"\r\n")
        )
        target = chance.choice(_TARGETS)
        if chance.random() < 0.1:
            target = _damaged(chance, target)
        yield b"POST %s HTTP/1.1\r\nHost: h\r\nAuthorization: %s\r\n%sContent-Length: %d\r\n\r\n%s" % (
            target, said, acting, len(body), body
        )  # fmt: skip


def _damaged(chance: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.randrange(1, 4)):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)[: chance.choice((len(changed), len(changed), chance.randrange(1, len(changed) + 1)))]


def _checked(received: bytes) -> bool:
    """Whether SASL let the client in; what came back is whole either way."""
    statuses = []
    while received and received[0] in (_OK, _BAD, _COMPLETE):
        status, size = struct.unpack_from(">BI", received)
        statuses.append(status)
        assert len(received) >= 5 + size
        received = received[5 + size :]
        if status != _OK:
            break
    if _COMPLETE not in statuses:
        assert statuses.count(_BAD) <= 1
        return False
    while received:
        (size,) = struct.unpack_from(">I", received)
        assert len(received) >= 4 + size
        received = received[4 + size :]
    return True
