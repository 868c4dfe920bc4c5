r"""Text of strangers as a terminal and a log may have it: what a terminal would obey, and ends of lines, are \xHH."""

import re
from typing import Final

_UNSEEN: Final = re.compile("[\x00-\x08\n-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Whatever moves a terminal's cursor, changes what it shows, or turns the direction of what follows; tabs do not."""


def visible(text: str, lines: bool = False) -> str:
    r"""The text with \xHH, as HBase's toStringBinary has it, for what a terminal would obey. `lines`: it is
    of several lines, whose ends stay. Hot: once per cell of a shell's answer."""
    if text.isprintable():
        return text
    if lines:
        return "\n".join(map(visible, text.split("\n")))
    return _UNSEEN.sub(lambda found: "".join([f"\\x{byte:02X}" for byte in found[0].encode()]), text)


def visible_in_json(text: str) -> str:
    r"""JSON of the same value, with \uHHHH in place of what a terminal would obey."""
    return text if text.isprintable() else _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def has_unseen(text: str) -> bool:
    """Whether a terminal would obey some of it, other than ends of lines."""
    return not text.isprintable() and _UNSEEN.search(text.replace("\n", "")) is not None
