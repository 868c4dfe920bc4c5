r"""The text of a pattern as the parser reads it: characters, of which those between \Q and \E stand for themselves."""

from dataclasses import dataclass
from typing import Final, final

END: Final = ""
"""Read behind the last character."""


@dataclass(slots=True)
class Flags:
    """The flags that (?idms) have set at the place where the parser is. HBase sets DOTALL."""

    case_insensitive: bool = False
    multiline: bool = False
    dot_all: bool = True
    unix_lines: bool = False


@final
class PatternSource:
    r"""A cursor over the characters. A quoted character reads as two: a backslash's escape of it, "\" and itself, so
    that no grammar rule takes it for an operator."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self._chars = _unquoted(pattern)
        self.at = 0
        self.flags = Flags()
        self.groups = 0
        """Capturing groups begun so far."""
        self.names: dict[str, int] = {}
        """Number of each named group."""
        self.later_groups: list[int] = []
        """Groups that were referred to before they began."""
        self.depth = 0

    def peek(self, ahead: int = 0) -> str:
        r"""A character, or "\x" for a quoted x; END behind the last one."""
        place = self.at + ahead
        return self._chars[place] if place < len(self._chars) else END

    def take(self) -> str:
        char = self.peek()
        self.at += 1
        return char

    def takes(self, char: str) -> bool:
        """Whether `char` was next; then it is taken."""
        if self.peek() != char:
            return False
        self.at += 1
        return True

    def error(self, reason: str) -> ValueError:
        return ValueError(f"the pattern {self.pattern[:100]!r} is malformed near character {self.at}: {reason}")

    def unsupported(self, what: str) -> ValueError:
        return ValueError(f"the pattern {self.pattern[:100]!r} uses {what}, which hbtable does not support")


def _unquoted(pattern: str) -> list[str]:
    chars: list[str] = []
    at = 0
    while at < len(pattern):
        if pattern[at] != "\\" or at + 1 == len(pattern):
            chars.append(pattern[at])
            at += 1
        elif pattern[at + 1] != "Q":
            chars += (pattern[at], pattern[at + 1])
            at += 2
        else:
            end = pattern.find("\\E", at + 2)
            quoted = pattern[at + 2 :] if end < 0 else pattern[at + 2 : end]
            chars += ("\\" + char for char in quoted)
            at = len(pattern) if end < 0 else end + 2
    return chars
