r"""The user of a principal of Kerberos, by rules as Hadoop's hadoop.security.auth_to_local has them.

    RULE:[2:$1@$0](hdfs@OTHER\.EXAMPLE)s/.*/hadoop/     two components; the text made of them; what it must match as a
                                                        whole; a substitution, with g behind it as often as it occurs
    RULE:[1:$1@$0](.*@OTHER\.EXAMPLE)s/@.*///L          /L: in small letters
    DEFAULT                                             the first component, of a principal of auth.realm

The first rule that fits decides; $0 is the realm, $1 and $2 are the components. Where none fits the principal is
nobody, and so it is where a rule makes a text with / or @ of it, or where one of its components or its realm has such a
character itself (MIT's Kerberos writes a backslash before it). Without rules there is DEFAULT alone. The expressions
are Python's; in a substitution $1 is a group, as in Java.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from hbtable.access.user import check_name
from hbtable.errors import InvalidConfiguration, InvalidRequest, NotAuthenticated

_RULE: Final = re.compile(
    r"(?:(DEFAULT)|RULE:\[(\d*):([^\]]*)\](?:\(([^)]*)\))?(?:s/([^/]*)/([^/]*)/(g)?)?)(/L)?(?:\s+|$)"
)
_PART: Final = re.compile(r"\$(\d)")
_GROUP: Final = re.compile(r"\$(\d)|\\(.)|([^$\\]+)")
_NOT_SIMPLE: Final = re.compile("[/@]")
_MOST_COMPONENTS: Final = 2


class Rule(NamedTuple):
    """One rule. `components` 0: DEFAULT."""

    components: int = 0
    text: str = "$1"
    fits: re.Pattern[str] | None = None
    wrong: re.Pattern[str] | None = None
    right: str = ""
    """In Python's terms."""
    repeat: bool = False
    small: bool = False
    said: str = "DEFAULT"
    """As the configuration has it."""

    def name(self, parts: Sequence[str], realm: str) -> str | None:
        """None: the rule does not fit. `parts`: the principal's realm, then its components; `realm`: auth.realm."""
        if not self.components:
            found: str | None = parts[1] if parts[0] == realm else None
        else:
            found = self._made(parts) if len(parts) - 1 == self.components else None
        # Unicode has letters beside ASCII whose small ones are ASCII's, as the sign for kelvin: that is another name.
        return found.lower() if found is not None and self.small and found.isascii() else found

    def _made(self, parts: Sequence[str]) -> str | None:
        base = _PART.sub(lambda found: parts[int(found[1])], self.text)
        if self.fits is not None and self.fits.fullmatch(base) is None:
            return None
        return base if self.wrong is None else self.wrong.sub(self.right, base, count=0 if self.repeat else 1)


class AuthToLocal(NamedTuple):
    """All rules, in their order, and auth.realm."""

    realm: str
    rules: tuple[Rule, ...] = (Rule(),)

    def user(self, principal: str) -> str:
        """NotAuthenticated."""
        if "\\" in principal:  # before / or @ within a component: it would come apart at the wrong place
            raise NotAuthenticated(f"the principal {principal!r} has characters that no user's name has")
        name, at, realm = principal.rpartition("@")
        if not at:
            raise NotAuthenticated(f"the principal {principal!r} has no realm")
        parts = [realm, *name.split("/")]
        found = next((one for one in (rule.name(parts, self.realm) for rule in self.rules) if one is not None), None)
        if found is None and self.rules == (Rule(),):
            raise NotAuthenticated(f"the principal {principal!r} is not of the realm {self.realm} (auth.realm)")
        if found is None or _NOT_SIMPLE.search(found):
            made = "" if found is None else f", but for a text that is no name, {found!r}"
            raise NotAuthenticated(f"the principal {principal!r} is nobody: no rule of auth.auth_to_local fits{made}")
        try:
            check_name(found)
        except InvalidRequest as error:
            raise NotAuthenticated(f"the principal {principal!r} names no user: {error}") from error
        return found


def auth_to_local(text: str, realm: str) -> AuthToLocal:
    """InvalidConfiguration. Empty: DEFAULT."""
    if not text.strip():
        return AuthToLocal(realm)
    rules, left = [], text.strip()
    while left:
        found = _RULE.match(left)
        if found is None:
            raise InvalidConfiguration(
                f"auth.auth_to_local: {left[:60]!r} begins no rule: DEFAULT, or RULE:[1:$1@$0](REGEX)s/REGEX/TEXT/, "
                "with spaces between rules"
            )
        rules.append(_rule(found))
        left = left[found.end() :]
    return AuthToLocal(realm, tuple(rules))


def _rule(found: re.Match[str]) -> Rule:
    default, components, text, fits, wrong, right, repeat, small = found.groups()
    if default:
        return Rule(small=bool(small), said=found[0].strip())
    count = int(components or 0)
    if not 1 <= count <= _MOST_COMPONENTS or any(int(one) > count for one in _PART.findall(text)):
        raise InvalidConfiguration(
            f"auth.auth_to_local: {found[0].strip()!r} is for {count} components: it is 1 or 2, and the text has $0 to "
            "$1 or $2 of them"
        )
    try:
        pattern = None if wrong is None else re.compile(wrong)
        replacement = "" if right is None else _replacement(right)
        if pattern is not None and any(int(one) > pattern.groups for one in re.findall(r"\\g<(\d)>", replacement)):
            raise re.error("there is no group of this number")
        must = None if fits is None else re.compile(fits)
        return Rule(count, text, must, pattern, replacement, bool(repeat), bool(small), found[0].strip())
    except re.error as error:
        raise InvalidConfiguration(
            f"auth.auth_to_local: {found[0].strip()!r} has a regular expression that is none: {error}"
        ) from error


def _replacement(text: str) -> str:
    """Java's text of a replacement in Python's terms."""
    made = []
    for group, escaped, plain in _GROUP.findall(text):
        made.append(rf"\g<{group}>" if group else (escaped or plain).replace("\\", r"\\"))
    return "".join(made)
