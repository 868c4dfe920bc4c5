# What hbtable uses of python-gssapi.
from collections.abc import Iterable, Mapping
from typing import NamedTuple

class OID:
    @classmethod
    def from_int_seq(cls, integer_sequence: str) -> OID: ...

class MechType:
    kerberos: OID

class NameType:
    hostbased_service: OID

class Name:
    def __init__(self, base: str, name_type: OID) -> None: ...

class Credentials:
    def __init__(
        self, *, name: Name | None = ..., usage: str, store: Mapping[str, str] = ..., mechs: Iterable[OID] = ...
    ) -> None: ...
    name: Name

class WrapResult(NamedTuple):
    message: bytes
    encrypted: bool

class UnwrapResult(NamedTuple):
    message: bytes
    encrypted: bool
    qop: int

class SecurityContext:
    def __init__(
        self, *, name: Name | None = ..., creds: Credentials | None = ..., mech: OID | None = ..., usage: str
    ) -> None: ...
    complete: bool
    initiator_name: Name
    actual_flags: int
    def step(self, token: bytes | None = ...) -> bytes | None: ...
    def wrap(self, message: bytes, encrypt: bool) -> WrapResult: ...
    def unwrap(self, message: bytes) -> UnwrapResult: ...
    def get_wrap_size_limit(self, desired_output_size: int, encrypted: bool = ...) -> int: ...
