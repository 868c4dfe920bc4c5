"""Warns at the start of settings by which nobody can do anything, or everybody can do everything; and refuses a list of
users that others could have changed."""

import grp
import logging
import os
import pwd
import stat
from collections.abc import Callable, Iterator
from typing import Final

from hbtable.access.options import AuthOptions
from hbtable.access.rule_warnings import rule_warnings
from hbtable.access.store import AccountFile, AccountStore
from hbtable.errors import HbtableError, InvalidConfiguration
from hbtable.runtime.network.tls import TlsOptions
from hbtable.switches import switches

log = logging.getLogger(__name__)


UNASKED: Final = "there is a list of users, and auth.enabled = true is not set: everybody can do everything"
"""A warning of /readyz."""


@switches
def warn_of_access(tls: TlsOptions, auth: AuthOptions, users: AccountStore) -> list[str]:
    """*Switches.* The warnings that /readyz is to have. InvalidConfiguration for a file of users that may not be used.
    A list in a lock service that cannot be asked just now, or one that is damaged, is told to whoever logs in."""
    has_users = _has_users(auth, users)
    for warning in warnings(tls, auth, has_users):
        log.warning("%s", warning)
    return [] if auth.enabled or not has_users else [UNASKED]


@switches
def _has_users(auth: AuthOptions, users: AccountStore) -> bool:
    try:
        return bool(users.read().by_name)
    except InvalidConfiguration:
        if auth.enabled:
            raise
        return True
    except HbtableError:
        return auth.enabled


def readiness_warnings(auth: AuthOptions, folder: str) -> Callable[[], list[str]]:
    """A function that looks into the data folder, each time, for users who are not asked who they are. Of a server of
    one machine."""
    users = AccountFile(folder)

    def found() -> list[str]:
        return [] if auth.enabled or not _has_users(auth, users) else [UNASKED]

    return found


def warn_of_group(auth: AuthOptions, folder: str) -> None:
    """A warning where users are asked who they are, and the data folder's group may put another list of them there. No
    refusal: earlier versions made folders so under a umask of 002."""
    status = os.stat(folder)
    if auth.enabled and status.st_mode & stat.S_IWGRP and not _is_owners_own_group(status):
        log.warning(
            "everybody in group %d may write to %s (mode %04o), and so let in whom he likes: chmod g-w it, unless that "
            "is meant", status.st_gid, folder, stat.S_IMODE(status.st_mode),
        )  # fmt: skip


def _is_owners_own_group(status: os.stat_result) -> bool:
    """Whether nobody but the owner is in it, as Debian's sshd asks it: each user has such a group on many systems."""
    try:
        owner, members = pwd.getpwuid(status.st_uid).pw_name, set(grp.getgrgid(status.st_gid).gr_mem)
    except KeyError:
        return False
    members.update(user.pw_name for user in pwd.getpwall() if user.pw_gid == status.st_gid)
    return members == {owner}


def warnings(tls: TlsOptions, auth: AuthOptions, has_users: bool) -> Iterator[str]:
    """A sentence for each."""
    if not auth.enabled:
        for key in ("superusers", "groups", "proxies", "keytab"):
            if getattr(auth, key):
                yield (
                    f"auth.{key} is set without auth.enabled = true: nobody is asked who he is, and whoever can "
                    "connect can do everything"
                )
        if has_users:
            yield (
                "there is a list of users, and auth.enabled = true is not set: nobody is asked who he is, and whoever "
                "can connect can do everything, whatever was granted. Set it, or remove the users"
            )
        return
    if not (auth.keytab or tls.client_ca):
        if not tls.certificate and not auth.plain_text:
            yield (
                "auth.enabled is set without tls.certificate: nobody can log in, because passwords and tokens are "
                "taken over TLS only (auth.plain_text = true takes them without)"
            )
        if not has_users:
            yield "auth.enabled is set, and the list of users is empty: nobody can log in before `hbtable user add`"
    if not _superusers(auth):
        named = f"auth.superusers = {auth.superusers!r} has only groups that nobody is in"
        yield (
            f"auth.enabled is set, and {named if auth.superusers.strip() else 'auth.superusers names nobody'}: nobody "
            "can do anything but those to whom something was granted before"
        )
    if auth.keytab:
        yield from rule_warnings(auth.principals(), _superusers(auth))


def _superusers(auth: AuthOptions) -> set[str]:
    """Names of users."""
    members = auth.members()
    named = [members.get(name[1:], frozenset()) if name.startswith("@") else {name} for name in auth.superuser_names()]
    return set().union(*named)
