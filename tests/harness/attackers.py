"""Clients that mean harm or are broken, each kind in a process of its own so that they do not slow the measured one.

    python -m tests.harness.attackers KIND PORT COUNT

prints `ready ...` when under way, goes on until its input closes, then prints what it did as JSON.
"""

import contextlib
import json
import resource
import select
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

from tests.harness.wire_mutations import FORMS, encode
from tests.harness.wire_trees import I32, LIST, STRING, STRUCT, Node

Did = dict[str, object]
MESSAGE_LIMIT = 64 << 20


def raise_descriptors() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def stopped(seconds: float = 0.0) -> bool:
    """Whether our input was closed, after waiting so long for it."""
    return bool(select.select([sys.stdin], [], [], max(seconds, 0.0))[0])


OTHER_ADDRESS = "127.0.0.2"
"""Of attackers that are to be told apart from the healthy client; on Linux all of 127.0.0.0/8 is this machine."""


def connect(port: int, blocking: bool = True, source: str = "127.0.0.1") -> socket.socket:
    client = socket.socket()
    client.bind((source, 0))
    # A reset at close leaves no port in TIME_WAIT: there are only 28,000 of them.
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.settimeout(30)
    client.connect(("127.0.0.1", port))
    client.setblocking(blocking)
    return client


def say_ready(**did: object) -> None:
    sys.stdout.write(f"ready {json.dumps(did)}\n")
    sys.stdout.flush()


def _endless(number: int) -> bytes:
    """The beginning of a call that would take an hour at a byte a second."""
    value = b"v" * 4000
    call = Node(STRUCT, [(1, Node(STRING, b"t")), (2, Node(STRING, value)), (3, Node(LIST, [], (STRUCT, 0)))])
    kinds = [encode(form, b"mutateRow", call) for form in FORMS]
    kinds.append(b"POST / HTTP/1.1\r\nX: " + b"x" * 4000)
    return kinds[number % len(kinds)]


def drip(port: int, count: int) -> Did:
    """One byte a second on each of `count` connections."""
    clients = [connect(port, blocking=False) for _ in range(count)]
    texts = [_endless(number) for number in range(5)]
    say_ready(connections=count)
    began, sent, cut, second = time.monotonic(), 0, set[int](), 0
    while True:
        for number, client in enumerate(clients):
            if number % 5 == 0 and stopped(began + second + number / count - time.monotonic()):
                return {"bytes": sent, "cut": len(cut), "seconds": round(time.monotonic() - began, 1)}
            if number in cut:
                continue
            try:
                sent += client.send(texts[number % 5][second % 4000 : second % 4000 + 1])
            except BlockingIOError:
                pass
            except OSError:
                cut.add(number)
        second += 1


def bursts(port: int, count: int) -> Did:
    """A byte on each of `count` connections, all at once, twice a second; a third of them HTTP."""
    clients = [connect(port, blocking=False, source=OTHER_ADDRESS) for _ in range(count)]
    texts = [_endless(number) for number in (0, 1, 4)]
    say_ready(connections=count)
    sent, cut = 0, set[int]()
    while not stopped(0.5):
        for number, client in enumerate(clients):
            if number in cut:
                continue
            try:
                sent += client.send(texts[number % 3][sent // count % 4000 : sent // count % 4000 + 1])
            except BlockingIOError:
                pass
            except OSError:
                cut.add(number)
    return {"bytes": sent, "cut": len(cut)}


def churn(port: int, count: int) -> Did:
    """`count` connections a second, closed at once: some after a byte, some after a whole call."""
    call = encode(FORMS[0], b"getTableNames", Node(STRUCT, []))
    say_ready(connections_a_second=count)
    began, made, failed = time.monotonic(), 0, 0
    while not stopped(began + made / count - time.monotonic()):
        made += 1
        try:
            client = connect(port)
            if made % 3:
                client.send(call if made % 3 == 1 else b"\x80")
            client.close()
        except OSError:
            failed += 1
    seconds = time.monotonic() - began
    return {"connections": made, "failed": failed, "a_second": round(made / seconds)}


def half_tls(port: int, count: int) -> Did:
    """TLS clients that stop in the middle of their hello."""
    clients = []
    hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
    for number in range(count):
        client = connect(port)
        client.send(hello[: 1 + number % len(hello)])
        clients.append(client)
    say_ready(connections=count)
    while not stopped(1.0):
        pass
    return {"connections": len(clients)}


def scanners(port: int, count: int) -> Did:
    """`count` scanners opened, as fast as they are answered, and left."""
    arguments = Node(STRUCT, [(1, Node(STRING, b"t")), (2, Node(STRING, b"row")), (3, Node(LIST, [], (STRING, 0)))])
    call = encode(FORMS[0], b"scannerOpen", arguments)
    client = connect(port)
    say_ready(scanners=count)
    began, opened = time.monotonic(), 0
    ids: list[int] = []
    while opened < count:
        ahead = min(20, count - opened)
        client.sendall(call * ahead)
        data = b""
        while len(data) < ahead * 31:
            data += client.recv(65536)
        # head of 23 bytes (version, name, number), then 08 0000 id, 00
        ids += [struct.unpack_from(">i", data, place * 31 + 26)[0] for place in range(ahead)]
        opened += ahead
    seconds = time.monotonic() - began
    while not stopped(1.0):
        pass
    return {"opened": opened, "a_second": round(opened / seconds), "first": ids[0], "last": ids[-1]}


def oversized(port: int, count: int) -> Did:
    """Frames said to be 2 GiB, messages over the limit sent all the same, and large ones left unfinished."""
    head = encode(FORMS[0], b"getRow", Node(STRUCT, []))[:-1] + b"\x0b\x00\x02"
    unfinished = head + struct.pack(">I", MESSAGE_LIMIT - 1000)
    too_large = head + struct.pack(">I", 2**31 - 1)
    block = bytes(1 << 20)

    def send(client: socket.socket, number: int) -> None:
        if number % 3 == 0:
            client.sendall(struct.pack(">I", 2**31 - 1) + head)
        client.sendall(too_large if number % 3 == 1 else unfinished)
        client.settimeout(0.5)
        for _ in range(30):
            client.sendall(block)

    return _held(port, count, send, "127.0.0.1")


def lazy(port: int, count: int) -> Did:
    """Asks for large rows ten times over, on `count` connections, and never reads."""
    arguments = Node(STRUCT, [(1, Node(STRING, b"large")), (2, Node(STRING, b"row"))])
    clients = []
    for _ in range(count):
        client = connect(port)
        client.send(encode(FORMS[0], b"getRow", arguments) * 10)
        clients.append(client)
        if stopped(0.02):
            break
    say_ready(connections=count)
    while not stopped(1.0):
        pass
    return {"connections": len(clients)}


def mute(port: int, count: int) -> Did:
    """Connects `count` times and says nothing, whatever happens: until descriptors end on one side."""
    clients, failed = [], 0
    for _ in range(count):
        try:
            clients.append(connect(port))
        except OSError:
            failed += 1
    say_ready(connections=len(clients), failed=failed)
    while not stopped(1.0):
        pass
    return {"connections": len(clients), "failed": failed}


def _again_and_again(port: int, count: int, first: bytes, follow: Callable[[bytes], bytes]) -> Did:
    """`count` connections from another address that talk in frames: `first`, and on each answer what `follow` makes of
    it, at once. How many were refused is counted by the class that the refusal names."""
    clients = [connect(port, source=OTHER_ADDRESS) for _ in range(count)]
    poll = select.epoll()
    by_number = {client.fileno(): client for client in clients}
    arrived = {client.fileno(): bytearray() for client in clients}
    for client in clients:
        client.sendall(first)
        poll.register(client, select.EPOLLIN)
    say_ready(connections=count)
    began, answers, refused, cut = time.monotonic(), 0, 0, 0
    while not stopped():
        for which, _ in poll.poll(0.1):
            try:
                piece = by_number[which].recv(1 << 20)
            except ConnectionResetError:
                piece = b""
            if not piece:
                poll.unregister(which)
                cut += 1
                continue
            have = arrived[which]
            have += piece
            if len(have) < 4 or len(have) < 4 + int.from_bytes(have[:4], "big"):
                continue
            answers += 1
            refused += b"CallQueueTooBig" in have
            by_number[which].sendall(follow(bytes(have)))
            have.clear()
    seconds = time.monotonic() - began
    return {
        "answers_a_second": round(answers / seconds),
        "refused_a_second": round(refused / seconds),
        "cut": cut,
    }


def greedy(port: int, count: int) -> Did:
    """Gets of small rows."""
    arguments = Node(STRUCT, [(1, Node(STRING, b"t")), (2, Node(STRING, b"row1"))])
    call = encode(FORMS[1], b"getRow", arguments)
    return _again_and_again(port, count, call, lambda answer: call)


def batches(port: int, count: int) -> Did:
    """Gets of 500 rows in one call."""
    rows = [Node(STRING, b"%06d" % number) for number in range(500)]
    arguments = Node(STRUCT, [(1, Node(STRING, b"many")), (2, Node(LIST, rows, (STRING, 0)))])
    call = encode(FORMS[1], b"getRows", arguments)
    return _again_and_again(port, count, call, lambda answer: call)


def crowd(port: int, count: int) -> Did:
    """Gets of a row of 10 MB in small parts, all of them at once."""
    arguments = Node(STRUCT, [(1, Node(STRING, b"large")), (2, Node(STRING, b"parts"))])
    call = encode(FORMS[1], b"getRow", arguments)
    return _again_and_again(port, count, call, lambda answer: call)


def deserts(port: int, count: int) -> Did:
    """Scans of a whole table whose filter lets no row through."""
    return _scan_again_and_again(port, count, Node(STRUCT, [(6, Node(STRING, b"ValueFilter(=, 'binary:nothing')"))]))


def scans(port: int, count: int) -> Did:
    """Scans of a whole table, a thousand rows at a time."""
    return _scan_again_and_again(port, count, Node(STRUCT, []))


def _scan_again_and_again(port: int, count: int, scan: Node) -> Did:
    opened = encode(FORMS[1], b"scannerOpenWithScan", Node(STRUCT, [(1, Node(STRING, b"many")), (2, scan)]))

    def follow(answer: bytes) -> bytes:
        if b"scannerOpenWithScan" not in answer or b"Exception" in answer:
            return opened
        number = struct.unpack(">i", answer[-5:-1])[0]
        wanted = Node(STRUCT, [(1, Node(I32, number)), (2, Node(I32, 1000))])
        return encode(FORMS[1], b"scannerGetList", wanted)

    return _again_and_again(port, count, opened, follow)


def _held(port: int, count: int, send: Callable[[socket.socket, int], None], source: str = OTHER_ADDRESS) -> Did:
    """`count` connections, on each of which `send` sends what it can; held to the end."""
    clients = []
    for number in range(count):
        client = connect(port, source=source)
        with contextlib.suppress(OSError):
            send(client, number)
        clients.append(client)
        if number == 0:
            say_ready(connections=count)
        if stopped():
            break
    while not stopped(1.0):
        pass
    return {"connections": len(clients)}


def half_http(port: int, count: int) -> Did:
    """Of `count` connections to the HTTP port every other one sends half of a request, and the others ask for /metrics
    and read nothing."""

    def ask(client: socket.socket, number: int) -> None:
        client.sendall(b"GET /metrics HTTP/1.1\r\nHost: h\r\n" + (b"" if number % 2 else b"\r\n"))

    return _held(port, count, ask)


def half_calls(port: int, count: int) -> Did:
    """To the port between roles: `count` calls of 60 MB, each without its last byte."""
    block = bytes(1 << 20)

    def call(client: socket.socket, number: int) -> None:
        client.sendall(struct.pack(">I", 60 << 20))
        client.settimeout(0.5)
        for _ in range(59):
            client.sendall(block)

    return _held(port, count, call)


def _reconnecting(port: int, count: int, kinds: list[bytes]) -> Did:
    """`count` connections, on each of which one of these beginnings of a call is sent; who is cut off or answered, or
    has sent all, comes again. `longest`: the seconds that one was kept for."""
    say_ready(connections=count)
    made, cut, longest = 0, 0, 0.0
    while not stopped():
        clients = [connect(port, source=OTHER_ADDRESS) for _ in range(count)]
        for client in clients:
            if stopped():
                break
            made += 1
            began = time.monotonic()
            client.settimeout(1.0)
            with contextlib.suppress(TimeoutError):
                try:
                    client.sendall(kinds[made % len(kinds)])
                    client.recv(65536)
                except OSError as error:
                    if isinstance(error, TimeoutError):
                        raise
                    cut += 1
            longest = max(longest, time.monotonic() - began)
            client.close()
    return {"connections": made, "cut": cut, "longest": round(longest, 2)}


def chunks(port: int, count: int) -> Did:
    """HTTP requests of chunks without end: of a byte each, of 60 KB each, of a size that is never whole."""
    head = b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
    small, large = b"1\r\nx\r\n" * 400_000, (b"ea60\r\n" + bytes(60_000) + b"\r\n") * 1200
    return _reconnecting(port, count, [head + small, head + large, head + b"0" * (4 << 20)])


def varints(port: int, count: int) -> Did:
    """Numbers of the compact protocol that go on for a megabyte: a length, a time, and in a frame."""
    endless = b"\x80" * (1 << 20)
    call = b"\x82\x21\x01\x06getRow"
    kinds = [b"\x82\x21" + endless, call + b"\x18" + endless, call + b"\x16" + endless, call + b"\x19" + endless]
    return _reconnecting(port, count, kinds + [struct.pack(">I", len(one)) + one for one in kinds])


def nested(port: int, count: int) -> Did:
    """Structs in lists in maps in structs, 16 MB deep, in a field that no call has, in both protocols."""
    binary = encode(FORMS[0], b"getRow", Node(STRUCT, []))[:-1]
    compact = b"\x82\x21\x01\x06getRow"
    structs, lists = b"\x0c\x00\x63" * 5_000_000, b"\x0f\x00\x63" + b"\x0f\x00\x00\x00\x01" * 3_000_000
    maps = b"\x0d\x00\x63" + b"\x08\x0d\x00\x00\x00\x01\x00\x00\x00\x07" * 1_500_000
    mixed = b"\x0c\x00\x63\x0f\x00\x01\x0d\x00\x00\x00\x01\x08\x0c\x00\x00\x00\x01\x00\x00\x00\x07" * 700_000
    kinds = [binary + structs, binary + lists, binary + maps, binary + mixed]
    kinds += [compact + b"\x1c" * 16_000_000, compact + b"\x19" * 16_000_000, compact + b"\x19\x1c" * 8_000_000]
    return _reconnecting(port, count, kinds)


KINDS: dict[str, Callable[[int, int], Did]] = {
    "drip": drip,
    "bursts": bursts,
    "churn": churn,
    "half_tls": half_tls,
    "scanners": scanners,
    "oversized": oversized,
    "lazy": lazy,
    "mute": mute,
    "greedy": greedy,
    "overload": greedy,
    "batches": batches,
    "crowd": crowd,
    "deserts": deserts,
    "scans": scans,
    "half_http": half_http,
    "half_calls": half_calls,
    "chunks": chunks,
    "varints": varints,
    "nested": nested,
}


@contextlib.contextmanager
def attack(
    kind: str, port: int, count: float, did: Did, program: str = "tests.harness.attackers", end_seconds: float = 60
) -> Iterator[None]:
    """Runs it beside what is in the block; `did` gets what it says at the end, which comes within `end_seconds`."""
    process = subprocess.Popen(
        [sys.executable, "-m", program, kind, str(port), str(count)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line.startswith("ready"), f"{kind}: {line}"
        yield
        process.stdin.close()
        did.update(json.loads(process.stdout.readline()))
    finally:
        process.stdin.close()
        process.stdout.close()
        try:
            code = process.wait(end_seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
    assert code == 0, f"the {kind} clients failed"


if __name__ == "__main__":
    raise_descriptors()
    sys.stdout.write(json.dumps(KINDS[sys.argv[1]](int(sys.argv[2]), int(sys.argv[3]))) + "\n")
