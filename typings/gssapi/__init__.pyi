# What hbtable uses of python-gssapi.
from collections.abc import Mapping
from typing import NamedTuple

class Name: ...

class Credentials:
    def __init__(self, *, usage: str, store: Mapping[str, str]) -> None: ...

class WrapResult(NamedTuple):
    message: bytes
    encrypted: bool

class UnwrapResult(NamedTuple):
    message: bytes
    encrypted: bool
    qop: int

class SecurityContext:
    def __init__(self, *, creds: Credentials, usage: str) -> None: ...
    complete: bool
    initiator_name: Name
    def step(self, token: bytes) -> bytes | None: ...
    def wrap(self, message: bytes, encrypt: bool) -> WrapResult: ...
    def unwrap(self, message: bytes) -> UnwrapResult: ...
    def get_wrap_size_limit(self, desired_output_size: int, encrypted: bool = ...) -> int: ...
