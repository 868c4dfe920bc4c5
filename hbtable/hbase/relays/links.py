"""Links: Unix connections between the gateways of two processes, by which one passes calls on to the other.

A link begins with a greeting of 64 bytes, the kind and the client's address:

    EXCHANGE    calls of any clients in frames, and their answers in frames; NOT_MINE is one: nothing was done
    DIRECT      calls of one client as it sent them, each after the last was answered. Its connection comes with the
                greeting, and answers go there. So does a page of numbers, in which the answering side says how far it
                is with the last call: the other side knows it without a message, also when that process has died
"""

import struct
from typing import Final, NamedTuple

EXCHANGE: Final = b"e"
DIRECT: Final = b"d"

TAKEN: Final = 0
"""The last call that was begun to be carried out. Calls of a link are counted from 1."""
SENDING: Final = 1
"""The last one of whose answer the client may have got something."""
DONE: Final = 2
"""The last one whose answer went out whole."""
STRAY: Final = 3
"""The last one for a row that the answering side's tablet server does not have. It was carried out all the same."""

_GREETING: Final = struct.Struct(">1s63p")
GREETING_BYTES: Final = _GREETING.size


class Greeting(NamedTuple):
    """The first bytes of a link. `client`: the address of a DIRECT link's."""

    kind: bytes
    client: str = ""

    def packed(self) -> bytes:
        return _GREETING.pack(self.kind, self.client.encode())

    @staticmethod
    def unpacked(data: bytes) -> "Greeting":
        kind, client = _GREETING.unpack(data)
        return Greeting(kind, client.decode())
