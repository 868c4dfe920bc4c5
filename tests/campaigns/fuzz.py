"""A million broken messages: random, mutated from valid calls of every method of Thrift1 and Thrift2, truncated,
with lengths of 2^31 and below zero, nested a million deep, with wrong types and unknown fields; in the binary (strict
and not) and compact protocols, framed and not; HTTP, TLS, SASL.

Most of them go through the gateway in this process (everything but the network), the rest over sockets to a real
server, beside a healthy client. What comes back must be whole Thrift answers or the end of the connection; no answer
may speak of an internal error; the process lives; memory stays within 50 MB of what it was after warming up.

    python -m tests.campaigns.fuzz [--messages 1000000] [--real 60000] [--logins 100000] [--tls 100000]
        [--http 30000] [--seed N]
"""

import argparse
import logging
import os
import random
import socket
import struct
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.harness.canned_gateway import CannedGateway
from tests.harness.server import ServerProcess
from tests.harness.wire_answers import Answer, answers, is_explanation
from tests.harness.wire_mutations import FORMS, LOOSE, Form, Messages, corpus, deep_struct, encode, foreign, methods

GROWTH_LIMIT_BYTES = 50 << 20
CORPUS = 800
WARM_UP, LEAST_WARM_UP = 20_000, 500
_MESSAGES_PER_CONNECTION = 64
_PIECES = (0,) * 36 + (7, 7, 7, 1)
_INTERNAL = b"internal error of the server"


class MemoryStream:
    """A client in memory: hands over one message at each recv (or a part of it), and keeps what is sent back."""

    def __init__(self, messages: Iterator[bytes], piece: int) -> None:
        self._messages = messages
        self._piece = piece
        self._rest = b""
        self.delivered = 0
        self.received: list[bytes] = []
        self.closed = False
        self._refused = False

    def recv(self, most: int, /) -> bytes:
        if self._refused:
            return b""  # what is read now is thrown away: it would not be a test
        if not self._rest:
            self._rest = next(self._messages, b"")
            self.delivered += bool(self._rest)
        size = min(most, self._piece) if self._piece else most
        data, self._rest = self._rest[:size], self._rest[size:]
        return data

    def sendall(self, data: bytes, /) -> None:
        self.received.append(data)

    def settimeout(self, seconds: float | None, /) -> None:
        self._refused = seconds == 2.0

    def close(self) -> None:
        self.closed = True


class Mix:
    """What to send next, by one seed."""

    def __init__(self, seed: int, tables: list[bytes], others: list[bytes], size: int = CORPUS) -> None:
        self.messages = Messages(seed, tables, others)
        self.chance = self.messages.chance
        self._corpora = {form: corpus(self.messages, form, size) for form in (*FORMS, *LOOSE)}
        self._spice = {form: list(_spice(form)) for form in (*FORMS, *LOOSE)}

    def form(self) -> Form:
        return self.chance.choice(LOOSE if self.chance.random() < 0.1 else FORMS)

    def connection(self, form: Form, count: int) -> Iterator[bytes]:
        """Up to `count` messages of one client."""
        chance, pool = self.chance, self._corpora[form]
        if chance.random() < 0.02:
            yield foreign(chance)
            return
        damaged = chance.choice((0.0, 0.02, 0.1, 1.0))
        for _ in range(count):
            message = chance.choice(pool)
            if chance.random() < damaged:
                kind = chance.random()
                if kind < 0.90:
                    message = self._damaged(form, message)
                elif kind < 0.95:
                    message = message[: chance.randrange(len(message) + 1)]
                elif kind < 0.955:
                    message = chance.choice(self._spice[form])
                else:
                    message = chance.randbytes(chance.randrange(1, 120))
            if message:
                yield message

    def _damaged(self, form: Form, message: bytes) -> bytes:
        """Mostly with a frame that is right, or nothing behind it would be read."""
        if form.framed and self.chance.random() < 0.9:
            body = self.messages.damage(message[4:])
            return len(body).to_bytes(4, "big") + body
        return self.messages.damage(message)


def _spice(form: Form) -> Iterator[bytes]:
    yield deep_struct(form, 20)
    yield deep_struct(form, 10_000)
    for size in (2**31, 2**31 - 1, 2**32 - 1, 2**26 + 1, 2**24):
        yield struct.pack(">I", size) + b"\x80\x01\x00\x01" + b"x" * 20
        yield b"\x80\x01\x00\x01" + struct.pack(">I", size)
        yield b"\x82\x21\x01" + b"\xff" * 12


def check(form: Form, received: bytes, alone: bool = False) -> list[Answer]:
    """The answers among what a client of this form got. Undecodable when it got anything else. `alone`: the first
    message was foreign, so the server may have taken the client for another kind."""
    assert _INTERNAL not in received, f"an internal error: {received[:300]!r}"
    if received.startswith(b"HTTP/1.1 "):
        return []
    if not alone:
        return answers(received, form.compact, form.framed)
    for compact in (False, True):
        for framed in (False, True):
            try:
                return answers(received, compact, framed)
            except AssertionError:
                pass
    if is_explanation(received):
        return []
    raise AssertionError(f"no Thrift: {received[:100]!r}")


def rss_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def warm_up_messages(messages: int) -> int:
    """The messages before memory is measured first, in a run of so many."""
    return min(WARM_UP, max(messages // 4, LEAST_WARM_UP))


class Delivered(NamedTuple):
    """To the gateway in this process."""

    messages: int
    replies: int
    cut: int
    """Connections that were cut, or cut short."""


def in_process(messages: int, seed: int, loud: bool = True) -> int:
    """How many messages were delivered; at least `messages`."""
    mix = Mix(seed, [b"t"], [b"t", b"other"])
    gateway = CannedGateway()
    began = time.monotonic()
    first = _deliver(mix, gateway, warm_up_messages(messages))
    base = rss_bytes()
    then = _deliver(mix, gateway, messages - first.messages)
    delivered, replies, cut = (one + other for one, other in zip(first, then, strict=True))
    seconds = time.monotonic() - began
    _valid_ones_are_answered(mix, gateway)
    growth = rss_bytes() - base
    if loud:
        print(
            f"in process: {delivered} messages, {replies} answered, {cut} connections cut or cut short, "
            f"{delivered / seconds:.0f} messages/s, memory {growth / 1e6:+.1f} MB"
        )
    assert growth < GROWTH_LIMIT_BYTES, f"memory grew by {growth / 1e6:.1f} MB"
    return delivered


def _deliver(mix: Mix, gateway: CannedGateway, messages: int) -> Delivered:
    """At least so many."""
    delivered = replies = cut = 0
    while delivered < messages:
        form = mix.form()
        piece = mix.chance.choice(_PIECES)
        first: list[bytes] = []
        stream = MemoryStream(_noted(mix.connection(form, _MESSAGES_PER_CONNECTION), first), piece)
        gateway.serve(stream, ("fuzz", 1))
        delivered += stream.delivered
        assert stream.closed
        received = b"".join(stream.received)
        replies += len(check(form, received, alone=not _fits(form, first)))
        cut += stream.delivered < _MESSAGES_PER_CONNECTION
    return Delivered(delivered, replies, cut)


def _noted(messages: Iterator[bytes], first: list[bytes]) -> Iterator[bytes]:
    for message in messages:
        if not first:
            first.append(message)
        yield message


def _fits(form: Form, first: list[bytes]) -> bool:
    """Whether the first message tells the server what the client meant."""
    start = b"".join(first)
    if form.framed:
        if start[:1] != b"\x00":
            return False
        start = start[4:]
    if form.protocol == "loose":
        named = start[:3] == b"\x00\x00\x00" and b"\x00" < start[3:4] <= b"\x40"
        return not form.framed and named and bytes(start[4:5]).isalpha()
    marks = {"binary": b"\x80\x01", "compact": b"\x82\x21"}
    return start.startswith(marks[form.protocol])


def _valid_ones_are_answered(mix: Mix, gateway: CannedGateway) -> None:
    """After all that, the same gateway answers every method in every form, with the numbers of the calls."""
    for form in (*FORMS, *LOOSE):
        every = [(method.name.encode(), mix.messages.arguments(method)) for method in methods()]
        calls = [encode(form, name, arguments, number) for number, (name, arguments) in enumerate(every)]
        stream = MemoryStream(iter(calls), 0)
        gateway.serve(stream, ("valid", 1))
        found = check(form, b"".join(stream.received))
        assert [(one.name, one.sequence) for one in found] == [(name, n) for n, (name, _) in enumerate(every)], form


# ---------------------------------------------------------------- over sockets


class Healthy:
    """A client who wants nothing special, while others send rubbish. `worst_seconds` of any of its calls."""

    def __init__(self, server: ServerProcess) -> None:
        self._server = server
        self._stop = threading.Event()
        self.calls = 0
        self.worst_seconds = 0.0
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Healthy":
        self._thread.start()
        return self

    def _run(self) -> None:
        try:
            table = self._server.connect().table("healthy")
            while not self._stop.is_set():
                began = time.monotonic()
                value = b"%d" % self.calls
                table.put(b"row", {b"f:n": value})
                assert table.row(b"row") == {b"f:n": value}
                self.worst_seconds = max(self.worst_seconds, time.monotonic() - began)
                self.calls += 1
        except BaseException as error:
            self.error = error

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


def over_sockets(messages: int, seed: int, folder: Path, loud: bool = True, large: int = 2_000_000) -> int:
    """Sends at least `messages` to a real server; how many."""
    server = ServerProcess(folder / "data", ["log.durability=os", "tablet.memtable_bytes=1 MiB"])
    with server:
        connection = server.connect()
        for name in ("t", "healthy"):
            connection.create_table(name, {"f": {}})
        mix = Mix(seed, [b"t"], [b"absent"], CORPUS // 2)
        _burst(server, mix, max(messages // 4, 1000))
        _deep_and_large(server, large)
        base = server.rss_bytes()
        began = time.monotonic()
        with Healthy(server) as healthy:
            sent = _burst(server, mix, messages)
            _deep_and_large(server, large)
        seconds = time.monotonic() - began
        if healthy.error is not None:
            raise AssertionError(f"the healthy client was disturbed: {healthy.error!r}") from healthy.error
        growth = server.rss_bytes() - base
        assert server.process is not None
        assert server.process.poll() is None
        if loud:
            print(
                f"over sockets: {sent} messages, {sent / seconds:.0f} messages/s, memory {growth / 1e6:+.1f} MB, "
                f"beside {healthy.calls} put-and-reads of a healthy client, the slowest {healthy.worst_seconds:.3f} s"
            )
        assert healthy.calls > 0
        assert growth < GROWTH_LIMIT_BYTES, f"the server grew by {growth / 1e6:.1f} MB"
        assert server.stop() == 0
    assert "Traceback" not in server.errors.read_text(), server.errors.read_text()[-3000:]
    return sent


def _burst(server: ServerProcess, mix: Mix, messages: int) -> int:
    sent = 0
    while sent < messages:
        form = mix.form()
        batch = list(mix.connection(form, _MESSAGES_PER_CONNECTION))
        received = converse(server.port, b"".join(batch))
        check(form, received, alone=not _fits(form, batch[:1]))
        sent += len(batch)
    return sent


def _deep_and_large(server: ServerProcess, large: int) -> None:
    for form in (*FORMS, *LOOSE):
        check(form, converse(server.port, deep_struct(form, 1_000_000)))
        zeros = bytes(large * 4)  # rows without anything
        call = b"\x80\x01\x00\x01\x00\x00\x00\x0amutateRows\x00\x00\x00\x01\x0f\x00\x02\x0c"
        call += struct.pack(">I", large)
        body = (b"" if not form.framed else struct.pack(">I", len(call) + len(zeros))) + call + zeros
        if form.protocol == "binary":
            check(form, converse(server.port, body))


def converse(port: int, data: bytes, timeout_seconds: float = 60.0) -> bytes:
    """Sends all, says that it is done, and returns all that came back until the server closed."""
    received = []
    with socket.create_connection(("127.0.0.1", port), timeout_seconds) as client:
        sender = threading.Thread(target=_send, args=(client, data))
        threaded = len(data) > 100_000  # else the kernel takes it all at once
        if threaded:
            sender.start()
        else:
            _send(client, data)
        try:
            while chunk := client.recv(1 << 20):
                received.append(chunk)
        except ConnectionResetError:
            pass
        finally:
            if threaded:
                sender.join()
    return b"".join(received)


def _send(client: socket.socket, data: bytes) -> None:
    try:
        client.sendall(data)
        client.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # the server had seen enough


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--real", type=int, default=60_000, help="how many of them over sockets")
    parser.add_argument("--logins", type=int, default=100_000, help="more, by SASL and HTTP, of users and of nobody")
    parser.add_argument("--tls", type=int, default=100_000, help="more, inside of TLS and as TLS")
    parser.add_argument("--http", type=int, default=30_000, help="connections more, of odd HTTP requests")
    parser.add_argument("--seed", type=int, default=0, help="0: chosen now and printed")
    arguments = parser.parse_args()
    seed = arguments.seed or random.SystemRandom().randrange(1, 2**31)
    print(f"seed {seed}", flush=True)
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory(prefix="hbtable-fuzz-") as folder:
        real = over_sockets(arguments.real, seed, Path(folder))
    from tests.campaigns.http_fuzz import requests  # which are made of this module's parts
    from tests.campaigns.login_fuzz import logins
    from tests.campaigns.tls_fuzz import over_tls

    total = real + in_process(max(arguments.messages - real, 0), seed)
    total += requests(arguments.http, seed) + logins(arguments.logins, seed) + over_tls(arguments.tls, seed)
    print(f"{total} messages, nothing broke (seed {seed})")


if __name__ == "__main__":
    main()
