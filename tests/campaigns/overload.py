"""Clients that ask at a rate of their own, whatever the server answers: at half of its capacity, all of it, one and a
half times and twice as much. Beyond what may wait requests are refused, and what is answered must not become less.

The capacity is measured first, with clients that wait for their answers. Requests are gets of small rows, over more
connections than may wait (thrift.waiting_calls); a request that finds no free connection is lost, as one is whose
client has given up. Answers are counted by the seconds of the processor that the server had, so that other programs on
the machine change little, and so are refusals, which cost something, too.

Failed when at twice the capacity a second of the processor answers less than 0.8 of what it answered at best, or when
nothing is refused there although the queue is full: then it grows for ever.

    python -m tests.campaigns.overload [--seconds 5]
"""

import argparse
import select
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.harness.attackers import OTHER_ADDRESS, connect, raise_descriptors
from tests.harness.server import ServerProcess
from tests.harness.wire_mutations import FORMS, encode
from tests.harness.wire_trees import STRING, STRUCT, Node

WAITING = 200
CONNECTIONS = 600
CLOSED_CONNECTIONS = 50
RATES = (0.5, 1.0, 1.5, 2.0)
GOODPUT = 0.8


@dataclass
class Answers:
    """What came of one run. `processor_seconds`: of the server."""

    seconds: float
    processor_seconds: float
    asked: int
    good: int
    refused: int

    @property
    def rate(self) -> float:
        """Good answers for a second of the processor."""
        return self.good / max(self.processor_seconds, 0.01)

    def __str__(self) -> str:
        per_second = [f"{count / self.seconds:9.0f}" for count in (self.asked, self.good, self.refused)]
        return " ".join([*per_second, f"{self.rate:12.0f}", f"{self.processor_seconds / self.seconds:9.2f}"])


class Crowd:
    """Connections of another address, each with one request at a time."""

    def __init__(self, port: int, count: int) -> None:
        row = Node(STRUCT, [(1, Node(STRING, b"t")), (2, Node(STRING, b"row"))])
        self._call = encode(FORMS[1], b"getRow", row)
        self._clients = {one.fileno(): one for one in (connect(port, source=OTHER_ADDRESS) for _ in range(count))}
        self._poll = select.epoll()
        for number in self._clients:
            self._poll.register(number, select.EPOLLIN)

    def close(self) -> None:
        self._poll.close()
        for client in self._clients.values():
            client.close()

    def ask(self, seconds: float, rate: float | None, processor_seconds: "Processor") -> Answers:
        """`rate` requests a second; None: each connection asks as soon as it was answered. Waits for what is under way
        at the end, which is not counted."""
        free, arrived = list(self._clients), dict.fromkeys(self._clients, b"")
        before, began = processor_seconds(), time.monotonic()
        made = asked = good = refused = 0
        while (now := time.monotonic() - began) < seconds:
            due = len(free) if rate is None else int(now * rate) - made
            made += due
            for number in free[:due]:
                self._clients[number].sendall(self._call)
            asked += min(due, len(free))
            del free[:due]
            for number, _ in self._poll.poll(0.001):
                have = arrived[number] + self._clients[number].recv(1 << 16)
                assert have, "a client was cut off"
                if len(have) < 4 or len(have) < 4 + int.from_bytes(have[:4], "big"):
                    arrived[number] = have
                    continue
                arrived[number] = b""
                free.append(number)
                is_refused = b"CallQueueTooBig" in have
                refused += is_refused
                good += not is_refused
        answers = Answers(now, processor_seconds() - before, made if rate is not None else asked, good, refused)
        while len(free) < len(self._clients):
            for number, _ in self._poll.poll(1.0):
                have = arrived[number] + self._clients[number].recv(1 << 16)
                arrived[number] = have
                if len(have) >= 4 and len(have) >= 4 + int.from_bytes(have[:4], "big"):
                    arrived[number] = b""
                    free.append(number)
        return answers


class Processor:
    """The seconds that a process had of the processor."""

    def __init__(self, process: int) -> None:
        self._file = Path(f"/proc/{process}/schedstat")

    def __call__(self) -> float:
        return int(self._file.read_text().split()[0]) / 1e9


def campaign(folder: Path, seconds: float) -> None:
    """Raises AssertionError when less is answered, or nothing is refused."""
    raise_descriptors()
    with ServerProcess(folder / "data", ["log.durability=os", f"thrift.waiting_calls={WAITING}"]) as server:
        connection = server.connect()
        connection.create_table("t", {"f": {}})
        connection.table("t").put(b"row", {b"f:a": b"v" * 100})
        assert server.process is not None
        processor = Processor(server.process.pid)
        closed = Crowd(server.port, CLOSED_CONNECTIONS)
        closed.ask(1.0, None, processor)
        capacity = closed.ask(seconds, None, processor)
        closed.close()
        print(f"{'times':>9} {'asked/s':>9} {'good/s':>9} {'refused/s':>9} {'good/cpu s':>12} {'processor':>9}")
        print(f"{'capacity':>9} {capacity}", flush=True)
        crowd = Crowd(server.port, CONNECTIONS)
        found = {}
        for times in RATES:
            found[times] = crowd.ask(seconds, times * capacity.good / capacity.seconds, processor)
            print(f"{times:9g} {found[times]}", flush=True)
        crowd.close()
        assert connection.table("t").row(b"row")
        assert server.stop() == 0
    best = max(one.rate for one in (capacity, *found.values()))
    worst = found[RATES[-1]]
    assert worst.rate >= GOODPUT * best, f"{worst.rate:.0f} answers for a second of the processor, of {best:.0f}"
    assert worst.refused, "twice the capacity was asked for, and nothing was refused"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each rate")
    parser.add_argument("--seed", type=int, default=0, help="as of other campaigns; nothing here is random")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hbtable-overload-") as folder:
        campaign(Path(folder), arguments.seconds)
    print("what is beyond the capacity was refused, and the rest was answered")


if __name__ == "__main__":
    main()
