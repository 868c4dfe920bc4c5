"""Finds out whether somebody is who he says he is: by a password, by a token, or by another one who may act for him.

What fails says the same whether the user is unknown or the password wrong, and takes as long.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final, final

from hbtable.access.accounts import Account, Accounts
from hbtable.access.login import Login
from hbtable.access.options import AuthOptions
from hbtable.access.password_attempts import Attempt, AttemptLimits
from hbtable.access.password_checks import PasswordChecks
from hbtable.access.passwords import NOBODYS, PasswordHash, can_be_password, parts_of_token
from hbtable.access.store import AccountStore
from hbtable.access.tries import address_of
from hbtable.access.user import User, check_name
from hbtable.errors import HbtableError, InvalidRequest, NotAuthenticated, Unavailable
from hbtable.runtime.fresh_copy import FreshCopy
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches

_LOG: Final = logging.getLogger(__name__)
_GOOD_SECONDS: Final = 1.0
"""Promised: who is removed is refused so soon."""
_BETWEEN_LOOKS_SECONDS: Final = 0.05
"""Strangers have the lock service asked no more often than this, however many they are."""
_UNKNOWN: Final = "the list of users cannot be read now: the server's log says why"
_WRONG: Final = "the user or the password is wrong"


@final
class Verifier:
    """Knows the users of one gateway."""

    def __init__(self, runtime: Runtime, store: AccountStore, options: AuthOptions) -> None:
        self._runtime = runtime
        self._store = store
        self._groups = options.groups_of_users()
        self._superusers = options.superuser_names()
        self._may_act_for_others = self._superusers | options.proxy_names()
        self._limits = AttemptLimits(runtime.clock_seconds)
        self._checks = PasswordChecks(runtime)
        self._look_at = 0.0
        self._seen = Accounts()
        """The list that was read last."""
        self._known = FreshCopy(runtime, partial(store.read, latest=True), _GOOD_SECONDS)

    @switches
    def by_password(self, name: str, secret: bytes, host: str) -> User:
        """As log_in(), for one request. *Switches.*"""
        return self.log_in(name, secret, host).user

    @switches
    def log_in(self, name: str, secret: bytes, host: str) -> Login:
        """*Switches.* `secret` is the user's password or one of his tokens. NotAuthenticated, Unavailable."""
        token = parts_of_token(secret)
        login = self._by_own_password(name, secret, host) if token is None else self._by_token(token, name)
        try:
            login.check(self._known.value or Accounts(), self._runtime.wall_millis())
        except NotAuthenticated:  # what lets the user in is newer than what accounts() knows
            self._known.outdate()
        return login

    @switches
    def _by_own_password(self, name: str, secret: bytes, host: str) -> Login:
        attempt = Attempt(self._limits, address_of(host), name)
        account = self._accounts_by_name(name)
        stored = None if account is None else account.password
        if not can_be_password(secret):
            attempt.begin()
            raise NotAuthenticated(_WRONG)
        if not self._checks.is_right(attempt, secret, stored or NOBODYS) or not stored:
            stored = self._newer_password(name, stored)
            if stored is None or not self._checks.is_right(attempt, secret, stored):
                raise NotAuthenticated(_WRONG)
        return Login(self.user(name), password=stored)

    @switches
    def accounts(self) -> Accounts:
        """*Switches.* The users; a change of a second ago, or an earlier one, is in it, and so is whatever log_in() let
        somebody in by. Unavailable."""
        known = self._known
        if not known.is_good:
            try:
                known.catch_up()
            except Unavailable as error:
                raise Unavailable(_UNKNOWN) from error  # the log has it by look()
        return known.value or Accounts()

    @switches
    def look(self) -> Accounts | None:
        """*Switches.* Reads the list, so that accounts() need not wait; to be called twice a second. None: it cannot be
        read now, or somebody was let in meanwhile by a newer one."""
        before = self._known.failure
        self._known.refresh()
        failure = self._known.failure
        if failure and failure != before:
            _LOG.error("nobody with a password or a token can do anything: %s", failure)
        return None if failure or self._known.is_outdated else self._known.value

    @switches
    def by_token(self, secret: bytes) -> User:
        """*Switches.* NotAuthenticated, Unavailable. Tries are not counted: nobody guesses 256 bits, and one client
        with an old token would keep out all others at its address."""
        token = parts_of_token(secret)
        if token is None:
            raise NotAuthenticated(
                "this is no token, which looks like hbt.ID.SECRET: `hbtable user token NAME` gives one"
            )
        return self._by_token(token, "").user

    def user(self, name: str) -> User:
        """The one of this name, who was proved by somebody else (Kerberos), with its groups. Does not switch."""
        return User(name, self._groups.get(name, frozenset()))

    def by_certificate(self, names: Sequence[str]) -> User:
        """The user of a certificate that TLS has checked, with these CNs. NotAuthenticated. Does not switch."""
        if len(names) != 1:
            what = (
                f"{len(names)} names (CN), where one is due: {', '.join(map(repr, names))[:100]}"
                if names
                else "no name (CN)"
            )
            raise NotAuthenticated(f"the subject of the client's certificate has {what}")
        try:
            check_name(names[0])
        except InvalidRequest as error:
            raise NotAuthenticated(f"the subject (CN) of the client's certificate names no user: {error}") from error
        return self.user(names[0])

    def acting_for(self, user: User, other: str) -> User:
        """The one for whom `user` wants to work. NotAuthenticated. Does not switch."""
        if not other or other == user.name:
            return user
        try:
            check_name(other)
        except InvalidRequest as error:
            raise NotAuthenticated(f"{user.name} cannot act for another user: {error}") from error
        if user.through:
            raise NotAuthenticated(f"{user.through} acts for {user.name}, who cannot act for {other} meanwhile")
        if not user.is_one_of(self._may_act_for_others):
            raise NotAuthenticated(
                f"{user.name} may not act for {other}: only superusers may, and those whom auth.proxies names"
            )
        found = self.user(other)
        if found.is_one_of(self._superusers) and not user.is_one_of(self._superusers):
            raise NotAuthenticated(f"{user.name} may act for others (auth.proxies), but not for {other}, a superuser")
        return replace(found, through=user.name)

    @switches
    def _by_token(self, token: tuple[str, bytes], name: str) -> Login:
        """`name`: whose it has to be, if anybody's."""
        token_id, secret = token
        try:
            found = self._store.read().by_token(token_id)
        except HbtableError as error:
            raise _unknown(error) from error
        if found is None:
            found = self._latest().by_token(token_id)
        if found is None or not found[1].matches(secret) or name not in ("", found[0].name):
            raise NotAuthenticated("the token is wrong, or was revoked")
        if found[1].has_expired(self._runtime.wall_millis()):
            raise NotAuthenticated(
                f"the token {token_id} has expired: `hbtable user token {found[0].name}` gives another"
            )
        return Login(self.user(found[0].name), token=found[1])

    @switches
    def _newer_password(self, name: str, known: PasswordHash | None) -> PasswordHash | None:
        """The one that the user has now, if it is not the one that is known: what is remembered may be half a second
        old. Unknown users and wrong passwords ask alike."""
        account = self._latest().by_name.get(name)
        return None if account is None or account.password == known else account.password

    @switches
    def _latest(self) -> Accounts:
        """The users as they are now, before somebody is refused; nobody where others have just asked. Unavailable."""
        now = self._runtime.clock_seconds()
        if now < self._look_at:
            return Accounts()
        self._look_at = now + _BETWEEN_LOOKS_SECONDS
        try:
            self._seen = self._store.read(latest=True)
        except HbtableError as error:
            raise _unknown(error) from error
        return self._seen

    def knows(self, claimed: str) -> bool:
        """Whether this is a user of the list or of the configuration, or `token` with a token's number, as far as is
        known here."""
        accounts = self._known.value or self._seen  # servers without calls of users follow no list
        word, _, number = claimed.partition(" ")
        if word == "token" and number:
            return accounts.by_token(number) is not None
        return claimed in accounts.by_name or claimed in self._may_act_for_others

    @switches
    def _accounts_by_name(self, name: str) -> Account | None:
        try:
            self._seen = self._store.read()
        except HbtableError as error:
            raise _unknown(error) from error
        return self._seen.by_name.get(name)


def _unknown(error: HbtableError) -> Unavailable:
    """The fault of the list of users goes to the log of the server, and not to a stranger."""
    _LOG.error("nobody can be let in: %s", error)
    return Unavailable(_UNKNOWN)
