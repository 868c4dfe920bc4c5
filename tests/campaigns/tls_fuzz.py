"""Broken TLS: hellos that are none, records changed on their way, and broken messages inside of what is whole.

The client is the standard library's, over two buffers in memory; what it sends may be damaged before the gateway reads
it. Nothing comes back but TLS's own records, and inside of them whole answers; no error is one of the server's own.
`make fuzz` runs it beside the other messages.
"""

import gc
import random
import ssl
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from hbtable.hbase.security import GatewaySecurity
from hbtable.runtime.network.tls import TlsOptions
from tests.campaigns.fuzz import GROWTH_LIMIT_BYTES, Mix, check, rss_bytes, warm_up_messages
from tests.harness.canned_gateway import CannedGateway
from tests.harness.certificates import CA, put_certificate
from tests.harness.wire_mutations import FORMS, Form, encode, methods

_MESSAGES = 64
_HANDSHAKE, _ALERT, _DATA = 22, 21, 23
_KINDS = (20, _ALERT, _HANDSHAKE, _DATA, 24, 255)


class TlsClient:
    """A client in memory whose every flight `change` may damage."""

    def __init__(self, context: ssl.SSLContext, messages: Iterator[bytes], change: "Change") -> None:
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._in, self._out, server_hostname="localhost")
        self._messages = messages
        self._change = change
        self._shaken = self._refused = self._left = False
        self.delivered = 0
        self.closed = False

    def recv(self, most: int, /) -> bytes:
        if self._refused or self._left:
            return b""  # what is read when it is refused is thrown away: it would not be a test
        try:
            self._go_on()
        except (ssl.SSLError, ValueError):  # the server's alert, or an answer to what was damaged
            self._left = True
        flight = self._change(self._out.read())
        self.delivered += bool(flight)
        return flight

    def _go_on(self) -> None:
        if not self._shaken:
            with suppress(ssl.SSLWantReadError):
                self._tls.do_handshake()
                self._shaken = True
        if self._shaken and not self._out.pending:
            message = next(self._messages, b"")
            if message:
                self._tls.write(message)

    def sendall(self, data: bytes, /) -> None:
        self._in.write(data)

    def settimeout(self, seconds: float | None, /) -> None:
        self._refused = seconds == 2.0

    def close(self) -> None:
        self.closed = True

    def read_all(self) -> bytes:
        """The inside of the server's answers."""
        pieces = []
        with suppress(ssl.SSLError, ValueError):
            while piece := self._tls.read(1 << 16):
                pieces.append(piece)
        return b"".join(pieces)


class Change:
    """Damages one flight in so many, or none."""

    def __init__(self, chance: random.Random, share: float) -> None:
        self._chance = chance
        self._share = share
        self.changed = False

    def __call__(self, flight: bytes) -> bytes:
        chance = self._chance
        if not flight or chance.random() >= self._share:
            return flight
        self.changed = True
        kind = chance.random()
        if kind < 0.6:
            damaged = bytearray(flight)
            for _ in range(chance.randrange(1, 4)):
                damaged[chance.randrange(len(damaged))] = chance.randrange(256)
            return bytes(damaged)
        if kind < 0.8:
            return flight[: chance.randrange(1, len(flight) + 1)]
        if kind < 0.9:
            return flight + flight
        return record(chance) + flight


def record(chance: random.Random) -> bytes:
    """With a right head, most often, and nonsense inside."""
    size = chance.choice((0, 1, 4, 40, 16384, 16640, 65535))
    inside = chance.randbytes(min(size, chance.choice((size, 200))))
    if chance.random() < 0.5:  # a message of a handshake: its kind, its length
        inside = bytes([chance.choice((0, 1, 2, 4, 11, 16, 20, 24, 254))]) + chance.choice(
            (len(inside).to_bytes(3, "big"), b"\xff\xff\xff", b"\0\0\0")
        ) + inside  # fmt: skip
    return bytes([chance.choice(_KINDS), 3, chance.choice((0, 1, 3, 4, 9))]) + size.to_bytes(2, "big") + inside


class Nonsense:
    """A client that only looks as if it spoke TLS."""

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = pieces
        self.delivered = 0
        self.sent = b""
        self.closed = False

    def recv(self, most: int, /) -> bytes:
        self.delivered += bool(self._pieces)
        return self._pieces.pop(0) if self._pieces else b""

    def sendall(self, data: bytes, /) -> None:
        self.sent += data

    def settimeout(self, seconds: float | None, /) -> None: ...

    def close(self) -> None:
        self.closed = True


def over_tls(messages: int, seed: int, loud: bool = True) -> int:
    """How many flights and messages were delivered; at least `messages`."""
    mix, tried = Mix(seed, [b"t"], [b"t", b"other"], 200), {"whole": 0, "damaged": 0, "nonsense": 0}
    client_side = ssl.create_default_context(cafile=CA)
    with tempfile.TemporaryDirectory(prefix="hbtable-tls-fuzz-") as folder:
        certificate, key = put_certificate("server", Path(folder))
        gateway = CannedGateway(security=GatewaySecurity(TlsOptions(certificate=certificate, key=key)))
    began = time.monotonic()
    delivered, replies = _deliver(mix, gateway, client_side, tried, warm_up_messages(messages))
    gc.collect()
    base = rss_bytes()
    more, more_replies = _deliver(mix, gateway, client_side, tried, messages - delivered)
    delivered, replies = delivered + more, replies + more_replies
    growth = rss_bytes() - base
    assert replies
    for form in FORMS:
        _all_are_answered(mix, form, client_side, gateway)
    assert growth < GROWTH_LIMIT_BYTES, f"memory grew by {growth / 1e6:.1f} MB"
    if loud:
        print(
            f"TLS: {delivered} flights and messages, {replies} answered, connections {tried}, "
            f"{delivered / (time.monotonic() - began):.0f} a second, memory {growth / 1e6:+.1f} MB"
        )
    return delivered


def _deliver(
    mix: Mix, gateway: CannedGateway, client_side: ssl.SSLContext, tried: dict[str, int], messages: int
) -> tuple[int, int]:
    """(flights and messages, at least so many; replies). Counts connections in `tried`."""
    delivered = replies = 0
    while delivered < messages:
        if mix.chance.random() < 0.3:
            tried["nonsense"] += 1
            delivered += _nonsense(mix.chance, gateway)
            continue
        form = mix.form()
        change = Change(mix.chance, mix.chance.choice((0.0, 0.0, 0.02, 0.3)))
        client = TlsClient(client_side, mix.connection(form, _MESSAGES), change)
        gateway.serve(client, ("fuzz", 1))
        assert client.closed
        delivered += client.delivered
        received = client.read_all()
        assert b"internal error of the server" not in received, received[:300]
        tried["damaged" if change.changed else "whole"] += 1
        if not change.changed:
            replies += len(check(form, received, alone=True))
    return delivered, replies


def _all_are_answered(mix: Mix, form: Form, client_side: ssl.SSLContext, gateway: CannedGateway) -> None:
    """After all that, the same gateway answers every method, one behind the other in one write of TLS."""
    every = [(method.name.encode(), mix.messages.arguments(method)) for method in methods()]
    calls = [encode(form, name, arguments, number) for number, (name, arguments) in enumerate(every)]
    client = TlsClient(client_side, iter([b"".join(calls)]), Change(mix.chance, 0.0))
    gateway.serve(client, ("valid", 1))
    found = check(form, client.read_all())
    assert [(one.name, one.sequence) for one in found] == [(name, number) for number, (name, _) in enumerate(every)]


def _nonsense(chance: random.Random, gateway: CannedGateway) -> int:
    pieces = [bytes([_HANDSHAKE, 3, 1]) + record(chance)[3:], *(record(chance) for _ in range(chance.randrange(4)))]
    client = Nonsense(pieces)
    gateway.serve(client, ("fuzz", 1))
    assert client.closed
    assert not client.sent or client.sent[0] == _ALERT, f"no alert of TLS: {client.sent[:100]!r}"
    return client.delivered
