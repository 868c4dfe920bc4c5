"""Odd requests of HTTP, with calls hidden in bodies and behind them, and first bytes of other protocols.

What the gateway carries out is compared with the readings of proxies that would have handed the same bytes on: which
take the first length or the last one, a length or chunks where there are both, lines that end in LF, folded lines,
blanks before a colon, numbers with more than digits. Each of them that goes on as far sees the same calls, so that none
is smuggled past it. `make fuzz` runs it beside the other messages.
"""

import itertools
import random
import re
import struct
from collections.abc import Iterator
from typing import NamedTuple

from tests.campaigns.fuzz import MemoryStream
from tests.harness.canned_gateway import CannedGateway

_NAME = b"getTableNames"
_ANSWER = re.compile(re.escape(b"\x80\x01\x00\x02\x00\x00\x00\x0d" + _NAME) + b"(....)", re.DOTALL)
_CALL = re.compile(re.escape(b"\x80\x01\x00\x01\x00\x00\x00\x0d" + _NAME) + b"(....)", re.DOTALL)
_PER_CONNECTION = 4


class Proxy(NamedTuple):
    """One way to read requests."""

    takes_lf: bool
    joins_folded: bool
    strips_names: bool
    takes_last_length: bool
    prefers_chunks: bool
    loose_numbers: bool
    finds_chunked: bool
    """Anywhere in a Transfer-Encoding, and not as its only word."""

    def bodies(self, data: bytes) -> Iterator[bytes]:
        """Of the requests that it would hand on, until one that it would not."""
        end = re.compile(rb"\r?\n\r?\n" if self.takes_lf else rb"\r\n\r\n")
        while found := end.search(data):
            headers = self._headers(data[: found.start()])
            if headers is None:
                return
            body_and_rest = self._body(headers, data[found.end() :])
            if body_and_rest is None:
                return
            body, data = body_and_rest
            yield body

    def _headers(self, head: bytes) -> list[tuple[bytes, bytes]] | None:
        first, *lines = re.split(rb"\r?\n" if self.takes_lf else rb"\r\n", head)
        if not first.startswith(b"POST "):
            return None
        headers: list[tuple[bytes, bytes]] = []
        for line in lines:
            if line[:1] in (b" ", b"\t"):
                if headers and self.joins_folded:
                    headers[-1] = headers[-1][0], headers[-1][1] + b" " + line.strip()
                    continue
                line = line.strip()
            name, colon, value = line.partition(b":")
            if not colon:
                continue
            headers.append(((name.strip() if self.strips_names else name).lower(), value.strip()))
        return headers

    def _body(self, headers: list[tuple[bytes, bytes]], rest: bytes) -> tuple[bytes, bytes] | None:
        lengths = [value for name, value in headers if name == b"content-length"]
        codings = [value.lower() for name, value in headers if name == b"transfer-encoding"]
        chunked = any(b"chunked" in one if self.finds_chunked else one == b"chunked" for one in codings)
        if chunked and (self.prefers_chunks or not lengths):
            return self._chunks(rest)
        if not lengths:
            return b"", rest
        length = self._number(lengths[-1 if self.takes_last_length else 0], 10)
        return None if length is None or length > len(rest) else (rest[:length], rest[length:])

    def _chunks(self, rest: bytes) -> tuple[bytes, bytes] | None:
        body = b""
        end = b"\n" if self.takes_lf else b"\r\n"
        while True:
            line, found, rest = rest.partition(end)
            size = self._number(line.rstrip(b"\r").partition(b";")[0], 16)
            if not found or size is None or size > len(rest):
                return None
            body, rest = body + rest[:size], rest[size:]
            ending = b"\r\n" if rest.startswith(b"\r\n") else end
            if size and not rest.startswith(ending):
                return None
            if size:
                rest = rest[len(ending) :]
                continue
            while not rest.startswith(ending):  # header fields behind it
                _, found, rest = rest.partition(end)
                if not found:
                    return None
            return body, rest[len(ending) :]

    def _number(self, text: bytes, base: int) -> int | None:
        digits = rb"[0-9]+" if base == 10 else rb"[0-9a-fA-F]+"
        found = re.match(rb"\s*\+?(?:0x)?(" + digits + rb")" if self.loose_numbers else digits + rb"\Z", text)
        return None if found is None else int(found[1] if self.loose_numbers else found[0], base)


_CODINGS = (
    *(b"Transfer-Encoding: chunked",) * 6,
    b"Transfer-Encoding : chunked", b"Transfer-Encoding: \tchunked", b"Transfer-Encoding: Chunked",
    b"Transfer-Encoding:\x0bchunked", b"Transfer-Encoding: xchunked", b"Transfer-Encoding: identity",
    b"Transfer-Encoding: gzip, chunked", b"Transfer-Encoding: chunked, identity", b"TRANSFER-ENCODING: chunked",
    b"X: y\r\n Transfer-Encoding: chunked", b"Transfer-Encoding:\r\n chunked", b"transfer_encoding: chunked",
)  # fmt: skip
_LENGTHS = (
    *(b"Content-Length: %d",) * 6,
    b"Content-Length : %d", b"Content-Length: +%d", b"Content-Length: %d ", b"Content-Length:\t%d",
    b"Content-Length: 0%d", b"Content-Length: 0x%x", b"Content-Length: %d, 9", b"Content-Length: 9, %d",
    b"X: y\r\n Content-Length: %d", b"Content-Length:\r\n %d", b"content_length: %d", b"Content-Length: -%d",
    b"Content-Length: %d_0", b"Content-length:%d",
)  # fmt: skip
_SIZES = (*(b"%x",) * 8, b"0%x", b"+%x", b"0x%x", b"%x;a=b", b" %x", b"%x ", b"-%x", b"%xg")
_LAST_SIZES = (*(b"0",) * 8, b"00", b"0;a")
_TRAILERS = (*(b"",) * 6, b"X: y\r\n", b"Content-Length: 9\r\n")
PROXIES = [Proxy(*choices) for choices in itertools.product((False, True), repeat=len(Proxy._fields))]


class Requests:
    """Made by one seed. Each call has a number of its own."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._number = 0

    def connection(self) -> bytes:
        """The bytes of one client."""
        return b"".join(self._request(3) for _ in range(self._chance.randrange(1, _PER_CONNECTION)))

    def _request(self, depth: int) -> bytes:
        chance = self._chance
        self._number += 1
        body = b"\x80\x01\x00\x01\x00\x00\x00\x0d" + _NAME + struct.pack(">I", self._number) + b"\0"
        if depth and chance.random() < 0.3:
            hidden = self._request(depth - 1)
            body = chance.choice((body + hidden, hidden, body + b"\r\n" + hidden, hidden + body))
        in_chunks = chance.random() < 0.5
        lines = [b"Host: x"]
        if in_chunks or chance.random() < 0.2:
            lines += [self._coding() for _ in range(chance.choice((1, 1, 1, 1, 2)))]
        if not in_chunks or chance.random() < 0.2:
            length = len(body) if chance.random() < 0.8 else chance.choice((0, 26, len(body) + 1, len(body) - 1))
            lines += [self._length(length) for _ in range(chance.choice((1, 1, 1, 1, 2)))]
        chance.shuffle(lines)
        end = b"\r\n" if chance.random() < 0.9 else chance.choice((b"\n", b"\r", b"\r\r\n"))
        version = chance.choice((b"1.1",) * 8 + (b"1.0", b"2.0"))
        ends = [end if chance.random() < 0.5 else b"\r\n" for _ in range(len(lines) + 1)]
        head = b"".join(line + one for line, one in zip((b"POST / HTTP/" + version, *lines), ends, strict=True))
        head += chance.choice((b"\r\n", b"\r\n", b"\r\n", end))
        if chance.random() < 0.2:  # a changed call would have another answer, or none
            place = chance.randrange(len(head))
            changed = chance.choice((b"\n", b"\r", b"\0", b" ", b"\r\n", b"0", b":"))
            head = head[:place] + changed + head[place + 1 :]
        return head + (self._chunks(body) if in_chunks else body)

    def _coding(self) -> bytes:
        return self._chance.choice(_CODINGS)

    def _length(self, length: int) -> bytes:
        return self._chance.choice(_LENGTHS) % length

    def _chunks(self, body: bytes) -> bytes:
        chance, said = self._chance, b""
        end = b"\r\n" if chance.random() < 0.9 else chance.choice((b"\n", b"\r", b"", b"xx"))
        while body:
            length = chance.choice((1, 7, len(body), len(body)))
            piece, body = body[:length], body[length:]
            said += chance.choice(_SIZES) % len(piece) + b"\r\n" + piece + chance.choice((b"\r\n", b"\r\n", end))
        return said + chance.choice(_LAST_SIZES) + end + chance.choice(_TRAILERS) + end


_GOES_ON = 10


def requests(count: int, seed: int, loud: bool = True) -> int:
    """How many connections were served: `count`, or more until so many calls were carried out that something was
    tried. Of few connections few calls come through by chance."""
    chance = random.Random(seed)
    makes, gateway = Requests(chance), CannedGateway()
    carried_out = in_all = number = 0
    while number < count or (carried_out <= count / 10 and number < _GOES_ON * count):
        number += 1
        said = makes.connection()
        stream = MemoryStream(iter((said,)), chance.choice((0, 0, 7, 1)))
        gateway.serve(stream, (f"host{number}", 1))
        assert stream.closed
        received = b"".join(stream.received)
        assert b"internal error of the server" not in received, received[:300]
        calls = _ANSWER.findall(received)
        carried_out += len(calls)
        in_all += len(_CALL.findall(said))
        wrong = [proxy for proxy in PROXIES if not _agrees(proxy, said, calls)]
        assert not wrong, (
            f"seed {seed}: {said!r}: carried out {calls}, and {wrong[0]} read {list(wrong[0].bodies(said))}"
        )
    assert carried_out > count / 10, "or nothing was tried"
    if loud:
        seen = f"{carried_out} of {in_all} calls carried out, all seen by {len(PROXIES)} proxies"
        print(f"HTTP: {number} connections, {seen}")
    return number


def _agrees(proxy: Proxy, said: bytes, calls: list[bytes]) -> bool:
    """Whether this proxy saw the same calls, one after the other, as far as it would have handed requests on."""
    seen = [found[1] if (found := _CALL.match(body)) else b"" for body in proxy.bodies(said)]
    both = min(len(seen), len(calls))
    return seen[:both] == calls[:both]
