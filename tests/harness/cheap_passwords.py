"""Passwords whose hash takes microseconds to compute."""

import hashlib

from hbtable.access.passwords import PasswordHash


def cheap(password: bytes, salt: bytes = b"salt") -> PasswordHash:
    digest = hashlib.scrypt(password, salt=salt, n=2, r=1, p=1, dklen=32)
    return PasswordHash(salt, digest, 1, 1, 1)
