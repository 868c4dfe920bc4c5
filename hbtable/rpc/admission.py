"""The first part of each connection to the port between roles, as the server answers it: hello and proof.

Without a key every caller may call. With a key a caller has to prove that it has the key. While the key is not
required, a caller that gives no challenge may call, too: older releases, and roles that do not have the key yet.
"""

from typing import Final, NamedTuple, final

from hbtable.errors import Corruption, Unavailable, UnsupportedFormat
from hbtable.rpc.codec.calls import BY_WIRE_NAME, read_head
from hbtable.rpc.codec.errors import described
from hbtable.rpc.handshake import OURS, PeerVersion, agreed, hello_reply, is_hello, read_hello
from hbtable.rpc.hbase_clients import COMPACT_CALL
from hbtable.rpc.proof import CHALLENGE_BYTES, PROVE, ClusterKey, Hellos
from hbtable.switches import switches
from hbtable.thrift.frame_tags import TagPair
from hbtable.thrift.message import MessageReader
from hbtable.thrift.wire import CALL

NO_PROOF: Final = (
    "this role takes calls only from roles that prove that they have the cluster's key: set cluster.key to the file "
    "with it, and upgrade roles of releases that do not know the option"
)
WRONG_PROOF: Final = (
    "the key that was proved is not this cluster's: cluster.key has to be the same file in all roles of the cluster"
)


class Greeted(NamedTuple):
    """The answer to what comes before calls. `tags`: of all frames after the answer."""

    frame: bytes
    goes_on: bool
    tags: TagPair | None = None
    refusal: str = ""
    """For the log."""


@final
class Admission:
    """One connection."""

    __slots__ = ("_hellos", "_key", "admitted", "greeted")

    def __init__(self, key: ClusterKey | None) -> None:
        self._key = key
        self._hellos: Hellos | None = None
        """Both hellos, while a proof is due."""
        self.admitted = key is None or not key.required
        """Whether its calls are answered, as far as is known."""
        self.greeted = False
        """Whether it said hello."""

    @switches
    def answer(self, message: bytes) -> Greeted | None:
        """None: a call, to be carried out; or one of HBase's, which no role has. Corruption."""
        if is_hello(message):
            return self._hello(message)
        if self._hellos is not None:
            return self._prove(message, self._hellos)
        return None if self.admitted else self._refused(message)

    @switches
    def _hello(self, message: bytes) -> Greeted:
        if self._key is not None and self.greeted:
            raise Corruption("a message", 0, "a second hello")
        self.greeted = True
        sequence, theirs = read_hello(message)
        try:
            agreed(theirs)
        except UnsupportedFormat as error:
            return Greeted(hello_reply(sequence, None, described(error), theirs), False)
        if self._key is None:
            return Greeted(hello_reply(sequence, OURS, None, theirs), True)
        if len(theirs.challenge) != CHALLENGE_BYTES:
            return self._without_challenge(sequence, theirs, self._key)
        ours = self._key.challenged(OURS)
        self._hellos, self.admitted = self._key.hellos(theirs, ours), False
        return Greeted(hello_reply(sequence, ours, None, theirs), True)

    @switches
    def _without_challenge(self, sequence: int, theirs: PeerVersion, key: ClusterKey) -> Greeted:
        if key.required:
            refusal = described(Unavailable(NO_PROOF))
            return Greeted(hello_reply(sequence, None, refusal, theirs), False, refusal=NO_PROOF)
        return Greeted(hello_reply(sequence, OURS, None, theirs), True)

    @switches
    def _prove(self, message: bytes, hellos: Hellos) -> Greeted:
        assert self._key is not None
        kind, name, sequence, position = read_head(message)
        if kind != CALL or name != PROVE.name.encode():
            raise Corruption("a message", 0, "a call in the place of a proof")
        (proof,) = PROVE.read_arguments(MessageReader(message), position)
        key = self._key.proved(hellos, proof)
        if key is None:
            refusal = described(Unavailable(WRONG_PROOF))
            return Greeted(PROVE.reply(sequence, None, refusal, _no_pause), False, refusal=WRONG_PROOF)
        self._hellos, self.admitted = None, True
        answer = PROVE.reply(sequence, hellos.servers_proof(key), None, _no_pause)
        return Greeted(answer, True, hellos.servers_tags(key))

    @switches
    def _refused(self, message: bytes) -> Greeted | None:
        """A role's call before it proved itself."""
        if message.startswith(COMPACT_CALL):
            return None
        _, name, sequence, _ = read_head(message)
        method = BY_WIRE_NAME.get(name.decode("utf-8", "backslashreplace"))
        if method is None:
            return None
        refusal = described(Unavailable(NO_PROOF))
        return Greeted(method.reply(sequence, None, refusal, _no_pause), False, refusal=NO_PROOF)


def _no_pause() -> None:
    """They are short."""
