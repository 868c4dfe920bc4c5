"""The proof by which a connection was let in, and whether it would still be let in by it.

A connection may stay open for months. What it was let in by may be gone by then: the user is removed, the password is
another one, the token is revoked, the token or the certificate has expired.
"""

from dataclasses import dataclass

from hbtable.access.accounts import Accounts
from hbtable.access.passwords import PasswordHash, TokenRecord
from hbtable.access.user import User
from hbtable.errors import NotAuthenticated


@dataclass(frozen=True, slots=True)
class Login:
    """The user in the list, and his password as it was then, or his token."""

    user: User
    password: PasswordHash | None = None
    token: TokenRecord | None = None
    by_list = True
    """Whether the list of users decides."""

    @property
    def may_expire(self) -> bool:
        return self.token is not None

    def check(self, accounts: Accounts, now_millis: int) -> None:
        """NotAuthenticated unless it would let the user in. A user of the same name who was added anew is another
        one."""
        name = self.user.name
        account = accounts.by_name.get(name)
        if account is None:
            raise NotAuthenticated(f"the user {name} was removed")
        if self.token is None:
            if account.password != self.password:
                raise NotAuthenticated(f"the password of {name} was changed: log in with the new one")
        elif self.token not in account.tokens:
            raise NotAuthenticated(f"the token {self.token.token_id} of {name} was revoked, or has expired")
        elif self.token.has_expired(now_millis):
            raise NotAuthenticated(
                f"the token {self.token.token_id} has expired: `hbtable user token {name}` gives another"
            )


@dataclass(frozen=True, slots=True)
class CertificateLogin:
    """The user of a client's certificate, who needs not be in the list, and the end of it in wall-clock
    milliseconds."""

    user: User
    ends_millis: float
    by_list = False
    may_expire = True

    def check(self, accounts: Accounts, now_millis: int) -> None:
        """NotAuthenticated once the certificate has expired."""
        if now_millis >= self.ends_millis:
            raise NotAuthenticated("the client's certificate has expired: connect with a newer one")
