"""How long the hub stands for each call: the processor's time of its thread between two switches, for every call of
every service with hostile arguments, one after the other on a real server.

    thrift1, thrift2, admin   each list and map of each method's arguments, very long (tests/harness/wide_arguments.py)
    roles                     calls as tablet servers, masters and gateways make them of each other, likewise
    rows                      calls about rows of very many, or very large, cells, deserts, filters, loads with flushes
                              and compactions, tables of 5,000 tablets (tests/harness/wide_calls.py)
    pieces                    messages of 60 MB that arrive in pieces, whole and broken off

Printed for each call whose longest stretch is beyond half of the bound: its length and where the task was. A stretch
counts when it comes again: of several tries the shortest of the longest ones is taken, and the bound is scaled by what
a million calls of a function take on this machine while the server works, so that neither a slow machine nor a busy one
is taken for a fault of the program.

    python -m tests.campaigns.hub_stretches [--count 100000] [--scale 1.0] [--only thrift2,rows] [--calls put_rows]
"""

import argparse
import json
import socket
import struct
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import happybase  # noqa: F401 -- makes the next module
from Hbase_thrift import BatchMutation, Mutation

from hbtable.errors import HbtableError
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import DELETE_COLUMN, PUT, RowMutation
from hbtable.model.read import ALL_VERSIONS, EVERYTHING, ReadSpec, ScanRequest
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.rpc.thrift_transport import RpcTransport
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.shell.connection import ShellConnection
from tests.harness import wide_calls
from tests.harness.server import ServerProcess
from tests.harness.wide_arguments import OTHER, ROW, TABLE
from tests.harness.wide_arguments import wide_calls as argument_calls
from tests.harness.wire_mutations import FORMS, encode
from tests.harness.wire_trees import LIST, STRING, STRUCT, Node

BOUND_SECONDS = 0.010
FUNCTION_CALLS = 1_000_000
USUAL_SECONDS = 0.060
"""Of so many calls of a function on the machines that this was written on, when nothing else runs."""
TRIES = 3
PUT_CELLS = 20_000
_CHANGES = ("put", "delete", "mutate", "increment", "append", "check", "atomic", "adminMutate", "adminCheck")
"""Methods that begin so come last: the others are about what there is before."""


@dataclass(frozen=True)
class Longest:
    """The longest stretch of a call, in seconds of the processor, and where the task was at its end."""

    service: str
    call: str
    seconds: float
    where: str
    answer: str

    def __str__(self) -> str:
        return f"{self.service:>8} {self.call:45.45} {self.seconds * 1e3:8.1f}  {self.answer:30.30} {self.where}"


HEAD = f"{'service':>8} {'call':45} {'ms':>8}  {'answer':30} where"


@dataclass(frozen=True)
class HostileCall:
    """`carry_out` gives what became of it, for people."""

    service: str
    name: str
    carry_out: Callable[[], str]


class Sweep:
    """One server, and what it is asked. `count`: how long the lists are, `scale` multiplies the numbers of `rows`."""

    def __init__(self, folder: Path, count: int, scale: float) -> None:
        self._notes = folder / "notes"
        self._count = count
        self._scale = scale
        program = ("tests.harness.traced_server", str(self._notes))
        self.server = ServerProcess(folder / "data", ["log.durability=os"], program=program)
        self.found: list[Longest] = []

    def run(self, only: Sequence[str], wanted: str, loud: bool = True) -> list[Longest]:
        """The longest stretch of each call of the services in `only` whose name has `wanted` in it."""
        with self.server:
            self._connection: Any = self.server.connect()
            self._prepare()
            if loud:
                print(HEAD, flush=True)
            for call in self._calls(only):
                if wanted in call.name:
                    self.found.append(self._measured(call))
                    if loud and self.found[-1].seconds > BOUND_SECONDS / 2:
                        print(self.found[-1], flush=True)
            self._connection.close()
            assert self.server.stop(600) == 0
        return self.found

    def _measured(self, call: HostileCall) -> Longest:
        """Of several tries the shortest, as far as any is beyond the bound: a stretch that is there comes each time."""
        shortest: Longest | None = None
        for _ in range(TRIES):
            self._notes.write_text("")
            answer = call.carry_out()
            self._ping()
            stretches = [json.loads(line) for line in self._notes.read_text().splitlines()]
            longest: Any = max(stretches, key=lambda each: each["seconds"], default={"seconds": 0.0, "where": []})
            where = " < ".join(longest["where"][::-1][:4])
            found = Longest(call.service, call.name, longest["seconds"], where, answer)
            if shortest is None or found.seconds < shortest.seconds:
                shortest = found
            if shortest.seconds <= BOUND_SECONDS / 2:
                break
        assert shortest is not None
        return shortest

    def _ping(self) -> None:
        """What the last call left is freed, and was noted, when others are answered."""
        for _ in range(3):
            self._connection.tables()
            time.sleep(0.02)

    # ------------------------------------------------------------ what there is

    def _prepare(self) -> None:
        connection, count = self._connection, self._count
        for name in (TABLE, OTHER):
            connection.create_table(name, {"f": {"max_versions": 1}})
        connection.create_table(wide_calls.TABLE, {"f": {"max_versions": 1}, "g": {"max_versions": 1}})
        table = connection.table(TABLE)
        for first in range(0, count, PUT_CELLS):
            names = range(first, min(first + PUT_CELLS, count))
            table.put(ROW, {b"f:%07d" % number: b"v" for number in names})
            cell = [Mutation(isDelete=False, column=b"f:0000000", value=b"v")]
            rows = [BatchMutation(row=b"%s%07d" % (ROW, number), mutations=cell) for number in names if number]
            connection.client.mutateRows(TABLE, rows, {})

    # ------------------------------------------------------------ calls

    def _calls(self, only: Sequence[str]) -> Iterator[HostileCall]:
        found = sorted(argument_calls(self._count), key=lambda call: call.method.startswith(_CHANGES))
        for one in found:
            if one.service in only and one.words != "nothing":
                name = f"{one.method}, many of {one.words}"
                if name != "adminCreateTable, many of splitRows":  # `rows` makes 5,000 tablets, and drops them
                    yield HostileCall(one.service, name, lambda one=one: self._sent(one))  # type: ignore[misc]
        if "roles" in only:
            yield from self._between_roles()
        if "rows" in only:
            for name, wide in wide_calls.CALLS.items():
                yield HostileCall("rows", name, lambda wide=wide: self._wide(wide))  # type: ignore[misc]
        if "pieces" in only:
            for framed in (False, True):
                for piece in (1 << 20, 60 << 20):
                    for is_whole in (True, False):
                        name = f"60 MB{' framed' * framed}, by {piece >> 10} KiB{'' if is_whole else ', broken off'}"
                        yield HostileCall(
                            "pieces",
                            name,
                            lambda f=framed, p=piece, w=is_whole: self._in_pieces(f, p, w),  # type: ignore[misc]
                        )

    def _sent(self, call: Any) -> str:
        return _exchange(self.server.port, [encode(FORMS[1], call.method.encode(), call.arguments())])

    def _wide(self, wide: wide_calls.WideCall) -> str:
        with closing(wide_calls.connect(self.server.port)) as connection:
            wide.setup(connection, self._scale)
            self._ping()
            self._notes.write_text("")
            return wide_calls.carry_out(connection, wide.name, self._scale)

    def _in_pieces(self, framed: bool, piece: int, is_whole: bool) -> str:
        """A put of six cells, of 60 MB together."""
        cells = [
            Node(STRUCT, [(2, Node(STRING, b"f:%d" % number)), (3, Node(STRING, bytes(9_900_000)))])
            for number in range(6)
        ]
        arguments = [(1, Node(STRING, TABLE)), (2, Node(STRING, b"pieces")), (3, Node(LIST, cells, (STRUCT, 0)))]
        message = encode(FORMS[1 if framed else 0], b"mutateRow", Node(STRUCT, arguments))
        if not is_whole:
            message = message[:-1000]
        pieces = [message[first : first + piece] for first in range(0, len(message), piece)]
        return _exchange(self.server.port, pieces, framed, is_whole)

    # ------------------------------------------------------------ calls between roles

    def _between_roles(self) -> Iterator[HostileCall]:
        port = int(self._notes.with_suffix(".port").read_text())
        tablet_id = self._tablet_id()
        count = self._count
        names = [b"%07d" % number for number in range(count)]
        rows = [b"%s%07d" % (ROW, number) for number in range(count)]
        columns = {b"f": frozenset(names)}
        everything = ScanRequest(max_rows=1 << 20, max_bytes=64 << 20)
        cells = [(PUT, b"f", name, SERVER_TIME, b"v") for name in names]
        gone = [(DELETE_COLUMN, b"f", name, SERVER_TIME, b"") for name in names]

        def call(name: str, ask: Callable[[Any], object]) -> HostileCall:
            return HostileCall("roles", name, lambda: self._asked(port, ask))

        yield call("read_rows, many rows", lambda peer: peer.read_rows(tablet_id, rows, EVERYTHING))
        yield call("read_rows, a wide row", lambda peer: peer.read_rows(tablet_id, [ROW], EVERYTHING))
        yield call("read_rows, many columns", lambda peer: peer.read_rows(tablet_id, [ROW], ReadSpec(columns)))
        for name, spec in (
            ("everything", EVERYTHING),
            ("raw", ReadSpec(raw=True, max_versions=ALL_VERSIONS)),
            ("a filter", ReadSpec(filter=b"ValueFilter(=, 'binary:no')")),
            ("many columns", ReadSpec(columns)),
        ):
            for is_reversed in (False, True):
                request = ScanRequest(everything.range, spec, is_reversed, 0, 1 << 20, 64 << 20)
                words = f"scan, {name}{', reversed' * is_reversed}"
                yield call(words, lambda peer, request=request: peer.scan(tablet_id, request))  # type: ignore[misc]
        yield call("mutate, many rows", lambda peer: peer.mutate(tablet_id, [RowMutation(r, cells[:1]) for r in rows]))
        yield call("mutate, a wide row", lambda peer: peer.mutate(tablet_id, [RowMutation(ROW, cells)]))
        yield call("append", lambda p: p.append(tablet_id, b"a", [(b"f", name, b"v") for name in names], 0))
        yield call(
            "check_and_mutate",
            lambda peer: peer.check_and_mutate(tablet_id, b"c", b"f", b"q", None, RowMutation(b"c", cells)),
        )
        yield call("mutate, deletes", lambda peer: peer.mutate(tablet_id, [RowMutation(ROW, gone)]))
        yield HostileCall("roles", "create_table, 5,000 tablets", lambda: self._created(port))

    def _tablet_id(self) -> int:
        with closing(ShellConnection(f"127.0.0.1:{self.server.port}")) as shell:
            [tablet] = shell.admin("adminTablets", TABLE)
        return int(tablet.tablet_id)

    def _asked(self, port: int, ask: Callable[[Any], object]) -> str:
        transport = _transport(port)
        try:
            return _size(ask(transport.tablet_service("here")))
        except HbtableError as error:
            return type(error).__name__
        finally:
            transport.close()

    def _created(self, port: int) -> str:
        transport = _transport(port)
        schema = TableSchema(b"many", {b"f": FamilySchema(b"f")})
        count = int(5000 * self._scale)
        try:
            transport.master().create_table(schema, [b"%06d" % number for number in range(1, count)])
            transport.master().disable_table(b"many")
            transport.master().delete_table(b"many")
        finally:
            transport.close()
        return f"{count} tablets"


def _transport(port: int) -> RpcTransport:
    address = f"127.0.0.1:{port}"
    return RpcTransport(GeventRuntime(), lambda name: address, lambda: address)


def _size(answer: object) -> str:
    return f"{len(answer)}" if isinstance(answer, list) else type(answer).__name__


def _exchange(port: int, pieces: Sequence[bytes], framed: bool = True, is_whole: bool = True) -> str:
    """Sends a call, and takes its whole answer; of one that is not framed its beginning."""
    with socket.create_connection(("127.0.0.1", port), 600) as client, suppress(ConnectionError):
        for piece in pieces:
            client.sendall(piece)
        if not is_whole:
            return "broken off"
        have = bytearray()
        while len(have) < 4 or (framed and len(have) < 4 + struct.unpack(">I", have[:4])[0]):
            piece = client.recv(1 << 20)
            if not piece:
                return "closed"
            have += piece
        return f"{len(have)} bytes" + (", refused" if b"Exception" in have[:400] else "")
    return "reset"


def slowness() -> float:
    """How much longer a call of a function takes at the moment than usual; 1 at the least."""

    def nothing() -> None:
        return

    began = time.thread_time()
    for _ in range(FUNCTION_CALLS):
        nothing()
    return max(1.0, (time.thread_time() - began) / USUAL_SECONDS)


def campaign(
    folder: Path, count: int, scale: float, only: Sequence[str], wanted: str = "", loud: bool = True
) -> list[str]:
    """What is beyond the bound."""
    slow = slowness()
    found = Sweep(folder, count, scale).run(only, wanted, loud)
    slow = max(slow, slowness())
    assert found, "no call was measured"
    if loud:
        print(
            f"{len(found)} calls, the longest stretch {max(one.seconds for one in found) * 1e3:.1f} ms; "
            f"slow by {slow:.2f}"
        )
    return [str(one) for one in found if one.seconds > BOUND_SECONDS * slow]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--scale", type=float, default=1.0, help="of all numbers of cells and rows of `rows`")
    parser.add_argument("--only", default="thrift1,thrift2,admin,roles,rows,pieces")
    parser.add_argument("--calls", default="", help="those whose name holds this text")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hbtable-stretches-") as folder:
        only = arguments.only.split(",")
        wrong = campaign(Path(folder), arguments.count, arguments.scale, only, arguments.calls)
    print("\n".join(["", *wrong]))
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
