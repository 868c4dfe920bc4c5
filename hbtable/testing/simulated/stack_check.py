"""At switches of a simulation: is every function of the program on the stack marked with @switches?

To walk a stack takes about as long as the switch itself. So a stack is walked whole when its innermost functions are
together for the first time in this process, and at one switch in eight. Which of a run's switches those are follows
from its seed: a fresh process that repeats a failed seed walks at least the same stacks.
"""

import sys
from pathlib import Path
from types import CodeType, FrameType
from typing import Final

from hbtable.switches import is_marked

_PROGRAM: Final = f"{Path(__file__).parents[2]}/"
_SIMULATION: Final = f"{_PROGRAM}testing/"
_ONE_IN: Final = 8

_allowed: Final[dict[int, CodeType]] = {}
"""Looked at before, by identity: the same functions come again and again, and to hash their code would take longer
than all the rest. The code itself stands here so that no other one gets its number."""

_walked: Final[dict[tuple[int, ...], tuple[CodeType, ...]]] = {}
"""The innermost functions of stacks that were walked, by identity."""


class UnmarkedFunction(AssertionError):
    """A function switched that its callers take for atomic."""


def unmarked_functions(switch: int) -> list[str]:
    """Those on the stack of the run's switch of this number, the innermost first. The caller is no part of it."""
    innermost = sys._getframe(2)
    second = innermost.f_back or innermost
    third = second.f_back or second
    codes = innermost.f_code, second.f_code, third.f_code, (third.f_back or third).f_code
    place = id(codes[0]), id(codes[1]), id(codes[2]), id(codes[3])
    if place in _walked and switch % _ONE_IN:
        return []
    _walked[place] = codes
    return _unmarked_from(innermost)


def _unmarked_from(innermost: FrameType) -> list[str]:
    found = []
    allowed = _allowed
    frame: FrameType | None = innermost
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
