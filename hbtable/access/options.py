"""The users that may come in, and their groups: the section [auth] of the configuration."""

from dataclasses import dataclass
from typing import Final

from hbtable.access.auth_to_local import AuthToLocal, auth_to_local
from hbtable.access.user import check_name
from hbtable.errors import InvalidConfiguration, InvalidRequest

_LAYERS: Final = {"auth", "auth-int", "auth-conf"}


@dataclass(frozen=True, slots=True)
class AuthOptions:
    """The section [auth] of the configuration."""

    enabled: bool = False
    """Only those come in who prove who they are. Otherwise whoever can connect can do everything."""
    superusers: str = ""
    """Users and @groups who may do everything: "ann, @admins"."""
    groups: str = ""
    """The members of each group: "admins = ann, ben; readers = carl"."""
    proxies: str = ""
    """Users and @groups who may act for others, as gateways of their own do (`doAs` over HTTP, the authorization
    identity of SASL), but not for superusers. Superusers may act for everybody."""
    audit: str = "log"
    """A line of JSON for each denied call and each administrative one goes to `log`, to the file of this name, or, when
    it is empty, nowhere."""
    keytab: str = ""
    """File with the key of the service (hbase/HOST@REALM) as which clients get tickets of Kerberos for this server, and
    of HTTP/HOST@REALM for those who come over HTTP. Empty: no Kerberos. It needs `pip install 'hbtable[kerberos]'`."""
    realm: str = ""
    """The realm of Kerberos whose principals are users: ann@REALM and ann/host@REALM are ann."""
    auth_to_local: str = ""
    """Rules by which principals are users, as Hadoop's hadoop.security.auth_to_local has them, with spaces between.
    Empty: DEFAULT, the realm above alone."""
    qop: str = "auth, auth-int, auth-conf"
    """The choices of a client of Kerberos for its messages: nothing (auth), a checksum (auth-int), encryption
    (auth-conf)."""
    plain_text: bool = False
    """Passwords and tokens are taken over connections without TLS as well, where whoever listens reads them."""

    def __post_init__(self) -> None:
        self.superuser_names()
        self.proxy_names()
        self.members()
        self.layers()
        self.principals()
        if bool(self.keytab) != bool(self.realm):
            raise InvalidConfiguration("auth.keytab and auth.realm need each other")

    def superuser_names(self) -> frozenset[str]:
        """The names of users, and of groups with their @. InvalidConfiguration."""
        return _names(self.superusers, "auth.superusers")

    def proxy_names(self) -> frozenset[str]:
        """As superuser_names()."""
        return _names(self.proxies, "auth.proxies")

    def members(self) -> dict[str, frozenset[str]]:
        """The members of each group. InvalidConfiguration."""
        found: dict[str, frozenset[str]] = {}
        for part in self.groups.split(";"):
            if not part.strip():
                continue
            group, equals, names = part.partition("=")
            group = group.strip()
            if not equals:
                raise InvalidConfiguration(
                    f"auth.groups = {self.groups!r}: {part.strip()!r} is no group: write "
                    "GROUP = USER, USER; GROUP = USER"
                )
            _check(group, "group", "auth.groups", self.groups)
            if group in found:
                raise InvalidConfiguration(f"auth.groups = {self.groups!r}: the group {group} stands there twice")
            found[group] = _names(names, "auth.groups", allow_groups=False)
        return found

    def principals(self) -> AuthToLocal:
        """The users of principals. InvalidConfiguration."""
        return auth_to_local(self.auth_to_local, self.realm)

    def layers(self) -> list[str]:
        """The security layers of SASL's GSSAPI that are offered. InvalidConfiguration."""
        found = [name.strip() for name in self.qop.split(",") if name.strip()]
        if not found or not set(found) <= _LAYERS:
            raise InvalidConfiguration(f"auth.qop = {self.qop!r}: some of {', '.join(sorted(_LAYERS))} are due")
        return found

    def groups_of_users(self) -> dict[str, frozenset[str]]:
        """The groups of each user that is in one. InvalidConfiguration. It reads the text: not for each request."""
        found: dict[str, set[str]] = {}
        for group, names in self.members().items():
            for name in names:
                found.setdefault(name, set()).add(group)
        return {name: frozenset(groups) for name, groups in found.items()}


def _names(text: str, key: str, allow_groups: bool = True) -> frozenset[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name.startswith("@") and not allow_groups:
            raise InvalidConfiguration(f"{key}: {name!r} stands in a group: groups hold users, not other groups")
        _check(name.removeprefix("@"), "group" if name.startswith("@") else "user", key, text)
    return frozenset(names)


def _check(name: str, what: str, key: str, text: str) -> None:
    try:
        check_name(name, what)
    except InvalidRequest as error:  # only here is all of the text copied: there may be thousands of names in it
        raise InvalidConfiguration(f"{key} = {text!r}: {error}") from error
