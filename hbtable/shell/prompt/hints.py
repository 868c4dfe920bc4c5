"""The line below the prompt: how the command that is being typed is used."""

import re
from functools import lru_cache
from typing import Final

_WORD: Final = re.compile(r"^\s*(?:\w+\s*=\s*)?([a-z_]+)")


def hint_line(text: str) -> str:
    """Empty when nothing is known."""
    found = _WORD.match(text.rpartition(";")[2])
    return _syntax(found.group(1)) if found else "Tab completes, Ctrl-R searches, help 'get' explains, exit leaves"


@lru_cache(maxsize=256)
def _syntax(name: str) -> str:
    from hbtable.shell import absent, help_texts

    if name in absent.REASONS:
        return f"{name} is not there: {absent.REASONS[name]}"
    text = help_texts.of_command(name)
    if text is None:
        return ""
    examples = re.findall(r"(?m)^ *hbase> (.*)", text)
    return max(examples[:6], key=len, default=text.split("\n", 1)[0])
