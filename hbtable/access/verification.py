"""Finds out whether somebody is who he says he is: by a password, by a token, or by another one who may act for him.

A password costs 0.1 to 0.2 s of a processor, so it is computed in a thread, one at a time, and one that was right is
known again for a minute: by a keyed digest, so that the memory holds none. What fails says the same whether the user is
unknown or the password wrong, and takes as long.
"""

import hashlib
import hmac
import logging
import os
from collections import OrderedDict
from dataclasses import replace
from typing import Final, final

from hbtable.access.accounts import Account
from hbtable.access.options import AuthOptions
from hbtable.access.passwords import NOBODYS, PasswordHash, can_be_password, parts_of_token
from hbtable.access.store import AccountStore
from hbtable.access.tries import FailedTries
from hbtable.access.user import User, check_name
from hbtable.errors import HbtableError, InvalidRequest, NotAuthenticated, Overloaded, Unavailable
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches

_LOG: Final = logging.getLogger(__name__)
_KIND: Final = "password"
_WAITING: Final = 50
"""Passwords that wait for their turn; further ones are refused, so that a storm of them costs no more memory."""
_KNOWN_SECONDS: Final = 60.0
_KNOWN: Final = 1000
_WRONG: Final = "the user or the password is wrong"


@final
class Verifier:
    """Knows the users of one gateway."""

    def __init__(self, runtime: Runtime, store: AccountStore, options: AuthOptions) -> None:
        self._runtime = runtime
        self._store = store
        self._options = options
        self._may_act_for_others = options.superuser_names() | options.proxy_names()
        self._tries = FailedTries()
        self._waiting = 0
        self._key = os.urandom(32)
        self._known: OrderedDict[bytes, float] = OrderedDict()
        """Digests of what was right, and until when they are known."""

    @switches
    def by_password(self, name: str, secret: bytes, host: str) -> User:
        """*Switches.* `secret` is the user's password or one of his tokens. NotAuthenticated, Unavailable."""
        token = parts_of_token(secret)
        if token is not None:
            return self._by_token(token, name)
        self._check_tries(host, name)
        account = self._accounts_by_name(name)
        stored = None if account is None else account.password
        if not can_be_password(secret) or not self._is_right(name, secret, stored or NOBODYS) or stored is None:
            raise self._failed(host, name, _WRONG)
        self._tries.succeeded(host, name)
        return self._options.user(name)

    @switches
    def by_token(self, secret: bytes) -> User:
        """*Switches.* NotAuthenticated, Unavailable. Tries are not counted: nobody guesses 256 bits, and one client
        with an old token would keep out all others at its address."""
        token = parts_of_token(secret)
        if token is None:
            raise NotAuthenticated("this is no token, which looks like hbt.ID.SECRET: `hbtable user token NAME` gives one")
        return self._by_token(token, "")

    def by_certificate(self, subject: str) -> User:
        """Of a certificate that TLS has checked. NotAuthenticated. Does not switch."""
        try:
            check_name(subject)
        except InvalidRequest as error:
            raise NotAuthenticated(f"the subject (CN) of the client's certificate names no user: {error}") from error
        return self._options.user(subject)

    def acting_for(self, user: User, other: str) -> User:
        """The one for whom `user` wants to work. NotAuthenticated. Does not switch."""
        if not other or other == user.name:
            return user
        try:
            check_name(other)
        except InvalidRequest as error:
            raise NotAuthenticated(f"{user.name} cannot act for another user: {error}") from error
        if not user.is_one_of(self._may_act_for_others):
            raise NotAuthenticated(
                f"{user.name} may not act for {other}: only superusers may, and those whom auth.proxies names"
            )
        superusers = self._options.superuser_names()
        found = self._options.user(other)
        if found.is_one_of(superusers) and not user.is_one_of(superusers):
            raise NotAuthenticated(f"{user.name} may act for others (auth.proxies), but not for {other}, a superuser")
        return replace(found, through=user.name)

    @switches
    def _by_token(self, token: tuple[str, bytes], name: str) -> User:
        """`name`: whose it has to be, if anybody's."""
        token_id, secret = token
        try:
            found = self._store.read().by_token(token_id)
        except HbtableError as error:
            raise _unknown(error) from error
        if found is None or not found[1].matches(secret) or name not in ("", found[0].name):
            raise NotAuthenticated("the token is wrong, or was revoked")
        if found[1].has_expired(self._runtime.wall_millis()):
            raise NotAuthenticated(
                f"the token {token_id} has expired: `hbtable user token {found[0].name}` gives another"
            )
        return self._options.user(found[0].name)

    @switches
    def _is_right(self, name: str, secret: bytes, stored: PasswordHash) -> bool:
        said = b"\0".join((name.encode(), stored.salt, stored.digest, secret))
        digest = hmac.new(self._key, said, hashlib.sha256).digest()
        if self._known.get(digest, 0.0) > self._runtime.clock_seconds():
            return True
        if self._waiting >= _WAITING:
            raise Overloaded(f"{_WAITING} passwords are being checked already: try again in some seconds")
        self._waiting += 1
        try:
            right = self._runtime.offload(_KIND, stored.matches, secret)
        finally:
            self._waiting -= 1
        if right:
            self._known[digest] = self._runtime.clock_seconds() + _KNOWN_SECONDS
            self._known.move_to_end(digest)
            while len(self._known) > _KNOWN:
                self._known.popitem(last=False)
        return right

    @switches
    def _accounts_by_name(self, name: str) -> Account | None:
        try:
            return self._store.read().by_name.get(name)
        except HbtableError as error:
            raise _unknown(error) from error

    def _check_tries(self, host: str, name: str) -> None:
        wait = self._tries.wait_seconds(host, name, self._runtime.clock_seconds())
        if wait:
            raise NotAuthenticated(f"too many wrong passwords from {host}: the next try is possible in {wait:.0f} s")

    def _failed(self, host: str, name: str, why: str) -> NotAuthenticated:
        self._tries.failed(host, name, self._runtime.clock_seconds())
        return NotAuthenticated(why)


def _unknown(error: HbtableError) -> Unavailable:
    """The fault of the list of users goes to the log of the server, and not to a stranger."""
    _LOG.error("nobody can be let in: %s", error)
    return Unavailable("the list of users cannot be read now: the server's log says why")
