"""Passwords and tokens as they are kept: never themselves.

A password is chosen by a person and may be guessed, so it is kept as scrypt's hash with a salt of its own, which takes
16 MiB and 0.1 to 0.2 s to compute. A token is 256 random bits, which nobody guesses, so SHA-256 will do.
"""

import base64
import hashlib
import hmac
import os
from dataclasses import dataclass
from typing import Final

from hbtable.errors import InvalidRequest

_LOG2_N: Final = 14
_R: Final = 8
_P: Final = 5
_SALT_BYTES: Final = 16
_HASH_BYTES: Final = 32
MOST_MEMORY_BYTES: Final = 128 << 20
"""No stored hash may take more to compute: it comes from a file."""
LEAST_LETTERS: Final = 8
MOST_BYTES: Final = 1024
_TOKENS_BEGIN: Final = "hbt"
_ID_BYTES: Final = 6
_SECRET_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class PasswordHash:
    """scrypt's hash of a password, and what it was computed with."""

    salt: bytes
    digest: bytes
    log2_n: int = _LOG2_N
    r: int = _R
    p: int = _P

    @staticmethod
    def of(password: str) -> "PasswordHash":
        """Hashes the password with a new salt, in 0.1 to 0.2 s. InvalidRequest for a password that may not be one."""
        check_password(password)
        salt = os.urandom(_SALT_BYTES)
        return PasswordHash(salt, _scrypt(password.encode(), salt, _LOG2_N, _R, _P))

    def matches(self, password: bytes) -> bool:
        """Takes 0.1 to 0.2 s, in which other threads may run."""
        return hmac.compare_digest(_scrypt(password, self.salt, self.log2_n, self.r, self.p), self.digest)

    def is_affordable(self) -> bool:
        """Whether matches() would take a bounded time and memory."""
        ranges = 1 <= self.log2_n <= 20 and 1 <= self.r <= 64 and 1 <= self.p <= 64
        return ranges and 128 * self.r * (self.p + (1 << self.log2_n)) <= MOST_MEMORY_BYTES


NOBODYS: Final = PasswordHash(b"nobody", b"")
"""No password matches it, and trying takes as long as with another one."""


def check_password(password: str) -> None:
    """InvalidRequest, without the password in it."""
    if len(password) < LEAST_LETTERS or len(password.encode("utf-8", "replace")) > MOST_BYTES:
        raise InvalidRequest(f"a password has at least {LEAST_LETTERS} letters, and at most {MOST_BYTES} bytes")
    if not password.isprintable():
        raise InvalidRequest("a password has no control characters: clients could not send it")
    if parts_of_token(password.encode()) is not None:
        raise InvalidRequest(
            "a password has another form than a token (hbt.ID.SECRET), for which each login would take it"
        )


def can_be_password(secret: bytes) -> bool:
    """Whether it could have been set. What could not is not tried: scrypt takes zero bytes behind a password for
    nothing, so it would be right with them."""
    try:
        return len(secret) <= MOST_BYTES and secret.decode().isprintable()
    except UnicodeDecodeError:
        return False


@dataclass(frozen=True, slots=True)
class TokenRecord:
    """A token without its secret. `expires_millis`: since 1970; 0 for never."""

    token_id: str
    digest: bytes
    expires_millis: int = 0

    def matches(self, secret: bytes) -> bool:
        return hmac.compare_digest(hashlib.sha256(secret).digest(), self.digest)

    def has_expired(self, now_millis: int) -> bool:
        return bool(self.expires_millis) and now_millis >= self.expires_millis


def new_token(expires_millis: int = 0) -> tuple[str, TokenRecord]:
    """(the token, to be shown once; what is kept of it)."""
    token_id, secret = os.urandom(_ID_BYTES).hex(), base64.urlsafe_b64encode(os.urandom(_SECRET_BYTES)).rstrip(b"=")
    record = TokenRecord(token_id, hashlib.sha256(secret).digest(), expires_millis)
    return f"{_TOKENS_BEGIN}.{token_id}.{secret.decode()}", record


def parts_of_token(token: bytes) -> tuple[str, bytes] | None:
    """(its id, its secret); None: this is no token."""
    parts = token.split(b".")
    if len(parts) != 3 or parts[0] != _TOKENS_BEGIN.encode() or not parts[1].isalnum():
        return None
    return parts[1].decode("ascii"), parts[2]


def _scrypt(password: bytes, salt: bytes, log2_n: int, r: int, p: int) -> bytes:
    most = MOST_MEMORY_BYTES + (1 << 20)
    return hashlib.scrypt(password, salt=salt, n=1 << log2_n, r=r, p=p, maxmem=most, dklen=_HASH_BYTES)
