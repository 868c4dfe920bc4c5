"""At each switch of a simulation: is every function of the program on the stack marked with @switches?"""

import sys
from pathlib import Path
from types import CodeType, FrameType
from typing import Final

from hbtable.switches import is_marked

_PROGRAM: Final = f"{Path(__file__).parents[2]}/"
_SIMULATION: Final = f"{_PROGRAM}testing/"

_allowed: Final[dict[int, CodeType]] = {}
"""Looked at before, by identity: the same functions come again and again, and to hash their code would take longer
than all the rest. The code itself stands here so that no other one gets its number."""


class UnmarkedFunction(AssertionError):
    """A function switched that its callers take for atomic."""


def unmarked_functions() -> list[str]:
    """Those on the stack, the innermost first."""
    found = []
    allowed = _allowed
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if id(code) not in allowed:
            if _is_allowed(code):
                allowed[id(code)] = code
            else:
                found.append(f"{code.co_qualname} ({code.co_filename}:{frame.f_lineno})")
        frame = frame.f_back
    return found


def _is_allowed(code: CodeType) -> bool:
    path = code.co_filename
    if not path.startswith(_PROGRAM) or path.startswith(_SIMULATION):
        return True
    return is_marked(code) or "<" in code.co_qualname  # functions inside of functions, and what modules run
