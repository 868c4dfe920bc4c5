"""Finds rules of auth.auth_to_local by which more principals are a user than whoever wrote them may have meant. Pure.

Rules are tried, in their order, on the principals that would do the most harm: those of another realm with the name of
a superuser. Realms are taken out of the rules' own expressions, and one that no rule names stands for all others.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from hbtable.access.auth_to_local import AuthToLocal, Rule
from hbtable.errors import NotAuthenticated

_NO_RULES_REALM: Final = "ANOTHER.INVALID"
_STRANGER: Final = "some-stranger"
_REALM: Final = re.compile(r"@((?:[A-Za-z0-9.-]|\\[.-])+)")
_ONE_TEXT: Final = re.compile(r"(?:[^.*+?()\[\]{}|^$\\]|\\[^A-Za-z0-9])*")
"""An expression that one text alone matches."""
_EVERYTHING: Final = frozenset((".*", "^.*", ".*$", "^.*$", ".+", "^.+", ".+$", "^.+$"))


def rule_warnings(names: AuthToLocal, superusers: Iterable[str]) -> Iterator[str]:
    """A sentence for each. `superusers`: names of users."""
    for rule in names.rules:
        if rule.components and _takes_every_realm(rule, names.realm):
            yield (
                f"auth.auth_to_local: {rule.said} asks for no realm, so principals of every realm that the KDC trusts "
                f"are such users: put $0 into it, and the realm, as in RULE:[1:$1@$0](.*@{names.realm})s/@.*//"
            )
        user = _only_user(rule)
        if user and not (rule.fits is not None and _ONE_TEXT.fullmatch(rule.fits.pattern)):
            yield (
                f"auth.auth_to_local: {rule.said} makes one user, {user}, of every principal that fits: whoever has "
                f"one of them has all rights of {user}"
            )
    for principal, user in _strangers_with_rights(names, sorted(set(superusers))):
        shown = principal.replace(f"@{_NO_RULES_REALM}", " of any other realm that the KDC trusts")
        yield (
            f"auth.auth_to_local: {shown} is the superuser {user} here, as one of {names.realm} is: unless that is "
            "meant, write a narrower rule, or give superusers names that the other realm has not"
        )


def _takes_every_realm(rule: Rule, realm: str) -> bool:
    if "$0" not in rule.text:
        return True
    found = rule.name([_NO_RULES_REALM, *[_STRANGER] * rule.components], realm)
    return found is not None and not re.search("[/@]", found)


def _only_user(rule: Rule) -> str:
    """The one that the rule makes of everything that fits; empty: there is none."""
    if rule.wrong is None or rule.wrong.pattern not in _EVERYTHING or r"\g<" in rule.right:
        return ""
    return rule.right


def _strangers_with_rights(names: AuthToLocal, superusers: list[str]) -> Iterator[tuple[str, str]]:
    """Principals of another realm whom the rules make a superuser: one for each realm and superuser."""
    found = [name for rule in names.rules if rule.fits for name in _REALM.findall(rule.fits.pattern)]
    realms = dict.fromkeys(realm.replace("\\", "").rstrip(".") for realm in found)
    for realm in (*realms, _NO_RULES_REALM):
        if realm == names.realm:
            continue
        for user in superusers:
            for principal in (f"{user}@{realm}", f"{user}/host@{realm}"):
                if _user(names, principal) == user:
                    yield principal, user
                    break


def _user(names: AuthToLocal, principal: str) -> str:
    try:
        return names.user(principal)
    except NotAuthenticated:
        return ""
