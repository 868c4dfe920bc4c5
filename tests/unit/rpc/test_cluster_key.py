"""Only who has the cluster's key calls a role, and a role calls only who has it: over loopback, against every kind of
stranger."""

import logging
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final

import pytest
from gevent.socket import create_connection

from hbtable.access.user import User, acting_as
from hbtable.errors import Corruption, HbtableError, StaleLocation, Unavailable
from hbtable.model.mutation import PUT, RowMutation
from hbtable.rpc import connections, proof
from hbtable.rpc.admission import Admission
from hbtable.rpc.codec.calls import BY_WIRE_NAME, METHODS, USERS_METHODS, Role, RpcMethod
from hbtable.rpc.codec.errors import RpcError
from hbtable.rpc.connections import RpcOptions
from hbtable.rpc.handshake import HELLO, OURS, PeerVersion, hello_reply, hello_request, read_hello_reply
from hbtable.rpc.local import LocalTransport
from hbtable.rpc.proof import PROVE, ClusterKey, Hellos
from hbtable.rpc.thrift_server import RpcServer, RpcServerOptions
from hbtable.rpc.thrift_transport import RpcTransport
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.runtime.network import sockets
from hbtable.runtime.network.sockets import serve
from hbtable.thrift import frames
from hbtable.thrift.frame_tags import FrameTags
from hbtable.thrift.frames import Frames, with_checksum
from tests.harness.delegating_fake import DelegatingFake

HOST: Final = "127.0.0.1"
LONG: Final = RpcOptions(
    connect_seconds=60, read_seconds=60, write_seconds=60, census_seconds=60, order_seconds=60, load_seconds=60
)
CLUSTER: Final = "0123456789abcdef0123456789abcdef"
KEY, OTHER = b"k" * 32, b"o" * 32
MUTATION: Final = RowMutation(b"r", [(PUT, b"f", b"q", 5, b"v")])


class Recorder:
    """All three services: remembers the names of the calls."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*arguments: object) -> object:
            self.calls.append(name)
            return None

        return call


def key(*keys: bytes, required: bool = True, cluster: str = CLUSTER) -> ClusterKey:
    return ClusterKey(keys, cluster, required)


class Ports:
    """Makes servers with a key, and callers of them."""

    def __init__(self) -> None:
        self.runtime = GeventRuntime()
        self.role = Recorder()
        self._made: list[Any] = []

    def serve(self, has: ClusterKey | None, options: RpcServerOptions | None = None) -> str:
        roles = LocalTransport()
        roles.register_server("s1", self.role, self.role)  # type: ignore[arg-type]
        roles.register_master(self.role)  # type: ignore[arg-type]
        server = RpcServer(self.runtime, roles, lambda handle: serve(HOST, 0, handle), options, has)
        self._made.append(server)
        return f"{HOST}:{server.start()}"

    def call(self, address: str, has: ClusterKey | None, connect: Any = sockets.connect) -> RpcTransport:
        transport = RpcTransport(self.runtime, lambda name: address, lambda: address, LONG, connect=connect, key=has)
        self._made.append(transport)
        return transport

    def close(self) -> None:
        for made in reversed(self._made):
            made.close()
        self.runtime.close()


@pytest.fixture
def ports() -> Iterator[Ports]:
    made = Ports()
    yield made
    made.close()


def mutate(transport: RpcTransport) -> None:
    transport.tablet_service("s1").mutate(7, [MUTATION])


class Stranger:
    """Speaks frames by itself, to a port."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self.socket = create_connection((host, int(port)), 60)
        self.frames = Frames(self.socket.recv, self.socket.recv, 1 << 20, lambda: None)

    def __enter__(self) -> "Stranger":
        return self

    def __exit__(self, *error: object) -> None:
        self.socket.close()

    def send(self, frame: bytes) -> bytes | None:
        self.socket.sendall(self.frames.outgoing(frame))
        return self.frames.next()

    def hello(self, ours: PeerVersion) -> Any:
        answer = read_hello_reply(self.send(hello_request(ours)) or b"")
        self.frames.checked = True
        return answer

    def prove(self, data: bytes) -> Any:
        return PROVE.read_reply(self.send(PROVE.request(1, (data,), lambda: None)) or b"", 1, lambda: None)

    def is_closed(self) -> bool:
        try:
            return not self.frames.next()
        except (OSError, Corruption):
            return True


CHALLENGED: Final = OURS._replace(challenge=b"c" * 32)


# ---------------------------------------------------------------- who comes in


@pytest.mark.parametrize("required", [True, False])
def test_who_has_the_key_calls_every_role(ports: Ports, required: bool) -> None:
    transport = ports.call(ports.serve(key(KEY, required=required)), key(KEY, required=required))
    mutate(transport)
    transport.tablet_admin("s1").roll_log()
    transport.master().ping_master()
    with acting_as(User("ann")):
        mutate(transport)
    assert ports.role.calls == ["mutate", "roll_log", "ping_master", "mutate"]


WRONG: Final = {
    "another key": key(OTHER),
    "the key of another cluster": key(KEY, cluster="f" * 32),
    "no key": None,
    "another key, not required": key(OTHER, required=False),
}


@pytest.mark.parametrize("has", WRONG.values(), ids=WRONG.keys())
def test_who_has_not_the_key_is_refused_and_the_log_says_so(
    ports: Ports, caplog: pytest.LogCaptureFixture, has: ClusterKey | None
) -> None:
    address = ports.serve(key(KEY))
    with caplog.at_level(logging.WARNING), pytest.raises(StaleLocation, match=r"did not begin mutate: .*cluster\.key"):
        mutate(ports.call(address, has))
    with pytest.raises(Unavailable, match=r"did not begin ping_master: .*cluster\.key"):
        ports.call(address, has).master().ping_master()
    assert ports.role.calls == []
    assert "cluster.key" in caplog.text
    assert HOST in caplog.text


@pytest.mark.parametrize(
    ("has", "words"),
    [(None, "does not prove that it has the cluster's key"), (key(OTHER), "not this cluster's")],
    ids=["no key", "another key"],
)
def test_a_role_with_the_key_calls_no_other(ports: Ports, has: ClusterKey | None, words: str) -> None:
    with pytest.raises(StaleLocation, match=words):
        mutate(ports.call(ports.serve(has), key(KEY)))
    assert ports.role.calls == []


@pytest.mark.parametrize("minor", [0, 1], ids=["1.0", "1.1"])
def test_a_caller_of_an_older_release_is_refused_and_reads_why(ports: Ports, minor: int) -> None:
    with Stranger(ports.serve(key(KEY))) as older:
        if minor:
            answer = HELLO.read_reply(
                older.send(HELLO.request(0, PeerVersion(1, 1, "0.1.0"), lambda: None)) or b"", 0, lambda: None
            )
        else:
            method = METHODS["roll_log"]
            answer = method.read_reply(older.send(method.request(1, ("s1",), lambda: None)) or b"", 1, lambda: None)
        assert isinstance(answer.raised(), Unavailable)
        assert "set cluster.key" in str(answer.raised())
        assert older.is_closed()
    assert ports.role.calls == []


# ---------------------------------------------------------------- a cluster that is given a key, or another one


@pytest.mark.parametrize("has", [None, key(KEY), key(KEY, required=False)], ids=["none", "the key", "not required"])
@pytest.mark.parametrize("called", [True, False], ids=["as the caller", "as the one that is called"])
def test_while_the_key_is_not_required_roles_with_and_without_it_work_together(
    ports: Ports, has: ClusterKey | None, called: bool
) -> None:
    ours = key(KEY, required=False)
    server, caller = (ours, has) if called else (has, ours)
    mutate(ports.call(ports.serve(server), caller))
    assert ports.role.calls == ["mutate"]


def test_a_wrong_key_is_refused_although_none_would_do(ports: Ports) -> None:
    with pytest.raises(StaleLocation, match="not this cluster's"):
        mutate(ports.call(ports.serve(key(KEY, required=False)), key(OTHER, required=False)))
    assert ports.role.calls == []


@pytest.mark.parametrize("caller", [(KEY,), (KEY, OTHER), (OTHER, KEY), (OTHER,)])
def test_a_key_is_replaced_in_three_steps(ports: Ports, caller: tuple[bytes, ...]) -> None:
    """KEY; KEY, OTHER; OTHER, KEY; OTHER: each step works with the one before."""
    for server in ((KEY, OTHER), (OTHER, KEY)):
        mutate(ports.call(ports.serve(key(*server)), key(*caller)))
    assert ports.role.calls == ["mutate", "mutate"]


# ---------------------------------------------------------------- strangers


def arguments_of(method: RpcMethod) -> bytes:
    """The frame of a call, as far as a stranger needs it: nobody reads its arguments."""
    empty = RpcMethod(method.role, method.name, (), None, method.timeout)
    return empty.request(1, (), lambda: None)


@pytest.mark.parametrize("name", sorted(BY_WIRE_NAME))
@pytest.mark.parametrize("said", ["nothing", "hello", "hello with a challenge", "a wrong proof"])
def test_no_call_is_begun_for_a_stranger(ports: Ports, name: str, said: str) -> None:
    """Every call between roles, at every point of the handshake: what comes back is a refusal or the end."""
    with Stranger(ports.serve(key(KEY))) as stranger:
        if said != "nothing":
            stranger.hello(OURS if said == "hello" else CHALLENGED)
        if said == "a wrong proof":
            assert isinstance(stranger.prove(b"p" * 32), RpcError)
        try:
            answer = stranger.send(arguments_of(BY_WIRE_NAME[name]))
        except OSError:
            answer = None
        if answer:
            refusal = BY_WIRE_NAME[name].read_reply(answer, 1, lambda: None)
            assert isinstance(refusal, RpcError)
            assert "cluster.key" in refusal.message
            assert said == "nothing"
        assert stranger.is_closed()
    assert ports.role.calls == []


def test_the_sweep_has_every_call() -> None:
    assert set(BY_WIRE_NAME) == METHODS.keys() | {method.name for method in USERS_METHODS.values()}
    assert {method.role for method in BY_WIRE_NAME.values()} == set(Role) - {Role.PEER}


def test_a_proof_serves_on_its_own_connection_only(ports: Ports) -> None:
    address = ports.serve(key(KEY))
    with Stranger(address) as first, Stranger(address) as second:
        server = first.hello(CHALLENGED)
        right = key(KEY).hellos(CHALLENGED, server).callers_proof(KEY)
        other = second.hello(CHALLENGED)
        assert other.challenge != server.challenge
        assert isinstance(second.prove(right), RpcError)
        assert second.is_closed()
        assert isinstance(first.prove(right), bytes)


def test_a_servers_proof_is_none_of_a_caller(ports: Ports) -> None:
    with Stranger(ports.serve(key(KEY))) as stranger:
        hellos = key(KEY).hellos(CHALLENGED, stranger.hello(CHALLENGED))
        assert isinstance(stranger.prove(hellos.servers_proof(KEY)), RpcError)
        assert stranger.is_closed()


def test_a_challenge_that_is_sent_back_proves_nothing(ports: Ports) -> None:
    """Whoever answers with the caller's own challenge, and with its own proof, is no server of the cluster."""
    seen: list[bytes] = []

    def mirror(socket: Any, address: object) -> None:
        frames = Frames(socket.recv, socket.recv, 1 << 20, lambda: None)
        hello = frames.next() or b""
        challenge = hello[hello.index(b"\x0b\0\x04") + 7 :][:32]
        socket.sendall(hello_reply(0, OURS._replace(challenge=challenge), None, OURS))
        frames.checked = True
        given = frames.next() or b""
        seen.append(given)
        socket.sendall(with_checksum(PROVE.reply(0, given[-33:-1], None, lambda: None)))
        with suppress(OSError, Corruption):
            seen.append(frames.next() or b"")

    listener = serve(HOST, 0, mirror)
    with pytest.raises(StaleLocation, match="no role of this cluster"):
        mutate(ports.call(f"{HOST}:{listener.port}", key(KEY)))
    assert b"prove" in seen[0]
    listener.close()
    assert b"".join(seen[1:]) == b""


def test_each_connection_has_another_challenge(ports: Ports) -> None:
    address = ports.serve(key(KEY))
    seen = set()
    for _ in range(20):
        with Stranger(address) as stranger:
            seen.add(stranger.hello(CHALLENGED).challenge)
    assert len(seen) == 20
    assert {len(one) for one in seen} == {proof.CHALLENGE_BYTES}


def test_an_unknown_peer_gets_no_proof(ports: Ports) -> None:
    """What it could guess the key by."""
    with Stranger(ports.serve(key(KEY))) as stranger:
        server = stranger.hello(CHALLENGED)
        answer = stranger.prove(b"p" * 32)
        hellos = key(KEY).hellos(CHALLENGED, server)
        assert hellos.servers_proof(KEY) not in answer.message.encode()
        assert "not this cluster's" in answer.message


def test_a_second_hello_changes_nothing(ports: Ports) -> None:
    with Stranger(ports.serve(key(KEY, required=False))) as stranger:
        stranger.hello(CHALLENGED)
        with pytest.raises((Corruption, OSError)):
            read_hello_reply(stranger.send(hello_request(OURS)) or b"")
    assert ports.role.calls == []


def test_a_stranger_who_says_nothing_is_cut_off(ports: Ports) -> None:
    with Stranger(ports.serve(key(KEY), RpcServerOptions(stall_seconds=0.05))) as silent:
        assert silent.is_closed()
    with Stranger(ports.serve(key(KEY), RpcServerOptions(stall_seconds=0.05))) as silent:
        silent.hello(CHALLENGED)
        assert silent.is_closed()


def test_a_stranger_sends_no_large_message(ports: Ports) -> None:
    with Stranger(ports.serve(key(KEY))) as stranger:
        stranger.socket.sendall((1 << 20).to_bytes(4, "big"))
        assert stranger.is_closed()


@pytest.mark.parametrize("has", [None, key(KEY)], ids=["no key", "a key"])
@pytest.mark.parametrize("when", ["hello", "proof"])
def test_a_stranger_in_a_roles_place_sends_no_large_message(ports: Ports, when: str, has: ClusterKey | None) -> None:
    """Whoever has got the address of a role that is gone: its callers believe no length of his, and do not wait."""

    def impostor(socket: Any, address: object) -> None:
        frames = Frames(socket.recv, socket.recv, 1 << 20, lambda: None)
        frames.next()
        if when == "proof" and has is not None:
            socket.sendall(hello_reply(0, CHALLENGED, None, OURS))
            frames.checked = True
            frames.next()
        with suppress(OSError):
            socket.sendall((1 << 20).to_bytes(4, "big") + b"x" * 1000)
            socket.recv(1)  # its caller leaves

    listener = serve(HOST, 0, impostor)
    with pytest.raises(StaleLocation, match="announces 1048576 bytes"):
        mutate(ports.call(f"{HOST}:{listener.port}", has))
    listener.close()


def test_little_is_repeated_of_what_a_stranger_calls_his_version() -> None:
    assert len(str(PeerVersion(9, 9, "x" * 60_000))) < 100


@pytest.mark.parametrize("seed", range(60))
def test_whatever_a_stranger_says_nothing_is_begun(ports: Ports, seed: int) -> None:
    """Messages of a handshake and calls in any order, with proofs of every kind but the right one, whole or damaged."""
    chance = random.Random(seed)
    address = ports.serve(key(KEY), RpcServerOptions(stall_seconds=0.2))  # for one that announces more than it sends
    for _ in range(5):
        with Stranger(address) as stranger:
            server = OURS
            for _ in range(chance.randrange(1, 7)):
                frame = said_by_a_stranger(chance, server)
                if chance.random() < 0.3:
                    place = chance.randrange(len(frame))
                    frame = frame[:place] + bytes([frame[place] ^ 1 << chance.randrange(8)]) + frame[place + 1 :]
                if chance.random() < 0.3:
                    frame = with_checksum(frame)
                try:
                    stranger.socket.sendall(frame)
                    stranger.frames.checked = False
                    answer = stranger.frames.next()
                    found = read_hello_reply(answer or b"")
                    server = found if isinstance(found, PeerVersion) else server
                except (OSError, HbtableError):
                    continue
    assert ports.role.calls == []


STRANGERS_CALLS: Final[list[tuple[RpcMethod, tuple[Any, ...]]]] = [
    (METHODS["roll_log"], ("s1",)),
    (METHODS["ping_master"], ()),
    (METHODS["mutate"], ("s1", 7, [MUTATION])),
    (USERS_METHODS["mutate"], ("s1", "root", ["admins"], 7, [MUTATION])),
]


def said_by_a_stranger(chance: random.Random, server: PeerVersion) -> bytes:
    hellos = key(OTHER).hellos(CHALLENGED, server)
    kind = chance.randrange(8)
    if kind < 2:
        return hello_request(chance.choice([OURS, CHALLENGED, server, OURS._replace(challenge=b"short")]))
    if kind < 4:
        theirs = [hellos.callers_proof(OTHER), hellos.servers_proof(OTHER), server.challenge]
        proofs = [*theirs, b"", bytes(32), bytes(5000)]
        return PROVE.request(1, (chance.choice(proofs),), lambda: None)
    method, arguments = chance.choice(STRANGERS_CALLS)
    call = method.request(1, arguments, lambda: None)
    if chance.random() < 0.3:
        tag = hellos.callers_tags(OTHER).sent.next(call[4:], lambda: None)
        return (len(call) + 12).to_bytes(4, "big") + call[4:] + tag
    return call


# ---------------------------------------------------------------- between two roles


class Between(DelegatingFake):
    """Somebody on the wire. `meddle` gets the number of each piece that a role sends or receives, and the piece."""

    def __init__(self, socket: Any, meddle: Callable[[str, int, bytes], bytes]) -> None:
        super().__init__(socket)
        self.meddle = meddle
        self.numbers = {"sent": 0, "received": 0}

    def _through(self, way: str, data: bytes) -> bytes:
        self.numbers[way] += 1
        return self.meddle(way, self.numbers[way], data) if data else data

    def sendall(self, data: bytes) -> None:
        self.inner.sendall(self._through("sent", data))

    def recv(self, most: int) -> bytes:
        return self._through("received", self.inner.recv(most))


def through(ports: Ports, meddle: Callable[[str, int, bytes], bytes], has: ClusterKey | None = None) -> RpcTransport:
    """A caller behind a wire with somebody on it. Pieces sent: hello, proof, then each call; received: their
    answers."""
    made = []

    def connect(host: str, port: int, seconds: float) -> Any:
        made.append(host)
        socket = sockets.connect(host, port, seconds)
        return Between(socket, meddle) if len(made) == 1 else socket

    return ports.call(ports.serve(key(KEY)), has or key(KEY), connect)


def forged(frame: bytes) -> bytes:
    """The same call with another value, and with a checksum that is right."""
    message = frame[4:-16].replace(b"\0\0\0\x01v", b"\0\0\0\x01x")
    return with_checksum(len(message).to_bytes(4, "big") + message)


MEDDLING: Final[dict[str, Callable[[bytes], bytes]]] = {
    "another value": lambda frame: frame.replace(b"\0\0\0\x01v", b"\0\0\0\x01x"),
    "another value and a checksum": forged,
    "another tag": lambda frame: frame[:-1] + bytes([frame[-1] ^ 1]),
    "without a tag": lambda frame: (len(frame) - 20).to_bytes(4, "big") + frame[4:-16],
    "cut": lambda frame: (10).to_bytes(4, "big") + frame[4:14],
    "empty": lambda frame: b"\0\0\0\0",
}


@pytest.mark.parametrize("meddling", MEDDLING.values(), ids=MEDDLING.keys())
def test_a_call_that_was_changed_between_two_roles_is_not_begun(
    ports: Ports, meddling: Callable[[bytes], bytes]
) -> None:
    transport = through(ports, lambda way, number, data: meddling(data) if (way, number) == ("sent", 3) else data)
    with pytest.raises(HbtableError):
        mutate(transport)
    assert ports.role.calls == []


def test_a_call_that_is_repeated_between_two_roles_is_begun_once(ports: Ports) -> None:
    with Stranger(ports.serve(key(KEY))) as caller:
        hellos = key(KEY).hellos(CHALLENGED, caller.hello(CHALLENGED))
        assert caller.prove(hellos.callers_proof(KEY)) == hellos.servers_proof(KEY)
        caller.frames.tags = hellos.callers_tags(KEY)
        call = caller.frames.outgoing(METHODS["roll_log"].request(1, ("s1",), lambda: None))
        caller.socket.sendall(call)
        assert METHODS["roll_log"].read_reply(caller.frames.next() or b"", 1, lambda: None) is None
        caller.socket.sendall(call)
        assert caller.frames.next() == b""  # goodbye: it is not begun
        assert caller.is_closed()
    assert ports.role.calls == ["roll_log"]


@pytest.mark.parametrize("forgery", [b"\0\0\0\0", b"\0\0\0\x10" + bytes(16)], ids=["plain", "with a tag"])
def test_a_goodbye_of_somebody_else_does_not_say_that_a_call_was_not_begun(ports: Ports, forgery: bytes) -> None:
    """The call was carried out: its caller must not repeat it."""
    transport = through(ports, lambda way, number, data: forgery if (way, number) == ("received", 3) else data)
    with pytest.raises(HbtableError) as raised:
        mutate(transport)
    assert not isinstance(raised.value, StaleLocation | Unavailable)
    assert ports.role.calls == ["mutate"]


def test_the_key_is_not_on_the_wire(ports: Ports) -> None:
    seen: list[bytes] = []

    def listen(way: str, number: int, data: bytes) -> bytes:
        seen.append(data)
        return data

    secret = random.Random(7).randbytes(32)
    transport = ports.call(
        ports.serve(key(secret)),
        key(secret),
        lambda *where: Between(sockets.connect(*where), listen),
    )
    mutate(transport)
    assert len(seen) >= 6
    assert secret not in b"".join(seen)
    assert secret.hex().encode() not in b"".join(seen)


@pytest.mark.parametrize("answered", [False, True], ids=["the caller's", "the server's"])
def test_a_challenge_that_was_taken_out_on_the_way_is_missed(ports: Ports, answered: bool) -> None:
    """Somebody on the wire makes both look like roles without a key."""

    def meddle(way: str, number: int, data: bytes) -> bytes:
        if (way, number) != (("received" if answered else "sent"), 1):
            return data
        return hello_reply(0, OURS, None, OURS) if answered else hello_request(OURS)

    with pytest.raises(StaleLocation, match=r"cluster\.key"):
        mutate(through(ports, meddle))
    assert ports.role.calls == []


def test_a_role_stops_as_before(ports: Ports) -> None:
    """Its goodbye has a tag, and the next call goes to whoever serves then."""
    roles = LocalTransport()
    roles.register_server("s1", ports.role, ports.role)  # type: ignore[arg-type]
    server = RpcServer(ports.runtime, roles, lambda handle: serve(HOST, 0, handle), key=key(KEY))
    transport = ports.call(f"{HOST}:{server.start()}", key(KEY))
    mutate(transport)
    server.close()
    with pytest.raises(StaleLocation):
        mutate(transport)
    assert ports.role.calls == ["mutate"]


def test_large_messages_have_tags_too(ports: Ports) -> None:
    transport = ports.call(ports.serve(key(KEY)), key(KEY))
    large = RowMutation(b"r", [(PUT, b"f", b"q", 5, random.Random(8).randbytes(3 << 20))])
    transport.tablet_service("s1").mutate(7, [large])
    mutate(transport)
    assert ports.role.calls == ["mutate", "mutate"]


# ---------------------------------------------------------------- that these tests find what they are for


def whatever_strangers_say(ports: Ports) -> None:
    for seed in range(20):
        test_whatever_a_stranger_says_nothing_is_begun(ports, seed)


PLANTED: Final[dict[str, tuple[Any, str, Any, Callable[[Ports], None]]]] = {
    "a call before the proof": (
        Admission, "_refused", lambda self, message: None,
        lambda ports: test_no_call_is_begun_for_a_stranger(ports, "roll_log", "nothing"),
    ),
    "a call before the proof, in any order": (
        Admission, "_refused", lambda self, message: None, whatever_strangers_say,
    ),
    "every proof is right": (
        ClusterKey, "proved", lambda self, hellos, given: self.own,
        test_a_proof_serves_on_its_own_connection_only,
    ),
    "the server's proof is not looked at": (
        connections, "compare_digest", lambda one, other: True,
        test_a_challenge_that_is_sent_back_proves_nothing,
    ),
    "always the same challenge": (
        ClusterKey, "challenged", lambda self, ours: ours._replace(challenge=b"c" * 32),
        test_a_proof_serves_on_its_own_connection_only,
    ),
    "one proof for both sides": (
        Hellos, "servers_proof", Hellos.callers_proof, test_a_servers_proof_is_none_of_a_caller,
    ),
    "tags are not looked at": (
        frames, "compare_digest", lambda one, other: True,
        lambda ports: test_a_call_that_was_changed_between_two_roles_is_not_begun(ports, MEDDLING["another value"]),
    ),
    "tags without a number": (
        FrameTags, "_begun", lambda self: self._blank.copy(),
        test_a_call_that_is_repeated_between_two_roles_is_begun_once,
    ),
    "a second hello is another one": (
        Admission, "greeted", property(lambda self: False, lambda self, value: None),
        test_a_second_hello_changes_nothing,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("where", "name", "wrong", "check"), PLANTED.values(), ids=PLANTED.keys())
def test_a_mistake_is_found(
    ports: Ports, monkeypatch: pytest.MonkeyPatch, where: Any, name: str, wrong: Any, check: Callable[[Ports], None]
) -> None:
    check(ports)
    ports.role.calls.clear()
    monkeypatch.setattr(where, name, wrong)
    with pytest.raises((AssertionError, pytest.fail.Exception, HbtableError)):
        check(ports)
