"""A refused filter in HBase's words first, and what is wrong in it second: our server says both in one message."""

import re
from typing import Final

_IN_ONE_FILTER: Final = re.compile(
    r"(?P<reason>(?:Incorrect comparator|Incorrect comparatorType|Incorrect Boolean Expression|Invalid compare operator"
    r"|Byte Array should only contain digits|Integer Argument too large|Long Argument too large"
    r"|A regexstring comparator and [^:]*): .*?) in (?P<filter>[A-Z]\w*\s*\(.*)",
    re.DOTALL,
)
_WITH_REASON: Final = re.compile(r"(?P<head>Incorrect filter string .*\)): (?P<reason>.*)", re.DOTALL)
_OF_THE_TEXT: Final = re.compile(
    r"(?P<head>Incorrect Filter String|Incorrect argument list|Incorrect Filter Name|Mismatched parenthesis): "
    r"(?P<reason>.*)",
    re.DOTALL,
)


def in_two(message: str) -> tuple[str, str]:
    """(what HBase says, the reason or ""). Messages about anything else stay as they are."""
    if found := _IN_ONE_FILTER.fullmatch(message):
        return f"Incorrect filter string {found['filter']}", found["reason"]
    if found := _WITH_REASON.fullmatch(message):
        return found["head"], found["reason"]
    if found := _OF_THE_TEXT.fullmatch(message):
        head = found["head"]
        return ("Incorrect Filter String" if head == "Incorrect argument list" else head), found["reason"]
    return message, ""
