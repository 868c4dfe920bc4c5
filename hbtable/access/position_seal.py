"""Seals what a client is to bring back and may not read: the position of a scan at a row that is none of his.

A sealed position is opened by whoever has the cluster's key (position_key.py), on every server and after a restart, and
for the same scan of the same user only: who could try it with other ranges would find the row by halving them. Its
length tells the length of the row to a power of two.

    sealed := nonce (16 bytes), what is hidden, the tag (32)

What is hidden is added to a stream of SHAKE-256 over a key and the nonce; the tag is HMAC-SHA-256, under another key,
over the scan, the nonce and what is hidden. Python's standard library has these two, and no cipher.
"""

import hmac
import os
from hashlib import shake_256
from typing import Final, final

from hbtable.encoding.varint import decode_bytes, encode_bytes

KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 16
_TAG_BYTES: Final = 32
_SMALLEST_BYTES: Final = 128


@final
class PositionSeal:
    """Of one key."""

    __slots__ = ("_hides", "_proves")

    def __init__(self, key: bytes) -> None:
        """`key`: KEY_BYTES of them, random and secret."""
        self._hides = hmac.digest(key, b"hbtable: a position is hidden", "sha256")
        self._proves = hmac.digest(key, b"hbtable: a position is proved", "sha256")

    def seal(self, position: bytes, scan: bytes) -> bytes:
        """`scan` says for which scan it is good."""
        nonce = os.urandom(_NONCE_BYTES)
        plain = encode_bytes(position)
        plain += bytes(max(_SMALLEST_BYTES, 1 << (len(plain) - 1).bit_length()) - len(plain))
        hidden = self._added(plain, nonce)
        return nonce + hidden + self._tag(scan, nonce + hidden)

    def opened(self, sealed: bytes, scan: bytes) -> bytes | None:
        """The position; None if it was not sealed with this key for this scan."""
        body, tag = sealed[:-_TAG_BYTES], sealed[-_TAG_BYTES:]
        if not hmac.compare_digest(tag, self._tag(scan, body)):
            return None
        position, _ = decode_bytes(self._added(body[_NONCE_BYTES:], body[:_NONCE_BYTES]), 0)
        return position

    def _added(self, data: bytes, nonce: bytes) -> bytes:
        stream = shake_256(self._hides + nonce).digest(len(data))
        return (int.from_bytes(data) ^ int.from_bytes(stream)).to_bytes(len(data))

    def _tag(self, scan: bytes, body: bytes) -> bytes:
        return hmac.digest(self._proves, encode_bytes(scan) + body, "sha256")
