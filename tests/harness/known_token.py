"""A token that is the same in each process: pytest's processes must find the same cases, and tokens stand in them."""

import hashlib

from hbtable.access.passwords import TokenRecord, parts_of_token

TOKEN = "hbt.0123456789ab.dGhpcyBzZWNyZXQgaXMga25vd24gdG8gZXZlcnlib2R5"


def _kept() -> TokenRecord:
    parts = parts_of_token(TOKEN.encode())
    assert parts is not None
    token_id, secret = parts
    return TokenRecord(token_id, hashlib.sha256(secret).digest())


RECORD = _kept()
"""What a server keeps of it."""
