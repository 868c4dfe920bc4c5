"""The users that a server knows, each with a password, with tokens, or with both: pure, and as bytes.

The bytes are a sealed record of kind U, whose body is JSON. A name in it that this version does not know was written by
a later one, perhaps to take a right away, so it is refused and not passed over.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final

from hbtable.access.passwords import PasswordHash, TokenRecord
from hbtable.access.user import check_name
from hbtable.encoding.sealed import seal, unseal
from hbtable.errors import AlreadyExists, Corruption, InvalidRequest, NotFound, UnsupportedFormat

KIND: Final = b"U"
_VERSION: Final = 1
_MOST_TOKENS: Final = 100


@dataclass(frozen=True, slots=True)
class Account:
    """One user's proofs of who he is."""

    name: str
    password: PasswordHash | None = None
    tokens: tuple[TokenRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class Accounts:
    """All users, by name. Changes give a new one."""

    by_name: Mapping[str, Account] = field(default_factory=lambda: MappingProxyType({}))

    def with_user(self, name: str, password: PasswordHash | None) -> "Accounts":
        """AlreadyExists, InvalidRequest. None: the user comes in by tokens only, or by a certificate."""
        check_name(name)
        if name in self.by_name:
            raise AlreadyExists(f"there is a user {name} already: `hbtable user password {name}` changes the password")
        return self._with(Account(name, password))

    def without_user(self, name: str) -> "Accounts":
        """NotFound."""
        self.account(name)
        return Accounts({other: account for other, account in self.by_name.items() if other != name})

    def with_password(self, name: str, password: PasswordHash) -> "Accounts":
        """NotFound."""
        return self._with(replace(self.account(name), password=password))

    def with_token(self, name: str, token: TokenRecord, now_millis: int) -> "Accounts":
        """NotFound, InvalidRequest. What has expired goes meanwhile."""
        account = self.account(name)
        living = tuple(one for one in account.tokens if not one.has_expired(now_millis))
        if len(living) >= _MOST_TOKENS:
            raise InvalidRequest(f"{name} has {len(living)} tokens, and there may be {_MOST_TOKENS}: revoke some")
        return self._with(replace(account, tokens=(*living, token)))

    def without_token(self, name: str, token_id: str) -> "Accounts":
        """NotFound."""
        account = self.account(name)
        rest = tuple(one for one in account.tokens if one.token_id != token_id)
        if len(rest) == len(account.tokens):
            raise NotFound(f"{name} has no token {token_id!r}: `hbtable user list` shows those there are")
        return self._with(replace(account, tokens=rest))

    def account(self, name: str) -> Account:
        """NotFound."""
        found = self.by_name.get(name)
        if found is None:
            raise NotFound(f"there is no user {name!r}: `hbtable user list` shows those there are")
        return found

    def by_token(self, token_id: str) -> tuple[Account, TokenRecord] | None:
        """The token, and the user that it is of."""
        for account in self.by_name.values():
            for token in account.tokens:
                if token.token_id == token_id:
                    return account, token
        return None

    def _with(self, account: Account) -> "Accounts":
        return Accounts({**self.by_name, account.name: account})

    def changed_since(self, before: "Accounts") -> Iterator[tuple[str, str]]:
        """(a user, what became of him) for each change, in words without a secret."""
        for name in sorted(before.by_name.keys() | self.by_name.keys()):
            old, new = before.by_name.get(name), self.by_name.get(name)
            if new is None:
                yield name, "removed"
                continue
            if old is None:
                yield name, "added"
            elif old.password != new.password:
                yield name, "password changed"
            known = old.tokens if old else ()
            yield from ((name, f"token {one.token_id} made") for one in new.tokens if one not in known)
            yield from ((name, f"token {one.token_id} ended") for one in known if one not in new.tokens)

    def encode(self) -> bytes:
        users = [_fields(self.by_name[name]) for name in sorted(self.by_name)]
        return seal(KIND, _VERSION, json.dumps({"users": users}, sort_keys=True).encode())

    @staticmethod
    def decode(data: bytes, path: str) -> "Accounts":
        """Corruption, UnsupportedFormat."""
        _, body = unseal(data, KIND, _VERSION, path)
        try:
            content = json.loads(body)
            _only(content, {"users"}, path)
            accounts = [_account(fields, path) for fields in content["users"]]
            for account in accounts:
                check_name(account.name)
        except (ValueError, KeyError, TypeError, InvalidRequest) as error:
            raise Corruption(path, 0, f"no list of users: {type(error).__name__}") from error
        return Accounts({account.name: account for account in accounts})


def _fields(account: Account) -> dict[str, Any]:
    fields: dict[str, Any] = {"name": account.name}
    if account.password is not None:
        one = account.password
        fields["password"] = {"scrypt": [one.log2_n, one.r, one.p], "salt": one.salt.hex(), "hash": one.digest.hex()}
    fields["tokens"] = [
        {"id": one.token_id, "sha256": one.digest.hex(), "expires_millis": one.expires_millis} for one in account.tokens
    ]
    return fields


def _account(fields: dict[str, Any], path: str) -> Account:
    _only(fields, {"name", "password", "tokens"}, path)
    password = None
    if "password" in fields:
        said = fields["password"]
        _only(said, {"scrypt", "salt", "hash"}, path)
        log2_n, r, p = (int(number) for number in said["scrypt"])
        password = PasswordHash(bytes.fromhex(said["salt"]), bytes.fromhex(said["hash"]), log2_n, r, p)
        if not password.is_affordable():
            raise UnsupportedFormat.unknown(path, "cost of scrypt", said["scrypt"], "up to 128 MiB")
    tokens = []
    for one in fields["tokens"]:
        _only(one, {"id", "sha256", "expires_millis"}, path)
        tokens.append(TokenRecord(str(one["id"]), bytes.fromhex(one["sha256"]), int(one["expires_millis"])))
    return Account(str(fields["name"]), password, tuple(tokens))


def _only(fields: dict[str, Any], known: set[str], path: str) -> None:
    for name in fields:
        if name not in known:
            raise UnsupportedFormat.unknown(path, "field", name, sorted(known))
