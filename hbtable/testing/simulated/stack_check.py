"""At each switch of a simulation: is every function of the program on the stack marked with @switches?"""

import sys
from pathlib import Path
from types import CodeType, FrameType
from typing import Final

from hbtable.switches import is_marked

_PROGRAM: Final = f"{Path(__file__).parents[2]}/"
_SIMULATION: Final = f"{_PROGRAM}testing/"

_allowed: Final[set[CodeType]] = set()
"""Looked at before: the same functions come again and again."""


class UnmarkedFunction(AssertionError):
    """A function switched that its callers take for atomic."""


def check_stack() -> None:
    """UnmarkedFunction naming the innermost function without the mark."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if code not in _allowed:
            if not _is_allowed(code):
                raise UnmarkedFunction(f"{code.co_qualname} ({code.co_filename}) switches, and is not marked @switches")
            _allowed.add(code)
        frame = frame.f_back


def _is_allowed(code: CodeType) -> bool:
    path = code.co_filename
    if not path.startswith(_PROGRAM) or path.startswith(_SIMULATION):
        return True
    return is_marked(code) or "<" in code.co_qualname  # functions inside of functions, and what modules run
