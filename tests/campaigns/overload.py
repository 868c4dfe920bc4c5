"""Clients that ask at a rate of their own, whatever the server answers: at half of its capacity, all of it, one and a
half times and twice as much. Beyond what may wait requests are refused, and what is answered must not become less.

The capacity is measured first, with clients that wait for their answers. Requests are gets of small rows, over more
connections than may wait (thrift.waiting_calls); a request that finds no free connection is lost, as one is whose
client has given up. Answers are counted by the seconds of the processor that the server had, so that other programs on
the machine change little, and so are refusals, which cost something, too.

There is no verdict when the server was not busy at twice its capacity, because the clients here had not enough of the
processor to ask for it: a server that waits for requests answers fewer for a second of the processor, and is sound.
Busy is who computes or waits for a processor.

Failed when at twice the capacity a second of the processor answers less than 0.8 of what it answered at best, or when
nothing is refused there although the queue is full: then it grows for ever.

    python -m tests.campaigns.overload [--seconds 5]
"""

import argparse
import select
import statistics
import sys
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
ROUNDS = 5
"""All rates take turns, since what others do on the machine changes within seconds. The median counts."""
GOODPUT = 0.8
BUSY = 0.9
"""The part of the time in which the server has to be busy at twice its capacity."""


@dataclass
class Answers:
    """What came of one run. `processor_seconds`: of the server's hub, and `busy_seconds` also those in which it waited
    for a processor that others had."""

    seconds: float
    processor_seconds: float
    busy_seconds: float
    asked: int
    good: int
    refused: int

    @property
    def rate(self) -> float:
        """Good answers for a second of the processor."""
        return self.good / max(self.processor_seconds, 0.01)

    @property
    def busy(self) -> float:
        """The part of the time in which the server had something to do."""
        return self.busy_seconds / self.seconds

    def __str__(self) -> str:
        per_second = [f"{count / self.seconds:9.0f}" for count in (self.asked, self.good, self.refused)]
        return " ".join(
            [*per_second, f"{self.rate:12.0f}", f"{self.processor_seconds / self.seconds:9.2f}", f"{self.busy:9.2f}"]
        )


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
        used, busy = (after - since for after, since in zip(processor_seconds(), before, strict=True))
        answers = Answers(now, used, busy, made if rate is not None else asked, good, refused)
        while len(free) < len(self._clients):
            for number, _ in self._poll.poll(1.0):
                have = arrived[number] + self._clients[number].recv(1 << 16)
                arrived[number] = have
                if len(have) >= 4 and len(have) >= 4 + int.from_bytes(have[:4], "big"):
                    arrived[number] = b""
                    free.append(number)
        return answers


class Processor:
    """The seconds that a process's first thread had of the processor, and those in which it had it or waited for it."""

    def __init__(self, process: int) -> None:
        self._file = Path(f"/proc/{process}/schedstat")

    def __call__(self) -> tuple[float, float]:
        had, waited, _ = map(int, self._file.read_text().split())
        return had / 1e9, (had + waited) / 1e9


def campaign(folder: Path, seconds: float) -> None:
    """Raises AssertionError when less is answered, or nothing is refused; SystemExit without a verdict."""
    raise_descriptors()
    with ServerProcess(folder / "data", ["log.durability=os", f"thrift.waiting_calls={WAITING}"]) as server:
        connection = server.connect()
        connection.create_table("t", {"f": {}})
        connection.table("t").put(b"row", {b"f:a": b"v" * 100})
        assert server.process is not None
        processor = Processor(server.process.pid)
        closed, crowd = Crowd(server.port, CLOSED_CONNECTIONS), Crowd(server.port, CONNECTIONS)
        closed.ask(1.0, None, processor)
        found: dict[float, list[Answers]] = {times: [] for times in (0.0, *RATES)}
        heads = ("times", "asked/s", "good/s", "refused/s", "good/cpu s", "processor", "busy")
        print(" ".join(f"{head:>{12 if head == 'good/cpu s' else 9}}" for head in heads))
        for _ in range(ROUNDS):
            capacity = closed.ask(seconds / ROUNDS, None, processor)
            found[0.0].append(capacity)
            print(f"{'capacity':>9} {capacity}", flush=True)
            for times in RATES:
                found[times].append(crowd.ask(seconds / ROUNDS, times * capacity.good / capacity.seconds, processor))
                print(f"{times:9g} {found[times][-1]}", flush=True)
        closed.close()
        crowd.close()
        assert connection.table("t").row(b"row")
        assert server.stop() == 0
    _judge(found)


def _judge(found: dict[float, list[Answers]]) -> None:
    rates = {times: statistics.median(one.rate for one in answers) for times, answers in found.items()}
    worst = found[RATES[-1]]
    busy = statistics.median(one.busy for one in worst)
    if busy < BUSY:
        sys.exit(f"no verdict: at twice its capacity the server was busy for {busy:.2f} of the time, less than {BUSY}")
    best, least = max(rates.values()), rates[RATES[-1]]
    assert least >= GOODPUT * best, f"{least:.0f} answers for a second of the processor, of {best:.0f}"
    assert any(one.refused for one in worst), "twice the capacity was asked for, and nothing was refused"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each rate, in all rounds")
    parser.add_argument("--seed", type=int, default=0, help="as of other campaigns; nothing here is random")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hbtable-overload-") as folder:
        campaign(Path(folder), arguments.seconds)
    print("what is beyond the capacity was refused, and the rest was answered")


if __name__ == "__main__":
    main()
