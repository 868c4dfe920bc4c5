from typing import Final, NamedTuple

class Id(NamedTuple):
    scheme: str
    id: str

class ACL(NamedTuple):
    perms: int
    id: Id

class Permissions:
    ADMIN: Final[int]

ANYONE_ID_UNSAFE: Final[Id]

def make_digest_acl(username: str, password: str, *, all: bool = False) -> ACL: ...
